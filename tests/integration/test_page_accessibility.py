"""The page by screen reader, by keyboard, on small screens, light and dark."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest

from gang_scheduler.model.scheduler_events import SchedulerEvent
from support import accessibility
from support.chromium import Tab, chromium
from support.listed_clusters import gang, node, queue
from support.page_users import PODS, Known, by_token, opened_for
from support.pages import opened, source_of
from support.remembered_clusters import Remembered

NODES = [node(f"node-{number}", labels={"rack": f"r{number // 4}"}) for number in range(8)]
RUNS = gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"])
CLUSTER = [*NODES, queue("blue", 64), *RUNS, *gang("huge", 20), *gang("large", 12)]
SCREENS = (
    *("/", "/gangs", "/gangs?text=none", "/gangs/team/runs", "/gangs/team/huge", "/gangs/team/no"),
    *("/?as=table", "/queues", "/queues/blue", "/nodes", "/nodes/node-0", "/decisions"),
    *("/try", "/try?name=Big&nodes=0", "/try?name=small&nodes=1&gpus=8"),
)
BY_KEYBOARD = ("/", "/gangs/team/huge", "/queues/blue", "/nodes", "/try?name=Big&nodes=0")
LOOKS: Sequence[tuple[int, str, Sequence[str] | None]] = (
    (1600, "light", ()),
    (1600, "dark", accessibility.OF_COLOURS),
    (360, "dark", ()),
    (360, "light", accessibility.OF_COLOURS),
    (320, "light", None),
)
"""Widths and schemes, with the rules of axe that can find something there that no other look has.

(): all rules; None: none, since axe has judged this width and these colours apart.
"""
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


async def test_every_screen_is_accessible(tmp_path: Path) -> None:
    source = Remembered(tmp_path, CLUSTER)
    source.events = [
        SchedulerEvent(
            namespace="team", name="runs", reason="Preempted", note="by team/x", first=source.at
        )
    ]
    async with opened(source, enter=False) as browser, chromium() as tab:
        await tab.ask("Accessibility.enable")
        await tab.open(browser.address)
        for path in SCREENS:
            await look(tab, *LOOKS[0][:2])
            await tab.open(browser.address.partition("/?")[0] + path)
            for width, scheme, rules in LOOKS:
                await look(tab, width, scheme)
                assert [] == await accessibility.faults_of(tab), (path, width, scheme)
                if rules is not None:
                    found = await accessibility.violations_of(tab, rules)
                    assert [] == found, (path, width, scheme)
        assert [] == tab.errors


async def test_the_keyboard_reaches_everything_in_the_order_of_the_screen(tmp_path: Path) -> None:
    source = source_of(tmp_path, CLUSTER)
    async with opened(source, enter=False) as browser, chromium() as tab:
        await tab.open(browser.address)
        for path in BY_KEYBOARD:
            await tab.open(browser.address.partition("/?")[0] + path)
            assert [] == await accessibility.faults_of_focus(tab), path


async def test_each_fault_is_found() -> None:
    async with chromium() as tab:
        await tab.ask("Accessibility.enable")
        await tab.open(f"data:text/html,{quote(BROKEN)}")
        found = await accessibility.faults_of(tab)
        of_focus = await accessibility.faults_of_focus(tab)
        of_axe = await accessibility.violations_of(tab)
        of_colours = await accessibility.violations_of(tab, accessibility.OF_COLOURS)

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
    for expected in ("html-has-lang", "color-contrast", "button-name", "link-name", "label"):
        assert any(each.startswith(expected) for each in of_axe), (expected, of_axe)
    assert {"color-contrast"} == {each.partition(":")[0] for each in of_colours}


async def test_the_form_of_signing_in_and_the_screen_of_a_tenant_are_accessible(
    tmp_path: Path,
) -> None:
    users = Known({"good": "ruby"}, {"ruby": [(PODS, "team")]})
    door = by_token(users)
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser, chromium() as tab:
        await tab.ask("Accessibility.enable")
        await tab.open(f"{browser.address}gangs")
        assert [] == await accessibility.faults_of(tab)
        assert [] == await accessibility.violations_of(tab)
        # With a wrong token the form says so; with a good one it leads to where the user wanted.
        for token, shown in (
            ("bad", "location.pathname === '/sign-in'"),
            ("good", "document.querySelector('.user')"),
        ):
            await tab.value(f"document.querySelector('[name=token]').value = '{token}'; true")
            await tab.value("document.querySelector('form button').click(); true")
            await tab.until(f"document.readyState === 'complete' && {shown}")
            await tab.until("document.querySelector('h1')")
            assert [] == await accessibility.faults_of(tab)
            assert [] == await accessibility.violations_of(tab)
        assert "/gangs" == await tab.value("location.pathname")
        assert "ruby" in await tab.value("document.querySelector('.user').textContent")
        await tab.value("document.querySelector('.user button').click(); true")
        await tab.until("location.pathname === '/sign-in'")
