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

  // A list of two hundred cards is too long for a phone: there it is closed until a tap, or a link into it, opens it.
  const list = document.getElementById("claims-list");
  const index = document.querySelector("details.index");
  for (const long of [list, index]) if (long && matchMedia("(max-width: 56rem)").matches) long.open = false;

  // A link whose target is collapsed or filtered out makes the target visible.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    if (target && target.hidden) target.hidden = false;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // A pointer over a figure shows the numbers of the nearest point; a click enlarges the figure.
  const tip = document.getElementById("tip");
  const near = 16;
  const points = new Map();
  const hover = (figure, event) => {
    const picture = figure.querySelector("img");
    if (!points.has(figure)) points.set(figure, JSON.parse(figure.dataset.points || "[]"));
    const style = getComputedStyle(picture);
    const pad = parseFloat(style.paddingLeft) || 0;
    const box = picture.getBoundingClientRect();
    const wide = box.width - 2 * pad, high = box.height - 2 * pad;
    let best = null, least = near * near;
    for (const [x, y, text] of points.get(figure)) {
      const dx = box.left + pad + x * wide - event.clientX, dy = box.top + pad + y * high - event.clientY;
      if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = text; }
    }
    tip.hidden = !best;
    if (!best) return;
    tip.textContent = best;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 6))}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - 12 - tip.offsetHeight : event.clientY + 18}px`;
  };
  const watch = (figure) => {
    figure.addEventListener("pointermove", (event) => hover(figure, event));
    figure.addEventListener("pointerleave", () => { tip.hidden = true; });
  };
  const dialog = document.getElementById("zoom");  // missing on a page that has only a table
  const enlarge = (figure) => {
    const copy = figure.cloneNode(true);
    const picture = copy.querySelector("img");
    picture.style.setProperty("--full", `${Math.max(picture.getAttribute("width"), 0)}px`);
    dialog.querySelector("span").textContent = picture.alt;
    dialog.querySelector("div").replaceChildren(copy);
    watch(copy);
    dialog.append(tip);  // anything outside an open dialog is hidden behind it
    dialog.showModal();
  };
  dialog?.addEventListener("close", () => { tip.hidden = true; document.body.append(tip); });
  dialog?.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  for (const figure of document.querySelectorAll("main figure")) {
    watch(figure);
    figure.addEventListener("click", () => enlarge(figure));
    figure.addEventListener("keydown", (event) => { if (event.key === "Enter") enlarge(figure); });
  }

  // One search over everything that has a name: experiments, claims, datasets, mechanisms.
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const kinds = { exp: "figure", claim: "claim", data: "dataset", mechanism: "mechanism" };
  const most = 40;
  let all = null;
  const plain = (text) => text.toLowerCase().replace(/(\d),(?=\d{3})/g, "$1");  // 62,956 is found as 62956 too
  const entries = () => all ??= [...document.querySelectorAll("[id]")].filter((one) => one.id.split("-")[0] in kinds && one.id.includes("-"))
    .map((one) => {
      const head = one.querySelector(".says") ?? one.querySelector("h3, summary, b, td");
      const title = head?.textContent.replace(/\s+/g, " ").trim() || one.id;
      // Without the tables of numbers, in which almost any word would be found for every figure.
      const copy = one.cloneNode(true);
      for (const part of copy.querySelectorAll("table, details.numbers, img, .file")) if (one.tagName === "ARTICLE") part.remove();
      return { id: one.id, kind: kinds[one.id.split("-")[0]], title, text: plain(`${one.id} ${copy.textContent}`) };
    });
  const look = () => {
    const wanted = plain(search.value).split(/\s+/).filter(Boolean);
    found.hidden = !wanted.length;
    if (!wanted.length) return;
    const hits = entries().filter(({ text }) => wanted.every((word) => text.includes(word)));
    found.querySelector("p").textContent = `${hits.length} found${hits.length > most ? `, the first ${most} are shown` : ""}`;
    found.querySelector("ul").replaceChildren(...hits.slice(0, most).map(({ id, kind, title }) => {
      const item = document.createElement("li"), link = document.createElement("a"), soft = document.createElement("span");
      link.href = `#${id}`;
      link.textContent = title.length > 140 ? `${title.slice(0, 140).replace(/\s+\S*$/, "")} …` : title;
      soft.className = "soft small";
      soft.textContent = ` ${kind}`;
      item.append(link, soft);
      return item;
    }));
  };
  search?.addEventListener("input", look);
  search?.addEventListener("focus", look);
  search?.addEventListener("keydown", (event) => { if (event.key === "Escape") { search.value = ""; look(); } });
  found?.addEventListener("click", (event) => { if (event.target.tagName === "A") found.hidden = true; });

  // In print, everything is open except the asides: tables of numbers, which are also CSV files, and what is said elsewhere.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not(.aside):not([open])")];
    for (const box of opened) box.open = true;
  });
  addEventListener("afterprint", () => { for (const box of opened) box.open = false; });
})();
