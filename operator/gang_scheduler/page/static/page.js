// Keeps a screen fresh, moves by keys, and shows times in the zone of the browser. All data is on
// the screen without it.
const POLL_MILLISECONDS = 2000;
const SCREENS = { c: "/", g: "/gangs", q: "/queues", d: "/decisions", t: "/try" };
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const DAY = new Intl.DateTimeFormat(undefined, {
  month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hour12: false,
});
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function localize(root) {
  const today = new Date().toDateString();
  for (const each of root.querySelectorAll("time")) {
    const at = new Date(each.dateTime);
    each.title ||= each.textContent;
    if (each.textContent.endsWith("UTC")) each.textContent = WHOLE.format(at);
    else each.textContent = (at.toDateString() === today ? CLOCK : DAY).format(at);
  }
}

let tag = "";

async function refresh() {
  if (document.hidden || !document.querySelector("main [data-live]")) return;
  const stale = document.getElementById("stale");
  try {
    const answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.status === 304) return;
    tag = answer.headers.get("ETag") || "";
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    localize(fresh);
    for (const part of document.querySelectorAll("[data-live]")) replace(part, fresh.getElementById(part.id));
  } catch {
    if (!stale.textContent) stale.textContent = `Stale since ${CLOCK.format(new Date())}: the page does not answer`;
  }
}

function replace(part, fresh) {
  if (!fresh || part.innerHTML === fresh.innerHTML) return;
  // What the user is about to read or copy stays.
  const selection = document.getSelection();
  if (!selection.isCollapsed && part.contains(selection.anchorNode)) return;
  const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  part.replaceChildren(...fresh.childNodes);
  if (focused !== null) part.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

let before = "";

function press(event) {
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("q").focus();
  } else if (before === "g" && SCREENS[event.key]) {
    location.assign(SCREENS[event.key]);
  }
  before = before === "g" ? "" : event.key;
}

localize(document);
document.addEventListener("keydown", press);
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, POLL_MILLISECONDS);
