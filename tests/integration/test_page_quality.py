"""What a tool such as Lighthouse checks of each screen, without any other host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gang_scheduler.model.scheduler_events import SchedulerEvent
from support.chromium import Tab, chromium
from support.listed_clusters import gang, node, queue
from support.pages import opened
from support.remembered_clusters import Remembered

NODES = [node(f"node-{number}", labels={"rack": f"r{number // 4}"}) for number in range(8)]
RUNS = gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"])
CLUSTER = [*NODES, queue("blue", 64), *RUNS, *gang("huge", 20), *gang("large", 12)]
SCREENS = (
    *("/", "/gangs", "/gangs/team/runs", "/gangs/team/huge", "/queues", "/queues/blue", "/nodes"),
    *(
        "/nodes/node-0",
        "/?as=table",
        "/nodes?as=table",
        "/decisions",
        "/try",
        "/try?name=small&nodes=1&gpus=8",
    ),
)
MOST_TRANSFERRED: Final = 100_000
"""Bytes of a screen with all that it loads, in the first visit."""
MOST_AT_FIRST: Final = 40_000
"""Bytes of a screen with what it loads before it is painted."""
MOST_SHIFT: Final = 0.01
"""Lighthouse calls 0.1 good."""
HEAD: Final = """
(() => {
  const content = (name) => document.querySelector(`meta[name=${name}]`)?.content ?? "";
  return [document.doctype?.name, document.compatMode, document.characterSet,
    document.documentElement.lang, content("viewport"), content("color-scheme"),
    document.querySelectorAll("head > title").length,
    document.querySelectorAll("link[rel=icon]").length];
})()
"""
AS_IT_SHOULD_BE = [
    *("html", "CSS1Compat", "UTF-8", "en", "width=device-width, initial-scale=1", "light dark"),
    *(1, 1),
]
TRANSFERRED: Final = """
performance.getEntries().filter((each) => "transferSize" in each)
  .reduce((all, each) => all + each.transferSize, 0)
"""
BLOCKING: Final = """
[...document.querySelectorAll("script")].filter((each) => each.type !== "module" || !each.src)
  .map((each) => each.outerHTML)
"""
BEFORE_PAINT: Final = """
performance.getEntriesByType("resource").filter((each) => each.renderBlockingStatus === "blocking")
  .map((each) => [new URL(each.name).pathname, each.encodedBodySize])
"""
UNSIZED: Final = "[...document.images].filter((each) => !each.width || !each.height).length"
SMALL: Final = """
(() => {
  const shown = (each) => each.checkVisibility({ checkVisibilityCSS: true })
    && !each.closest(".skip, .unseen");
  const pressed = "a[href], button, input:not([type=hidden]), select, summary";
  const boxes = [...document.querySelectorAll(pressed)].filter(shown)
    .map((each) => [each, each.getBoundingClientRect()]);
  const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
  const far = (one, other) =>
    Math.hypot(...middle(one).map((at, axis) => at - middle(other)[axis]));
  const short = (each) => each.outerHTML.slice(0, 90);
  // WCAG 2.2, 2.5.8: 24 pixels, or no other within 24 pixels, or a link in a text.
  return boxes.filter(([each, { width, height }]) => (width < 24 || height < 24)
      && !each.closest("p, li, dd, small"))
    .flatMap(([each, box]) => boxes
      .filter(([other, its]) => other !== each && !other.contains(each) && far(box, its) < 24)
      .map(([other]) => `${short(each)} beside ${short(other)}`));
})()
"""
SHIFTS: Final = """
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const each of list.getEntries()) window.shifts += each.value;
    }).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: the browser is started, and its profile is read."""
    return iter(())


async def shaped(tab: Tab, width: int, scheme: str) -> None:
    """Have a screen of a width, light or dark."""
    await tab.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=800, deviceScaleFactor=1, mobile=width < 500,
    )  # fmt: skip
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await tab.ask("Emulation.setEmulatedMedia", features=features)


async def test_each_screen_is_whole_small_quiet_and_stays_where_it_is(tmp_path: Path) -> None:
    source = Remembered(tmp_path, CLUSTER)
    source.events = [
        SchedulerEvent(
            namespace="team", name="runs", reason="Preempted", note="by team/x", first=source.at
        )
    ]
    async with opened(source, enter=False) as browser, chromium() as tab:
        await tab.open(browser.address)
        address = browser.address.partition("/?")[0]
        await tab.ask("Log.enable")
        await tab.ask("Page.addScriptToEvaluateOnNewDocument", source=SHIFTS)
        titles = []
        for path in SCREENS:
            for width, scheme in ((1280, "light"), (360, "dark"), (360, "light")):
                await shaped(tab, width, scheme)
                await tab.ask("Network.clearBrowserCache")
                await tab.open(f"{address}{path}")
                where = (path, width, scheme)
                if await tab.value("Boolean(document.querySelector('[data-map]'))"):
                    await tab.until("document.getElementById('map').style.width")
                # Two frames, and one update.
                before = source.readings
                await tab.value("document.dispatchEvent(new CustomEvent('fresh')); true")
                await tab.value("new Promise((done) => setTimeout(done, 1200))")
                assert source.readings > before or path.startswith("/try"), where

                assert AS_IT_SHOULD_BE == await tab.value(HEAD), where
                assert [] == await tab.value(BLOCKING), where
                assert 0 == await tab.value(UNSIZED), where
                assert [] == await tab.value(SMALL), where
                assert await tab.value("document.documentElement.scrollWidth <= innerWidth"), where
                assert MOST_TRANSFERRED > await tab.value(TRANSFERRED), where
                assert MOST_SHIFT > await tab.value("window.shifts"), where
            titles.append(await tab.value("document.title"))
        assert [] == tab.errors
        assert [] == tab.logged

    # Each screen can be told from the others in a list of tabs; a query keeps its title.
    assert len(set(titles)) == len({path.partition("?")[0] for path in SCREENS})


async def test_figures_are_painted_after_few_requests_and_bytes(tmp_path: Path) -> None:
    async with opened(Remembered(tmp_path, CLUSTER), enter=False) as browser, chromium() as tab:
        await tab.open(browser.address)
        first = await tab.value("fetch('/').then((answer) => answer.text())")
        size = await tab.value("performance.getEntriesByType('navigation')[0].encodedBodySize")
        blocking = await tab.value(BEFORE_PAINT)

    # Figures, and why gangs wait, are in the first answer.
    for words in ("GPUs used", "gangs wait", "team/</span>huge", "QuotaExceeded"):
        assert words in first
    styles = {"/static/page.css", "/static/map.css", "/static/pictures.css"}
    assert {*styles, "/static/scheme.js"} == {path for path, _ in blocking}
    assert MOST_AT_FIRST > size + sum(size for _, size in blocking)
