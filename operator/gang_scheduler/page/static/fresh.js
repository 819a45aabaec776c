// Keeps the screen as the cluster is: a stream says when there is something new, and then the parts
// that changed are replaced. Without a stream, the browser asks every two seconds.
import { morph } from "./morph.js";
import { clock, localize, utc } from "./times.js";

const POLL_MILLISECONDS = 2000;
const SILENT_MILLISECONDS = 30_000;
const ENDED = "this visit has ended. Start the page again, and open the address that it prints";

const address = document.body.dataset.events;
const readAt = document.getElementById("read-at");
const stale = document.getElementById("stale");

let [shown, tag, isAsking, asksAgain, isPressed] = [document.body.dataset.version, "", false, false, false];
let [source, poll, heardAt, lostAt, missing] = [null, 0, 0, null, ""];

// Words.

function say(text) {
  if (stale.textContent !== text) stale.textContent = text;
}

function lost(why) {
  lostAt ??= new Date();
  say(`Connection lost at ${clock(lostAt)}: ${why}`);
}

function heard() {
  heardAt = performance.now();
  if (lostAt === null) return;
  lostAt = null;
  say("");
}

function date(at) {
  if (!readAt || readAt.dateTime === at.toISOString()) return;
  readAt.dateTime = at.toISOString();
  readAt.textContent = clock(at);
  readAt.title = utc(at);
}

// The stream.

function hear({ version, readAt: at, problem }) {
  heard();
  if (at) date(new Date(at));
  say(problem ? `Stale since ${at ? clock(new Date(at)) : "the start"}: ${problem}` : missing);
  if (version !== shown) refresh(version);
}

function open() {
  source?.close();
  source = new EventSource(address);
  heardAt = performance.now();
  source.onmessage = (event) => hear(JSON.parse(event.data));
  source.addEventListener("beat", heard);
  source.onopen = () => {
    clearInterval(poll);
    poll = 0;
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) poll ||= setInterval(refresh, POLL_MILLISECONDS);
    else lost("trying again");
  };
}

function close() {
  source?.close();
  source = null;
  clearInterval(poll);
  poll = 0;
}

function watch() {
  if (document.hidden || performance.now() - heardAt < SILENT_MILLISECONDS) return;
  if (!poll) lost("the page is silent, trying again");
  open();
}

// The screen.

async function refresh(version = "") {
  if (isAsking || isPressed) {
    asksAgain = true;
    return;
  }
  isAsking = true;
  asksAgain = false;
  try {
    const answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    // The session is over, which leads to the form of signing in.
    if (answer.status === 401) return location.reload();
    if (answer.status === 403) return lost(ENDED);
    if (answer.status !== 304) show(answer, await answer.text());
    shown = version || shown;
    document.dispatchEvent(new CustomEvent("fresh"));
  } catch {
    lost("the page does not answer, trying again");
  } finally {
    isAsking = false;
    if (asksAgain && !isPressed) setTimeout(refresh, POLL_MILLISECONDS);
  }
}

function show(answer, text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  localize(fresh);
  missing = answer.ok ? "" : (fresh.querySelector("main .summary")?.textContent ?? `The page answers ${answer.status}.`);
  if (missing) return say(missing);
  tag = answer.headers.get("ETag") ?? "";
  if (poll) {
    heard();
    const at = fresh.getElementById("read-at")?.dateTime;
    if (at) date(new Date(at));
    say(fresh.getElementById("stale").textContent);
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    if (isRead(part)) tag = "";
    else replace(part, fresh.getElementById(part.id));
  }
  for (const part of fresh.querySelectorAll("main > [data-live]")) {
    if (!document.getElementById(part.id)) insert(part);
  }
}

// What the user is about to copy stays until the selection ends.
function isRead(part) {
  const selection = document.getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

function replace(part, fresh) {
  if (fresh) morph(part, fresh);
  else if (part.parentElement.matches("main")) part.remove();
}

// A part that was not there: after the part that precedes it.
function insert(part) {
  const before = part.previousElementSibling;
  const place = before?.id && document.getElementById(before.id);
  const made = document.importNode(part, true);
  if (place) place.after(made);
  else document.getElementById("main").append(made);
}

function turn() {
  if (document.hidden) close();
  else open();
}

export function follow() {
  if (!address || !document.querySelector("main [data-live]")) return;
  document.addEventListener("visibilitychange", turn);
  // A click must not miss a link because the link moves under it.
  document.addEventListener("pointerdown", () => { isPressed = true; });
  for (const each of ["pointerup", "pointercancel"]) {
    document.addEventListener(each, () => {
      isPressed = false;
      if (asksAgain) setTimeout(refresh, 0);
    });
  }
  setInterval(watch, SILENT_MILLISECONDS / 6);
  turn();
}
