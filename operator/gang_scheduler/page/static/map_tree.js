// The map as a tree of rows, for keys and screen readers: domains, and the nodes in them.
import { STATES, rounded, treeOf } from "./domains.js";
import { morph } from "./morph.js";

const MOST_ROWS = 200;
const MOST_GANGS = 6;

const box = document.getElementById("map-tree");
const body = box.querySelector("tbody");
const opened = new Set();
let [map, rows, current] = [null, [], ""];

// Rows: those of the open domains, in the order of the tree.

const sum = (amounts, first, number) => amounts.slice(first, first + number).reduce((all, each) => all + each, 0);

function list() {
  rows = [];
  below(treeOf(map.found), 1, null);
  if (!rows.some((row) => row.key === current)) current = rows[0]?.key ?? "";
}

function below(domain, level, parent) {
  const shown = domain.parts.length ? domain.parts.slice(0, MOST_ROWS) : [];
  const size = domain.parts.length || domain.number;
  shown.forEach((part, place) => {
    const key = part.path.join("/");
    const row = { key, level, parent, place, size, name: part.name, domain: part, first: part.first, number: part.number };
    rows.push(row);
    if (opened.has(key)) below(part, level + 1, key);
  });
  if (!domain.parts.length) nodes(domain, level, parent);
  if (size > MOST_ROWS) rows.push({ key: `${parent}/more`, level, parent, place: MOST_ROWS, size, more: size - MOST_ROWS, first: 0, number: 0 });
}

function nodes({ first, number }, level, parent) {
  for (let node = first; node < first + Math.min(number, MOST_ROWS); node++) {
    const name = map.found.nodes.names?.[node] ?? `node ${node - first + 1}`;
    rows.push({ key: `node ${node}`, level, parent, place: node - first, size: number, name, node, first: node, number: 1 });
  }
}

function gangs({ first, number }) {
  const found = new Set();
  for (let node = first; node < first + number; node++) {
    for (const [gang] of map.gangsOf[node]) found.add(gang);
  }
  const names = [...found].filter((gang) => gang >= 0).map((gang) => map.found.gangs[gang].name);
  const more = names.length > MOST_GANGS ? ` and ${names.length - MOST_GANGS} more` : "";
  return [...names.slice(0, MOST_GANGS), ...(found.has(-1) ? ["other pods"] : [])].join(", ") + more || "-";
}

function cell(role, text, kind = "") {
  const made = document.createElement(role === "rowheader" ? "th" : "td");
  made.setAttribute("role", role);
  made.className = kind;
  made.textContent = text;
  return made;
}

function drawn(row) {
  const made = document.createElement("tr");
  const about = { role: "row", "aria-level": row.level, "aria-setsize": row.size, "aria-posinset": row.place + 1, "data-key": row.key, tabindex: row.key === current ? 0 : -1 };
  if (row.domain) about["aria-expanded"] = opened.has(row.key);
  for (const [name, value] of Object.entries(about)) made.setAttribute(name, value);
  const { all, used, states } = map.found.nodes;
  const name = document.createElement("span");
  name.className = `name depth-${Math.min(row.level - 1, 6)}`;
  const twist = document.createElement("span");
  twist.className = "twist";
  twist.ariaHidden = "true";
  twist.textContent = row.domain ? (opened.has(row.key) ? "\u25be" : "\u25b8") : "";
  name.append(twist, row.more ? `and ${row.more} more` : row.name);
  if (row.node !== undefined) name.append(STATES[states[row.node]]);
  const figure = (amounts) => (row.more ? "" : rounded(sum(amounts, row.first, row.number)));
  const number = row.domain ? row.number : "";
  const head = cell("rowheader", "");
  head.append(name);
  made.append(head, cell("gridcell", number, "n"), cell("gridcell", figure(used), "n"), cell("gridcell", figure(all), "n"), cell("gridcell", row.more ? "" : gangs(row), "wide"));
  return made;
}

function draw() {
  if (!box.open || !map) return;
  list();
  const fresh = document.createElement("tbody");
  fresh.setAttribute("role", "rowgroup");
  fresh.append(...rows.map(drawn));
  morph(body, fresh);
}

// Keys.

const elementOf = (key) => [...body.children].find((each) => each.dataset.key === key);

function focus(key) {
  current = key;
  draw();
  elementOf(key)?.focus();
}

function turn(row, isOpen) {
  if (isOpen) opened.add(row.key);
  else opened.delete(row.key);
  focus(row.key);
}

function enter(row) {
  if (row.domain) map.go(row.domain.path);
  else if (row.node !== undefined) map.open(row.node);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = rows.findIndex((row) => row.key === current);
  const row = rows[at];
  if (!row) return;
  const isOpen = opened.has(row.key);
  const steps = {
    ArrowDown: () => focus(rows[Math.min(at + 1, rows.length - 1)].key),
    ArrowUp: () => focus(rows[Math.max(at - 1, 0)].key),
    ArrowRight: () => row.domain && (isOpen ? focus(rows[at + 1].key) : turn(row, true)),
    ArrowLeft: () => (isOpen ? turn(row, false) : row.parent !== null && focus(row.parent)),
    Home: () => focus(rows[0].key),
    End: () => focus(rows.at(-1).key),
    Enter: () => enter(row),
  };
  if (!(event.key in steps)) return;
  event.preventDefault();
  event.stopPropagation();
  steps[event.key]();
}

function click(event) {
  const row = rows.find(({ key }) => key === event.target.closest("tr")?.dataset.key);
  if (!row) return;
  if (row.domain) turn(row, !opened.has(row.key));
  else if (row.key === current) enter(row);
  else focus(row.key);
}

export function showTree(given) {
  map = given;
  draw();
}

box.addEventListener("toggle", draw);
body.addEventListener("keydown", press);
body.addEventListener("click", click);
body.addEventListener("focusin", (event) => {
  const row = rows.find(({ key }) => key === event.target.dataset.key);
  if (!row) return;
  current = row.key;
  map.light(row.first, row.number);
});
body.addEventListener("focusout", () => map?.light(0, 0));
