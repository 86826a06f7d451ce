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

  const value = (row, column) => {
    const cell = row.cells[column];
    const raw = cell.dataset.v ?? cell.textContent.trim();
    const number = Number(raw);
    return raw === "" ? null : Number.isNaN(number) ? raw.toLowerCase() : number;
  };
  const order = (a, b) => typeof a === typeof b
    ? (typeof a === "number" ? a - b : a.localeCompare(b)) : (typeof a === "number" ? -1 : 1);

  function sort(table, column, head) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : down ? order(b, a) : order(a, b)));
    body.append(...rows.map(([, row]) => row));
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
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = words.length ? row.textContent.toLowerCase() : "";
        const fits = words.every((word) => text.includes(word)) &&
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

  // A link into something folded away opens it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    if (target && target.hidden) target.hidden = false;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((box) => { box.open = true; }));
})();
