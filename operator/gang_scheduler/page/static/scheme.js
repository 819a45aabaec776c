// Light or dark: as the browser prefers, or as the user chooses. A cookie keeps the choice, because
// the page of a kubeconfig has another port each time, and other storage is by port. The screen is
// not painted before this has run.
const PREFERS_DARK = "(prefers-color-scheme: dark)";
const MEDIA = { light: "not all", dark: "all" };
const YEAR_SECONDS = 365 * 24 * 3600;

const chosen = document.cookie.match(/(?:^|; )scheme=(light|dark)(?:;|$)/)?.[1] ?? "";
const choice = document.getElementById("scheme");
const dark = [...document.styleSheets]
  .flatMap((sheet) => [...sheet.cssRules])
  .filter((rule) => rule.media?.mediaText === PREFERS_DARK);

function tell() {
  document.dispatchEvent(new CustomEvent("scheme"));
}

function show(scheme) {
  for (const rule of dark) rule.media.mediaText = MEDIA[scheme] ?? PREFERS_DARK;
  document.querySelector("meta[name=color-scheme]").content = scheme || "light dark";
  tell();
}

if (choice) {
  choice.value = chosen;
  choice.addEventListener("change", () => {
    document.cookie = `scheme=${choice.value}; path=/; max-age=${choice.value ? YEAR_SECONDS : 0}; samesite=strict`;
    show(choice.value);
  });
}
if (chosen) show(chosen);
matchMedia(PREFERS_DARK).addEventListener("change", tell);
