"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = data.runs;

  // Elements are made from texts alone: nothing that the data hold is ever read as HTML.
  const make = (name, attributes = {}, ...inside) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === false) continue;
      if (key === "on") for (const [event, does] of Object.entries(value)) made.addEventListener(event, does);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...inside);
    return made;
  };

  // Sorting: a button in each column title; numbers by value, texts by the alphabet, what has no value last.
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
    return { number, text: cell.textContent.trim(), numeric: cell.classList.contains("number") };
  };
  const compare = (a, b) => {
    const [x, y] = [Number.isNaN(a.number), Number.isNaN(b.number)];
    if (!x && !y) return a.number - b.number;
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  };
  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row, at) => ({ row, at, key: key(row, column) }));
    const lost = ({ key: { number, numeric, text } }) => text === "" || (numeric && Number.isNaN(number));
    rows.sort((a, b) => {
      if (lost(a) !== lost(b)) return lost(a) ? 1 : -1;
      return (down ? -1 : 1) * compare(a.key, b.key) || a.at - b.at;
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
  };
  const sortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", on: { click: () => sort(table, column) } });
      button.append(...head.childNodes);
      head.append(button);
    });
  };

  // Filtering: rows that hold all of the words.
  const filterable = (table, name) => {
    const rows = [...table.tBodies[0].rows];
    const told = make("span", { role: "status" });
    const field = make("input", { type: "search", autocomplete: "off" });
    const show = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        left += !row.hidden;
      }
      told.textContent = words.length ? `${left} of ${rows.length} rows` : "";
    };
    field.addEventListener("input", show);
    const label = make("label", {}, make("span", {}, "Filter rows"), field);
    field.setAttribute("aria-label", `Filter rows of: ${name}`);
    table.closest(".scroll").before(make("div", { class: "controls" }, label, told));
  };
  for (const table of document.querySelectorAll("table[data-rows]")) {
    const many = Number(table.dataset.rows);
    const name = table.caption.firstChild.textContent;
    if (many > 1) sortable(table);
    if (many > 7) filterable(table, name);
  }

  // One run stands out in all tables and pictures.
  const views = [];
  let chosen = "";
  const picker = make("select", { on: { change: () => choose(picker.value) } });
  const datum = (node) => (node.__data__ && node.__data__.datum) || null;
  const runOf = (node) => {
    const about = datum(node);
    if (!about) return null;
    for (const field of [about.run, about.name]) {
      if (typeof field !== "string") continue;
      if (Object.hasOwn(runs, field)) return field;
      const full = Object.keys(runs).find((run) => runs[run] === field);
      if (full !== undefined) return full;
    }
    return null;
  };
  const dim = (place) => {
    for (const node of place.querySelectorAll("svg [role], svg path, svg text, svg line")) {
      const run = runOf(node);
      if (run === null) continue;
      node.classList.add("linked");
      node.classList.toggle("dim", chosen !== "" && run !== chosen);
    }
  };
  const choose = (run) => {
    chosen = run;
    picker.value = run;
    for (const row of document.querySelectorAll("tr[data-run]"))
      row.classList.toggle("chosen", run !== "" && row.dataset.run === run);
    views.forEach(dim);
  };
  const several = Object.keys(runs).length > 1;
  if (several) {
    picker.append(make("option", { value: "" }, "none"));
    for (const [run, name] of Object.entries(runs)) picker.append(make("option", { value: run }, name));
    const tools = document.getElementById("tools");
    tools.append(
      make("div", { class: "controls" }, make("label", {}, make("span", {}, "Highlight a run everywhere"), picker)));
    tools.hidden = false;
  }

  // Looking into a query.
  const rankings = data.rankings;
  const place = document.getElementById("drill");
  const state = { query: 0, a: 0, b: 0 };
  const digits = (value) => (typeof value === "number" ? value.toFixed(4) : `undefined (${value})`);
  const head = (...titles) =>
    make("thead", {}, make("tr", {}, ...titles.map(([title, way]) => make("th", { scope: "col", class: way || null }, title))));
  const list = (about, run) => {
    const caption = make("caption", {}, rankings.runs[run]);
    const order = about.lists[run];
    if (order === null) {
      const told = `${rankings.runs[run]} does not answer this query.`;
      return make("div", {}, make("p", {}, told));
    }
    const size = about.sizes[run];
    caption.append(
      make("span", { class: "about" }, size > order.length ? `the first ${order.length} of ${size} documents` : `all ${size} documents`));
    const titles = [["rank", "number"], ["document"]];
    if (rankings.judged) titles.push(["grade", "number"]);
    titles.push(...rankings.attributes.map((name) => [name]), ["exposure", "number"]);
    const most = Math.max(...about.seen[run], 1e-12);
    const rows = order.map((number, at) => {
      const [doc, grade, groups] = about.docs[number];
      const bar = make("span", { class: "bar" });
      bar.style.width = `${(3 * about.seen[run][at]) / most}rem`;
      const row = make("tr", {}, make("td", { class: "number" }, String(at + 1)), make("th", { scope: "row", class: "doc" }, doc));
      if (rankings.judged) row.append(make("td", { class: "number" }, grade === null ? "not judged" : String(grade)));
      row.append(...groups.map((group) => make("td", {}, group || "unknown")));
      row.append(make("td", { class: "number" }, about.seen[run][at].toFixed(4),
        make("span", { class: "track", "aria-hidden": "true" }, bar)));
      return row;
    });
    return make("div", { class: "scroll" }, make("table", {}, caption, head(...titles), make("tbody", {}, ...rows)));
  };
  const values = (about) => {
    const mine = [...new Set([state.a, state.b])];
    const rows = rankings.measures.map((name, at) =>
      make("tr", {}, make("th", { scope: "row" }, name),
        ...mine.map((run) => make("td", { class: "number" }, digits(about.values[at][run])))));
    const titles = [["measure"], ...mine.map((run) => [rankings.runs[run], "number"])];
    return make("table", {}, make("caption", {}, `Values of ${about.query}`), head(...titles), make("tbody", {}, ...rows));
  };
  const show = () => {
    const about = rankings.queries[state.query];
    const content = document.getElementById("drill-content");
    content.replaceChildren(
      make("p", { role: "status" }, `Query ${about.query}: ${about.why}.`),
      make("div", { class: "scroll" }, values(about)),
      make("div", { class: "sides" }, ...[...new Set([state.a, state.b])].map((run) => list(about, run))));
  };
  const open = (query, move = true) => {
    const at = rankings.queries.findIndex((one) => one.query === query);
    if (at < 0) return;
    state.query = at;
    [state.a, state.b] = rankings.queries[at].pair;
    for (const [name, field] of Object.entries(fields)) field.value = String(state[name]);
    show();
    if (move) {
      document.getElementById("rankings").scrollIntoView();
      fields.query.focus({ preventScroll: true });
    }
  };
  const fields = {};
  if (rankings && place) {
    const field = (name, title, options) => {
      const made = make("select", {}, ...options.map((text, at) => make("option", { value: at }, text)));
      made.addEventListener("change", () => {
        state[name] = Number(made.value);
        if (name === "query") [state.a, state.b] = rankings.queries[state.query].pair;
        for (const [other, one] of Object.entries(fields)) one.value = String(state[other]);
        show();
      });
      fields[name] = made;
      return make("label", {}, make("span", {}, title), made);
    };
    const controls = [field("query", "Query", rankings.queries.map((one) => one.query))];
    if (rankings.runs.length > 1)
      controls.push(field("a", "Run", rankings.runs), field("b", "beside", rankings.runs));
    place.append(make("div", { class: "controls" }, ...controls), make("div", { id: "drill-content" }));
    place.hidden = false;
    open(rankings.queries[0].query, false);
    for (const row of document.querySelectorAll("tr[data-query]")) {
      const query = row.dataset.query;
      if (!rankings.queries.some((one) => one.query === query)) continue;
      const button = make("button", { type: "button", class: "open", on: { click: () => open(query) } }, "show ranking");
      button.setAttribute("aria-label", `Show the rankings of query ${query}`);
      ([...row.cells].find((cell) => cell.textContent === query) || row.cells[0]).append(button);
    }
  }

  // Pictures come to life: values under the pointer, and a click chooses a run or opens a query.
  const actions = { export: true, source: false, compiled: false, editor: false };
  const draw = async (figure) => {
    const spec = data.charts[Number(figure.dataset.chart)];
    if (!spec || typeof vegaEmbed !== "function") return;
    const live = figure.querySelector(".live");
    live.hidden = false;
    const made = await vegaEmbed(live, spec, { ast: true, renderer: "svg", actions, tooltip: { theme: "light" } });
    figure.querySelector(".static").hidden = true;
    views.push(live);
    if (several) dim(live);
    made.view.addEventListener("click", (event, item) => {
      const about = item && item.datum;
      if (!about) return;
      const query = [about.query, about.name, about.label].find(
        (one) => rankings && rankings.queries.some((known) => known.query === one));
      const run = runOf({ __data__: { datum: about } });
      if (run !== null && several) choose(run === chosen ? "" : run);
      else if (query !== undefined) open(query);
    });
  };
  const all = async () => {
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      try {
        await draw(figure);
      } catch (error) {
        figure.querySelector(".live").hidden = true;
        figure.querySelector(".static").hidden = false;
        console.error(error);
      }
    }
    document.documentElement.dataset.ready = "yes";
  };
  all();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
