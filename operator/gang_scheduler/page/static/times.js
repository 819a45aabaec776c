// Shows times in the zone of the browser; UTC stays in their titles.
const DATE = { month: "2-digit", day: "2-digit" };
const MINUTES = { hour: "2-digit", minute: "2-digit", hour12: false };
const CLOCK = new Intl.DateTimeFormat(undefined, MINUTES);
const SECONDS = new Intl.DateTimeFormat(undefined, { ...MINUTES, second: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { ...DATE, ...MINUTES });
const DAY_AND_SECONDS = new Intl.DateTimeFormat(undefined, { ...DATE, ...MINUTES, second: "2-digit" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hour12: false });

const isToday = (at) => at.toDateString() === new Date().toDateString();

export function clock(at) {
  return (isToday(at) ? SECONDS : DAY_AND_SECONDS).format(at);
}

export function utc(at) {
  return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function localize(root) {
  for (const each of root.querySelectorAll("time")) {
    const at = new Date(each.dateTime);
    each.title ||= each.textContent;
    if ("seconds" in each.dataset) each.textContent = clock(at);
    else if (each.textContent.endsWith("UTC")) each.textContent = WHOLE.format(at);
    else each.textContent = (isToday(at) ? CLOCK : DAY).format(at);
  }  // A picture has no time elements.
  for (const each of root.querySelectorAll("text[data-at]")) {
    const at = new Date(each.dataset.at);
    if ("seconds" in each.dataset) each.textContent = SECONDS.format(at);
    else each.textContent = (isToday(at) ? CLOCK : DAY).format(at);
  }
}
