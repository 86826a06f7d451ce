"use strict";
(() => {
  const root = document.documentElement;
  const store = (() => { try { return window.localStorage; } catch { return null; } })();
  const theme = store && store.getItem("dpbench-theme");
  if (theme) root.dataset.theme = theme;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    if (store) store.setItem("dpbench-theme", root.dataset.theme);
  });

  // A column sorts as numbers if each of its cells begins with one, whatever follows (%, ±, a unit); otherwise as text, with
  // 9 before 10. Empty cells stay last in both directions.
  const leading = /^[<>≤≥=~≈]*\s*([-+−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?![\w.])/i;
  const special = { "∞": Infinity, "-∞": -Infinity, Infinity, "-Infinity": -Infinity, inf: Infinity, "-inf": -Infinity };
  const number = (text) => {
    if (text in special) return special[text];
    const found = leading.exec(text);
    return found ? Number(found[1].replaceAll(",", "").replace("−", "-")) : NaN;
  };
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function sort(table, column, head) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => {
      const text = row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
      return { row, text, value: number(text) };
    });
    const numeric = rows.every(({ text, value }) => text === "" || !Number.isNaN(value));
    // Two infinities are equal, although their difference is not a number.
    const order = (a, b) => numeric ? (a.value > b.value) - (a.value < b.value) : words.compare(a.text, b.text);
    rows.sort((a, b) => (a.text === "") - (b.text === "") || (down ? order(b, a) : order(a, b)));
    body.append(...rows.map(({ row }) => row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column, head));
      head.append(button);
    });
  }

  for (const tools of document.querySelectorAll(".tools[data-table]")) {
    const table = document.getElementById(tools.dataset.table);
    const search = tools.querySelector("input");
    const choices = [...tools.querySelectorAll("select")];
    const count = tools.querySelector(".count");
    const apply = () => {
      const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = wanted.length ? row.textContent.toLowerCase() : "";
        const fits = wanted.every((word) => text.includes(word)) &&
          choices.every((choice) => !choice.value || row.dataset[choice.name] === choice.value);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = `${shown} of ${table.tBodies[0].rows.length}`;
    };
    search.addEventListener("input", apply);
    choices.forEach((choice) => choice.addEventListener("change", apply));
    tools.addEventListener("dpbench-filter", apply);
    apply();
  }

  // A count in the summary shows just the claims behind it.
  for (const link of document.querySelectorAll("a[data-verdict]")) {
    link.addEventListener("click", () => {
      const tools = document.querySelector('.tools[data-table="claims-table"]');
      for (const choice of tools.querySelectorAll("select")) choice.value = link.dataset[choice.name] || "";
      tools.querySelector("input").value = "";
      tools.dispatchEvent(new Event("dpbench-filter"));
    });
  }

  // Two hundred cards are too long on a phone: there the list opens on a tap, or by a link into it.
  const list = document.getElementById("claims-list");
  if (list && matchMedia("(max-width: 56rem)").matches) list.open = false;

  // A link into something collapsed or filtered out shows it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    if (target && target.hidden) target.hidden = false;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // On paper everything is open except the asides: numbers, which are available as CSV files, and what is shown elsewhere.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not(.aside):not([open])")];
    for (const box of opened) box.open = true;
  });
  addEventListener("afterprint", () => { for (const box of opened) box.open = false; });
})();
