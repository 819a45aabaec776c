// Plays a replay on the map that the server has drawn. Without it, the slider is a form.
const found = await (await fetch("/moves.json")).json();
const { end, step, nodes, jobs, moves, turned } = found;
const id = (name) => document.getElementById(name);
const [slider, play, speed, map, mark] = ["at", "play", "speed", "map", "mark"].map(id);
const svgs = nodes.map((_, number) => id(`node-${number}`));
const cellsOf = svgs.map((svg) => [...svg.querySelectorAll("rect")]);
const titles = svgs.map((svg) => svg.querySelector("title"));
const times = [...new Set([...moves, ...turned].map((each) => each[0]))].sort((a, b) => a - b);
const shown = (amount) => (step === 1 ? `${amount}` : `${Math.round(amount / 10) / 100}`);
const whole = nodes.reduce((sum, each) => sum + each[1], 0) || 1;

// The state at a time: pods on each node by job, and since when jobs wait.
let now, place, turn, on, waiting, down, used, touched;

function rewind() {
  [now, place, turn, used] = [0, 0, 0, 0];
  on = nodes.map(() => new Map());
  [waiting, down] = [new Map(), new Set()];
  touched = new Set(nodes.keys());
}

function advance(to) {
  for (; place < moves.length && moves[place][0] <= to; place++) {
    const [at, job, waits, pairs] = moves[place];
    const [since, pods] = waiting.get(job) ?? [at, 0];
    if (pods + waits > 0) waiting.set(job, [since, pods + waits]);
    else waiting.delete(job);
    for (let i = 0; i < pairs.length; i += 2) {
      const there = on[pairs[i]];
      const more = (there.get(job) ?? 0) + pairs[i + 1];
      if (more > 0) there.set(job, more);
      else there.delete(job);
      used += pairs[i + 1] * jobs[job][2];
      touched.add(pairs[i]);
    }
  }
  for (; turn < turned.length && turned[turn][0] <= to; turn++) {
    const [, node, up] = turned[turn];
    if (up) down.delete(node);
    else down.add(node);
    touched.add(node);
  }
  now = to;
}

function moment(at) {
  if (found.begin !== null) return `${new Date(1000 * (found.begin + at)).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const two = (number) => `${number}`.padStart(2, "0");
  const rest = at % 86400;
  return `day ${Math.floor(at / 86400) + 1}, ${Math.floor(rest / 3600)}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
}

function age(seconds) {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86400)}d`;
}

function label(number) {
  const [name, amount] = nodes[number];
  const there = [...on[number].keys()].sort((a, b) => a - b).map((job) => jobs[job][0]);
  const takes = [...on[number]].reduce((sum, [job, pods]) => sum + pods * jobs[job][2], 0);
  return `${name}: ${shown(takes)} of ${shown(amount)} ${found.unit}${down.has(number) ? ", failed" : ""}; ${there.join(", ") || "free"}`;
}

function paint(cell, hue) {
  const name = hue < 0 ? "cell" : `cell hue-${hue}`;
  if (cell.getAttribute("class") !== name) cell.setAttribute("class", name);
}

function draw(number) {
  const svg = svgs[number];
  const amount = nodes[number][1] || 1;
  const cells = cellsOf[number];
  let [taken, cell] = [0, 0];
  for (const [job, pods] of [...on[number]].sort((a, b) => a[0] - b[0])) {
    taken += pods * jobs[job][2];
    const most = Math.min(cells.length, Math.ceil((taken * cells.length) / amount));
    for (; cell < most; cell++) paint(cells[cell], job % found.hues);
  }
  for (; cell < cells.length; cell++) paint(cells[cell], -1);
  svg.classList.toggle("down", down.has(number));
  const text = label(number);
  if (titles[number].textContent === text) return;
  svg.setAttribute("aria-label", text);
  titles[number].textContent = text;
}

function row(job, [since, pods]) {
  const made = document.createElement("tr");
  const [name, queue, each] = jobs[job];
  const texts = [name, queue, `${shown(each * pods)} ${found.unit}`, age(now - since)];
  texts.forEach((text, column) => {
    const cell = document.createElement(column ? "td" : "th");
    cell.textContent = text;
    cell.className = column > 1 ? "n" : column ? "" : "name";
    if (!column) cell.scope = "row";
    made.append(cell);
  });
  return made;
}

function show() {
  for (const number of touched) draw(number);
  touched.clear();
  const line = [...waiting].sort((a, b) => a[1][0] - b[1][0] || a[0] - b[0]);
  id("waiting").tBodies[0].replaceChildren(...line.slice(0, found.few).map((each) => row(...each)));
  id("more").textContent = line.length > found.few ? `${line.length - found.few} more` : line.length ? "" : "No gang waits.";
  id("waits").textContent = line.length;
  id("used").textContent = shown(used);
  id("part").textContent = Math.round((100 * used) / whole);
  const text = moment(now);
  id("moment").textContent = text;
  slider.value = now;
  slider.setAttribute("aria-valuetext", text);
  const x = (1000 * now) / (end || 1);
  mark.setAttribute("x1", x);
  mark.setAttribute("x2", x);
  if (chosen >= 0) id("node").textContent = label(chosen);
}

function go(to) {
  to = Math.max(0, Math.min(end, Math.round(to)));
  if (to < now) rewind();
  advance(to);
  show();
}

// Playing.
let playing = false;
let before = 0;
let exact = 0;

function tick(at) {
  if (!playing) return;
  exact = Math.min(end, exact + ((at - before) / 1000) * Number(speed.value));
  before = at;
  go(exact);
  if (now >= end) return toggle();
  requestAnimationFrame(tick);
}

function toggle() {
  playing = !playing;
  play.textContent = playing ? "Pause" : "Play";
  if (!playing) return history.replaceState(null, "", `?at=${now}`);
  exact = now >= end ? 0 : now;
  before = performance.now();
  requestAnimationFrame(tick);
}

function change(direction) {
  const next = direction > 0 ? times.find((each) => each > now) : times.findLast((each) => each < now);
  if (next !== undefined) go(next);
}

// Nodes.
let chosen = -1;

function choose(number) {
  if (chosen >= 0) svgs[chosen].removeAttribute("aria-selected");
  chosen = number;
  svgs[chosen].setAttribute("aria-selected", "true");
  svgs[chosen].scrollIntoView({ block: "nearest" });
  map.setAttribute("aria-activedescendant", svgs[chosen].id);
  id("node").textContent = label(chosen);
}

function walk(event) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -nodes.length, End: nodes.length };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const drawn = [...map.querySelectorAll(".node")];
  const place = chosen < 0 ? -1 : drawn.indexOf(svgs[chosen]);
  const next = drawn[Math.max(0, Math.min(drawn.length - 1, place + steps[event.key]))];
  choose(svgs.indexOf(next));
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
  const options = speed.options.length;
  if (event.key === " " && event.target !== play) toggle();
  else if (event.key === "." || event.key === ",") change(event.key === "." ? 1 : -1);
  else if (event.key === "+") speed.selectedIndex = Math.min(options - 1, speed.selectedIndex + 1);
  else if (event.key === "-") speed.selectedIndex = Math.max(0, speed.selectedIndex - 1);
  else return;
  event.preventDefault();
}

rewind();
play.hidden = id("faster").hidden = false;
play.addEventListener("click", toggle);
slider.addEventListener("input", () => { exact = Number(slider.value); go(exact); });
slider.addEventListener("change", () => history.replaceState(null, "", `?at=${now}`));
map.addEventListener("keydown", walk);
map.addEventListener("click", (event) => {
  const node = event.target.closest(".node");
  if (node) choose(svgs.indexOf(node));
});
document.addEventListener("keydown", press);
go(Number(slider.value));
