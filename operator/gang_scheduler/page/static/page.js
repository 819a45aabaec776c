// Keeps a screen fresh, moves by keys, and shows times in the zone of the browser. All data is on
// the screen without it.
import { follow } from "./fresh.js";
import { localize } from "./times.js";

const SCREENS = { c: "/", g: "/gangs", q: "/queues", n: "/nodes", d: "/decisions", t: "/try" };

let before = "";

function press(event) {
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("q").focus();
  } else if (event.key === "?") {
    const keys = document.getElementById("keys");
    if (!keys.open) keys.showModal();
  } else if (before === "g" && SCREENS[event.key]) {
    location.assign(SCREENS[event.key]);
  }
  before = before === "g" ? "" : event.key;
}

localize(document);
document.addEventListener("keydown", press);
follow();
