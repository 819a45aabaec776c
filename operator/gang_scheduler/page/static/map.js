// Draws the map of nodes, and walks on it. The tree below has the same as rows, and the table below
// that without scripts.
import { STATES, rounded, treeOf } from "./domains.js";
import { showTree } from "./map_tree.js";

const box = document.querySelector("[data-map]");
const canvas = document.getElementById("map");
const told = document.getElementById("map-told");
const pen = canvas.getContext("2d");
const query = new URLSearchParams(location.search);

const LARGEST = 34;
const LEAST = 5;
const WITH_CELLS = 13;
const MOST_CELLS = 16;
// How much wider than square a box may be, if larger squares fit then.
const STRETCHES = [1, 1.5, 2, 3, 5];
const [PADDING, LABEL, BETWEEN] = [5, 14, 6];
const LEAST_LABEL = 46;
const MOST_TOLD = 6;

let found = null;
let [side, stretch, boxes, squares, gangsOf] = [0, 1, [], [], []];
// Which node is chosen by keys or a click, and which one the pointer is at: places in the document.
let [chosen, pointed] = [-1, -1];
// The part of the tree that has the focus: the first of its nodes, and their number.
let part = null;
let colours = {};

// Where everything is. A domain is a box with its name, as square as its parts allow.

// How many columns leave the fewest places empty, for a box that is square or wider.
function columnsOf(number) {
  const least = Math.ceil(Math.sqrt(number));
  let [best, fewest] = [least, Infinity];
  for (let columns = least; columns <= 2 * least; columns++) {
    const empty = Math.ceil(number / columns) * columns - number;
    if (empty < fewest) [best, fewest] = [columns, empty];
  }
  return best;
}

function measure(domain, width) {
  const isSmall = side < 8;
  const [step, between] = [side + (isSmall ? 1 : 2), isSmall ? BETWEEN / 2 : BETWEEN];
  // Names of small boxes would be cut; those of the highest layer have room.
  const top = domain.name && (!isSmall || domain.parts.length) ? LABEL : 0;
  const pad = !domain.name ? 0 : isSmall ? 2 : PADDING;
  if (!domain.parts.length) {
    const most = Math.max(1, Math.floor((width - 2 * pad) / step));
    const columns = domain.name ? Math.min(most, columnsOf(domain.number)) : most;
    const lines = Math.ceil(domain.number / columns);
    const wide = Math.max(Math.min(columns, domain.number) * step, top ? LEAST_LABEL : 0);
    return { domain, columns, step, pad, top, width: wide + 2 * pad, height: lines * step + 2 * pad + top, inner: [] };
  }
  const made = domain.parts.map((part) => measure(part, width - 2 * pad));
  const widest = Math.max(...made.map((each) => each.width)) + between;
  const end = Math.min(width - pad, domain.name ? pad + Math.ceil(columnsOf(made.length) * stretch) * widest : width);
  const inner = [];
  let [x, y, line, right] = [pad, pad + top, 0, 0];
  for (const part of made) {
    if (x > pad && x + part.width > end) {
      [x, y, line] = [pad, y + line + between, 0];
    }
    inner.push([part, x, y]);
    x += part.width + between;
    line = Math.max(line, part.height);
    right = Math.max(right, x - between);
  }
  return { domain, pad, top, step, columns: 0, width: right + pad, height: y + line + pad, inner };
}

function place(made, x, y) {
  const { domain, pad, top, step, columns } = made;
  if (domain.name) boxes.push({ domain, x, y, width: made.width, height: made.height, top });
  for (const [part, left, down] of made.inner) place(part, x + left, y + down);
  for (let number = 0; columns && number < domain.number; number++) {
    squares[domain.first + number] = {
      x: x + pad + (number % columns) * step,
      y: y + pad + top + Math.floor(number / columns) * step,
      path: domain.path,
    };
  }
}

function arrange() {
  const root = treeOf(found);
  const [width, height] = [box.clientWidth - 18, box.clientHeight - 18];
  let made = null;
  const fits = (wider) => {
    stretch = wider;
    made = measure(root, width);
    return made.height <= height && made.width <= width;
  };
  for (side = LARGEST; side > LEAST; side--) {
    if (STRETCHES.some(fits)) break;
  }
  if (side === LEAST) {
    stretch = 1;
    made = measure(root, width);
  }
  [boxes, squares] = [[], []];
  place(made, 0, 0);
  const scale = devicePixelRatio || 1;
  const [wide, high] = [Math.max(made.width, 1), Math.max(made.height, 1)];
  canvas.width = Math.ceil(wide * scale);
  canvas.height = Math.ceil(high * scale);
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${high}px`;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
}

// Drawing.

function colour() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "raised", "line", "ink", "dim", "track", "blue", "orange", "red", "amber", "lent"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function lit() {
  const wanted = query.get("gang");
  const at = pointed >= 0 || wanted ? pointed : chosen;
  if (at >= 0) return new Set(gangsOf[at].map(([gang]) => gang).filter((gang) => gang >= 0));
  return new Set(found.gangs.flatMap((gang, number) => (gang.name === wanted ? [number] : [])));
}

function parts(number, some) {
  const { all, used, states } = found.nodes;
  const kinds = [];
  let left = used[number];
  for (const [gang, amount] of gangsOf[number]) {
    kinds.push([some.has(gang) ? colours.orange : some.size ? colours.lent : colours.blue, amount]);
    left -= amount;
  }
  if (left > 0) kinds.push([some.size ? colours.lent : colours.blue, left]);
  const isIdle = found.idleWhileWaiting > 0 && states[number] === "ready" && !some.size;
  kinds.push([isIdle ? colours.amber : colours.track, Math.max(0, all[number] - used[number])]);
  return kinds;
}

function drawCells(number, kinds, { x, y }) {
  const all = found.nodes.all[number];
  const cells = Math.max(1, Math.min(MOST_CELLS, Math.round(all)));
  const columns = columnsOf(cells);
  const lines = Math.ceil(cells / columns);
  const [wide, high] = [side / columns, side / lines];
  let [taken, cell] = [0, 0];
  for (const [paint, amount] of kinds) {
    taken += amount;
    const most = Math.min(cells, Math.round((taken * cells) / (all || 1)));
    for (; cell < most; cell++) {
      const [left, top] = [x + (cell % columns) * wide, y + Math.floor(cell / columns) * high];
      pen.fillStyle = paint;
      pen.fillRect(left, top, wide - 1, high - 1);
      if (paint === colours.amber) dot(left + (wide - 1) / 2, top + (high - 1) / 2);
    }
  }
  pen.fillStyle = colours.track;
  for (; cell < cells; cell++) pen.fillRect(x + (cell % columns) * wide, y + Math.floor(cell / columns) * high, wide - 1, high - 1);
}

function drawWhole(number, kinds, { x, y }) {
  const all = found.nodes.all[number] || 1;
  let from = y + side;
  for (const [paint, amount] of kinds) {
    const high = (side * amount) / all;
    pen.fillStyle = paint;
    pen.fillRect(x, from - high, side, high);
    from -= high;
  }
  if (from > y + 0.01) {
    pen.fillStyle = colours.track;
    pen.fillRect(x, y, side, from - y);
  }
}

function dot(x, y) {
  pen.fillStyle = "#1a1f26";
  pen.fillRect(x - 1, y - 1, 2, 2);
}

function hatch(state, { x, y }) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, side, side);
  pen.clip();
  pen.globalAlpha = 0.6;
  pen.fillStyle = colours.raised;
  pen.fillRect(x, y, side, side);
  pen.globalAlpha = 1;
  pen.lineWidth = side > 10 ? 2 : 1;
  pen.strokeStyle = state === "notReady" ? colours.red : colours.ink;
  pen.beginPath();
  const step = Math.max(4, side / 3);
  if (state === "notReady") {
    pen.moveTo(x, y);
    pen.lineTo(x + side, y + side);
    pen.moveTo(x + side, y);
    pen.lineTo(x, y + side);
  } else {
    for (let at = step / 2; at < 2 * side; at += step) {
      pen.moveTo(x + at, y);
      pen.lineTo(x + at - side, y + side);
    }
  }
  pen.stroke();
  pen.restore();
}

// A domain by its box; one without a box, such as a very small one, by its nodes.
function outlinePart() {
  const [first, number] = part;
  const made = boxes.find(({ domain }) => domain.first === first && domain.number === number);
  pen.lineWidth = 3;
  pen.strokeStyle = colours.orange;
  if (made && number > 1) pen.strokeRect(made.x + 1.5, made.y + 1.5, made.width - 3, made.height - 3);
  else for (let node = first; node < first + number; node++) outline(node, 2);
}

function outline(number, width) {
  if (number < 0 || !squares[number]) return;
  const { x, y } = squares[number];
  pen.lineWidth = width;
  pen.strokeStyle = colours.ink;
  pen.strokeRect(x - 1, y - 1, side + 1, side + 1);
}

function draw() {
  if (!found) return;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const each of boxes) {
    pen.lineWidth = 1;
    pen.strokeStyle = colours.line;
    pen.strokeRect(each.x + 0.5, each.y + 0.5, each.width - 1, each.height - 1);
    if (!each.top) continue;
    pen.save();
    pen.beginPath();
    pen.rect(each.x, each.y, each.width - 3, each.top + 4);
    pen.clip();
    pen.fillStyle = colours.dim;
    pen.fillText(each.domain.name, each.x + PADDING, each.y + each.top / 2 + 2);
    pen.restore();
  }
  const some = lit();
  const one = side >= WITH_CELLS && found.unit === "GPUs" ? drawCells : drawWhole;
  squares.forEach((square, number) => {
    one(number, parts(number, some), square);
    const state = found.nodes.states[number];
    if (state !== "ready") hatch(state, square);
  });
  if (part) outlinePart();
  if (pointed >= 0) outline(pointed, 1);
  if (chosen >= 0) outline(chosen, 2);
}

let drawing = 0;
function redraw() {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    draw();
  });
}

// Words.

function link(text, address) {
  const made = document.createElement("a");
  made.className = "name";
  made.href = address;
  made.textContent = text;
  return made;
}

const nodePath = (number) => `/nodes/${encodeURIComponent(found.nodes.names[number])}`;

// The screen of a node, for who may see it.
function open(number) {
  if (found.nodes.names) location.assign(nodePath(number));
}

function tell(number) {
  if (number < 0) return;
  const { names, all, used, states } = found.nodes;
  const made = [names ? link(names[number], nodePath(number)) : "A node"];
  const where = squares[number].path.join(" / ");
  made.push(`${where && where !== "-" ? ` in ${where}` : ""}: ${rounded(used[number])} of ${rounded(all[number])} ${found.unit} used${STATES[states[number]]}. `);
  const gangs = gangsOf[number];
  gangs.slice(0, MOST_TOLD).forEach(([gang, amount], place) => {
    if (place) made.push(", ");
    made.push(gang < 0 ? "other pods" : link(found.gangs[gang].name, found.gangs[gang].address), ` ${rounded(amount)}`);
  });
  if (gangs.length > MOST_TOLD) made.push(` and ${gangs.length - MOST_TOLD} more`);
  told.replaceChildren(...made);
}

// Choosing.

function choose(number) {
  chosen = number;
  redraw();
  const address = new URL(location.href);
  if (number < 0) address.searchParams.delete("node");
  else if (found.nodes.names) address.searchParams.set("node", found.nodes.names[number]);
  history.replaceState(null, "", address);
  if (number < 0) return;
  tell(number);
  const { x, y } = squares[number];
  if (y < box.scrollTop || y + side > box.scrollTop + box.clientHeight - 16) box.scrollTop = y - box.clientHeight / 2;
  if (x < box.scrollLeft || x + side > box.scrollLeft + box.clientWidth - 16) box.scrollLeft = x - box.clientWidth / 2;
}

function at(event) {
  const { left, top } = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - left, event.clientY - top];
  const node = squares.findIndex((each) => x >= each.x && x < each.x + side + 1 && y >= each.y && y < each.y + side + 1);
  const label = boxes.findLast((each) => each.top && x >= each.x && x < each.x + each.width && y >= each.y && y < each.y + each.top + 2);
  return { node, label };
}

function inside(path) {
  const address = new URLSearchParams();
  for (const name of ["topology", "gang", "node"]) if (new URL(location.href).searchParams.get(name)) address.set(name, new URL(location.href).searchParams.get(name));
  if (path.length) address.set("in", path.join("/"));
  location.assign(`/nodes?${address}`);
}

// The nearest node above or below.
function beyond(number, direction) {
  const from = squares[number];
  let [best, least] = [number, Infinity];
  squares.forEach((each, other) => {
    const down = (each.y - from.y) * direction;
    if (down < side) return;
    const far = down + 2 * Math.abs(each.x - from.x);
    if (far < least) [best, least] = [other, far];
  });
  return best;
}

function walk(event) {
  if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
  const last = squares.length - 1;
  const now = Math.max(chosen, 0);
  const depth = (query.get("in") ?? "").split("/").filter(Boolean).length;
  const steps = {
    ArrowRight: () => choose(chosen < 0 ? 0 : Math.min(last, now + 1)),
    ArrowLeft: () => choose(Math.max(0, now - 1)),
    ArrowDown: () => choose(chosen < 0 ? 0 : beyond(now, 1)),
    ArrowUp: () => choose(chosen < 0 ? 0 : beyond(now, -1)),
    Home: () => choose(0),
    End: () => choose(last),
    Enter: () => chosen >= 0 && open(chosen),
    Escape: () => choose(-1),
    "+": () => squares[now].path.length > depth && inside(squares[now].path.slice(0, depth + 1)),
    "-": () => depth && inside((query.get("in") ?? "").split("/").slice(0, depth - 1)),
  };
  if (!(event.key in steps) || last < 0) return;
  event.preventDefault();
  event.stopPropagation();
  steps[event.key]();
}

function point(event) {
  const { node, label } = at(event);
  canvas.style.cursor = node >= 0 || label ? "pointer" : "";
  if (node === pointed) return;
  pointed = node;
  tell(pointed >= 0 ? pointed : chosen);
  redraw();
}

function click(event) {
  const { node, label } = at(event);
  if (node >= 0 && node === chosen) open(node);
  else if (node >= 0) choose(node);
  else if (label) inside(label.domain.path);
}

// Data.

async function answered(address) {
  // The page itself says that the connection is lost. Until it is back, the map shows what it knows.
  try {
    const answer = await fetch(address);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

// What tells a node from others in the next answer, too: its name, or its place without one.
const nameOf = (number) => (found.nodes.names ? found.nodes.names[number] : number);
const shapeOf = ({ domains, nodes }) => JSON.stringify([domains, nodes.names ?? nodes.all.length]);

async function load() {
  const read = await answered(box.dataset.map);
  if (!read) return;
  const before = found && [chosen, pointed].map((number) => nameOf(number));
  const shape = found && shapeOf(found);
  found = read;
  gangsOf = found.nodes.gangs.map((flat) => {
    const pairs = [];
    for (let place = 0; place < flat.length; place += 2) pairs.push([flat[place], flat[place + 1]]);
    return pairs;
  });
  canvas.setAttribute("aria-label", `${found.nodes.all.length} nodes`);
  if (shape !== shapeOf(found)) arrange();
  const places = (name) => (name === undefined || name === null ? -1 : found.nodes.names?.indexOf(name) ?? Math.min(name, squares.length - 1));
  if (before) {
    [chosen, pointed] = before.map(places);
    tell(pointed >= 0 ? pointed : chosen);
  } else if (query.get("node")) {
    choose(places(query.get("node")));
  }
  showTree({ found, gangsOf, go: inside, open, light });
  draw();
}

function light(first, number) {
  part = number ? [first, number] : null;
  redraw();
}

colour();
await load();
canvas.addEventListener("keydown", walk);
canvas.addEventListener("pointermove", point);
canvas.addEventListener("pointerleave", () => {
  pointed = -1;
  if (chosen >= 0) tell(chosen);
  redraw();
});
canvas.addEventListener("click", click);
document.addEventListener("fresh", load);
document.addEventListener("scheme", () => {
  colour();
  draw();
});
new ResizeObserver(() => {
  if (!found) return;
  arrange();
  draw();
}).observe(box);
