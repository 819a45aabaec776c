"""The page by screen reader, by keyboard, on small screens, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from gang_scheduler.simulation.snapshot_files import Told
from support import accessibility
from support.chromium import Tab, chromium
from support.listed_clusters import gang, node, queue
from support.pages import opened, source_of
from support.remembered_clusters import Remembered

NODES = [node(f"node-{number}", labels={"rack": f"r{number // 4}"}) for number in range(8)]
RUNS = gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"])
CLUSTER = [*NODES, queue("blue", 64), *RUNS, *gang("huge", 20), *gang("large", 12)]
SCREENS = (
    *("/", "/gangs", "/gangs?text=none", "/gangs/team/runs", "/gangs/team/huge", "/gangs/team/no"),
    *("/queues", "/queues/blue", "/nodes", "/nodes/node-0", "/decisions"),
    *("/try", "/try?name=Big&nodes=0", "/try?name=small&nodes=1&gpus=8"),
)
BY_KEYBOARD = ("/", "/gangs/team/huge", "/queues/blue", "/nodes", "/try?name=Big&nodes=0")
BROKEN = """
<title> </title><body style="background: #fff"><h2 id=a>x</h2><p id=a style="color: #999">grey</p>
<a href="/x"></a><svg role=img></svg><button style="width: 9px; height: 9px; padding: 0"></button>
<input aria-describedby=nowhere><table><tr><td>x</td></tr></table>
<a href="/y" style="outline: none">y</a><div style="width: 9000px">wide</div>
<a href="/z" tabindex=2>z</a>
"""


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: the browser is started, and its profile is read."""
    return iter(())


async def look(tab: Tab, width: int, scheme: str) -> None:
    """Have a screen of a width, light or dark."""
    await tab.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await tab.ask("Emulation.setEmulatedMedia", features=features)


@pytest.mark.parametrize(("width", "scheme"), [(1600, "light"), (1600, "dark"), (320, "light")])
async def test_every_screen_is_accessible(width: int, scheme: str, tmp_path: Path) -> None:
    source = Remembered(tmp_path, CLUSTER)
    source.events = [
        Told(namespace="team", name="runs", reason="Preempted", note="by team/x", first=source.at)
    ]
    async with opened(source, enter=False) as browser, chromium(tmp_path) as tab:
        await tab.ask("Accessibility.enable")
        await tab.open(browser.address)
        await look(tab, width, scheme)
        for path in SCREENS:
            await tab.open(browser.address.partition("/?")[0] + path)
            assert [] == await accessibility.faults_of(tab), path
        assert [] == tab.errors


async def test_the_keyboard_reaches_everything_in_the_order_of_the_screen(tmp_path: Path) -> None:
    source = source_of(tmp_path, CLUSTER)
    async with opened(source, enter=False) as browser, chromium(tmp_path) as tab:
        await tab.open(browser.address)
        for path in BY_KEYBOARD:
            await tab.open(browser.address.partition("/?")[0] + path)
            assert [] == await accessibility.faults_of_focus(tab), path


async def test_each_fault_is_found(tmp_path: Path) -> None:
    async with chromium(tmp_path) as tab:
        await tab.ask("Accessibility.enable")
        await tab.open(f"data:text/html,{quote(BROKEN)}")
        found = await accessibility.faults_of(tab)
        of_focus = await accessibility.faults_of_focus(tab)

    for expected in (
        *("the document has no language", "the document has no title", "id a is there twice"),
        *("aria-describedby=nowhere leads nowhere", "0 headings of the first level"),
        *("a heading of level 2 after none", "not one main", "text outside of landmarks"),
        *("a table without headings", "contrast 2.85", "9x9 pixels", "pixels wide in"),
        *("link without a name", "image without a name", "button without a name"),
        "textbox without a name",
    ):
        assert any(expected in each for each in found), (expected, found)
    for expected in ("the focus goes back", "the focus is not seen", "Tab reaches 2 of 5 controls"):
        assert any(expected in each for each in of_focus), (expected, of_focus)
