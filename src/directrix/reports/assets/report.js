"use strict";
// Text reaches the page by textContent alone: names of methods and queries are never markup.

const byId = (name) => document.getElementById(name);
const say = (text) => { byId("said").textContent = text; };

function make(tag, text, attributes) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return node;
}

// ---- light and dark -----------------------------------------------------------------------------

function theme() {
  const button = byId("theme");
  const show = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Change to light" : "Change to dark");
    button.setAttribute("aria-pressed", String(dark));
  };
  let kept = null;
  try { kept = localStorage.getItem("directrix-theme"); } catch { /* files may have no storage */ }
  show(kept === null ? matchMedia("(prefers-color-scheme: dark)").matches : kept === "dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    show(dark);
    try { localStorage.setItem("directrix-theme", dark ? "dark" : "light"); } catch { /* likewise */ }
  });
}

// ---- tables: ascending, descending, as they were -------------------------------------------------

function compare(a, b) {
  if (a.empty || b.empty) return a.empty - b.empty; // without a value: last, in both directions
  const way = a.way;
  if (a.number !== null && b.number !== null) return way * (a.number - b.number);
  return way * a.text.localeCompare(b.text, undefined, { numeric: true });
}

function key(cell, way) {
  const value = cell.dataset.value;
  return {
    way,
    empty: value === "",
    number: value === undefined || value === "" ? null : Number(value),
    text: cell.textContent.trim(),
  };
}

function sortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const next = { none: "ascending", ascending: "descending", descending: "none" };
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const order = next[head.getAttribute("aria-sort")];
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
      const way = order === "descending" ? -1 : 1;
      const keyed = original.map((row) => ({ row, key: key(row.cells[column], way) }));
      if (order !== "none") keyed.sort((a, b) => compare(a.key, b.key));
      body.append(...keyed.map((entry) => entry.row));
      const name = head.textContent.trim();
      say(order === "none" ? "Rows as they were" : `Rows by ${name}, ${order}`);
    });
  });
}

// ---- queries ------------------------------------------------------------------------------------

const rounded = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(4);
const signed = (value) => (value > 0 ? "+" : "") + rounded(value);

/** Queries on which both methods have a value, by falling difference. */
function differences(set, first, second) {
  const [a, b] = [set.values[first], set.values[second]];
  const found = [];
  set.queries.forEach((query, at) => {
    if (a[at] !== null && b[at] !== null) found.push({ query, at, a: a[at], b: b[at], by: a[at] - b[at] });
  });
  return found.sort((x, y) => y.by - x.by || x.at - y.at);
}

function fill(select, names) {
  select.replaceChildren(...names.map((name, i) => make("option", name, { value: i })));
}

function drawPlot(plot, rows) {
  const space = "http://www.w3.org/2000/svg";
  const most = Math.max(1e-12, ...rows.map((row) => Math.abs(row.by)));
  const bars = { up: "", down: "" };
  rows.forEach((row, i) => {
    const height = (row.by / most) * 96;
    if (row.by !== 0) bars[row.by > 0 ? "up" : "down"] += `M${i + 0.08} 0h.84v${-height}h-.84z`;
  });
  plot.setAttribute("viewBox", `0 -100 ${Math.max(rows.length, 1)} 200`);
  plot.setAttribute("preserveAspectRatio", "none");
  plot.setAttribute("aria-valuemax", rows.length);
  const shape = (tag, attributes) => {
    const node = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  byId("high").textContent = signed(most);
  byId("low").textContent = signed(-most);
  plot.replaceChildren(
    shape("rect", { class: "cursor", x: 0, y: -100, width: 1, height: 200 }),
    shape("path", { class: "up", d: bars.up }),
    shape("path", { class: "down", d: bars.down }),
    shape("line", { class: "zero", x1: 0, x2: rows.length, y1: 0, y2: 0 }),
  );
}

/** A label as a number and as that many filled marks of as many as the highest label has. */
function mark(label, highest) {
  const cell = make("td");
  const marks = make("span", undefined, { class: "mark", "aria-hidden": "true" });
  const filled = Math.max(0, Math.round(label));
  marks.append("■".repeat(filled), make("i", "□".repeat(Math.max(0, highest - filled))));
  cell.append(marks, ` ${label}`);
  return cell;
}

function drawRanking(place, side, method, value, ranking, other, highest) {
  const caption = make("caption");
  caption.append(make("span", method, { class: `name-${side}` }), ` ${rounded(value)}`);
  caption.title = String(value);
  const table = make("table");
  table.append(caption);
  if (ranking.length === 0) {
    place.replaceChildren(table, make("p", "No ranking of this query was kept.", { class: "notes" }));
    return;
  }
  const heads = make("tr");
  for (const name of ["rank", "label", "document", "score", "other rank"]) {
    const isNumber = name !== "label" && name !== "document";
    heads.append(make("th", name, isNumber ? { scope: "col", class: "number" } : { scope: "col" }));
  }
  const body = make("tbody");
  ranking.forEach(([doc, label, score], i) => {
    const row = make("tr");
    const there = other.findIndex((entry) => entry[0] === doc);
    row.append(
      make("td", i + 1, { class: "number" }),
      mark(label, highest),
      make("th", doc, { scope: "row" }),
      make("td", score === null ? "–" : score.toPrecision(4), { class: "number", title: String(score) }),
      make("td", there < 0 ? "–" : there + 1, { class: "number" }),
    );
    body.append(row);
  });
  const head = make("thead");
  head.append(heads);
  table.append(head, body);
  place.replaceChildren(table);
}

function drillDown(sets) {
  const [choice, first, second, query, plot] = ["set", "first", "second", "query", "plot"].map(byId);
  let set, rankings, rows, now, highest;
  const names = () => [set.methods[first.value], set.methods[second.value]];

  function show(index) {
    now = Math.min(Math.max(index, 0), rows.length - 1);
    if (now < 0) {
      byId("chosen").textContent = "No query has a value of both methods.";
      for (const side of [0, 1]) byId(`ranking-${side}`).replaceChildren();
      return;
    }
    const row = rows[now];
    const [a, b] = names();
    const text = `Query ${row.query}: ${a} ${rounded(row.a)}, ${b} ${rounded(row.b)}, difference ${signed(row.by)}`;
    byId("chosen").textContent = text;
    byId("chosen").title = String(row.by);
    plot.setAttribute("aria-valuenow", now + 1);
    plot.setAttribute("aria-valuetext", text);
    plot.querySelector(".cursor").setAttribute("x", now);
    query.value = String(now);
    const kept = [first, second].map((select) => rankings[select.value][row.at] || []);
    drawRanking(byId("ranking-0"), 0, a, row.a, kept[0], kept[1], highest);
    drawRanking(byId("ranking-1"), 1, b, row.b, kept[1], kept[0], highest);
  }

  function choose() {
    const [a, b] = names();
    rows = differences(set, first.value, second.value);
    const [wins, losses] = [rows.filter((row) => row.by > 0).length, rows.filter((row) => row.by < 0).length];
    const mean = rows.reduce((sum, row) => sum + row.by, 0) / Math.max(rows.length, 1);
    const left = set.queries.length - rows.length;
    byId("score").replaceChildren(
      make("span", a, { class: "name-0" }), ` is higher on ${wins}, `,
      make("span", b, { class: "name-1" }), ` on ${losses} of ${rows.length} queries, level on ${rows.length - wins - losses}; `,
      `mean difference of ${set.measure} ${signed(mean)}.` + (left ? ` On ${left} queries one has no value.` : ""),
    );
    drawPlot(plot, rows);
    fill(query, rows.map((row) => `${row.query} (${signed(row.by)})`));
    show(0);
  }

  function open() {
    set = sets[choice.value];
    rankings = typeof set.rankings === "number" ? sets[set.rankings].rankings : set.rankings; // of another measure
    highest = 0;
    for (const ranking of rankings.flat()) for (const [, label] of ranking) highest = Math.max(highest, label);
    fill(first, set.methods);
    fill(second, set.methods);
    first.value = "0";
    second.value = String(Math.min(1, set.methods.length - 1));
    choose();
  }

  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
  plot.addEventListener("keydown", (event) => {
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(now + moves[event.key]);
  });
  plot.addEventListener("pointerdown", (event) => {
    const box = plot.getBoundingClientRect();
    show(Math.floor(((event.clientX - box.left) / box.width) * rows.length));
  });
  byId("before").addEventListener("click", () => show(now - 1));
  byId("after").addEventListener("click", () => show(now + 1));
  query.addEventListener("change", () => show(Number(query.value)));
  choice.addEventListener("change", open);
  first.addEventListener("change", choose);
  second.addEventListener("change", choose);
  for (const form of byId("drill").querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());

  fill(choice, sets.map((one) => `${one.name}, ${one.measure}`));
  byId("set-choice").hidden = sets.length < 2;
  byId("drill").hidden = false;
  open();
}

theme();
document.querySelectorAll("section > .frame > table").forEach(sortable);
const sets = JSON.parse(byId("per-query").textContent);
if (sets.length) drillDown(sets);
