"""What users ask, answered on the page in a browser by at most two clicks, or by typing a name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.view import Heartbeat, Reading
from support.chromium import Tab, chromium
from support.declared_objects import tree_body
from support.listed_clusters import Body, gang, node, queue
from support.pages import opened
from support.remembered_clusters import NOON, Remembered

HOST = "kubernetes.io/hostname"
NAMES = [f"node-{number}" for number in range(24)]
NODES = [
    node(name, labels={"rack": f"rack-{number // 8}", HOST: name})
    for number, name in enumerate(NAMES)
]
MAIN = "document.querySelector('main').innerText"


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: the browser is started, and its profile is read."""
    return iter(())


def bodies() -> list[Body]:
    """Return three racks, of which one is free, and a gang that waits until another one ends."""
    green = queue("green", 64)
    green["spec"]["borrowing"]["enabled"] = False
    timed = gang("timed", 8, queue="green", nodes=NAMES[:8], created="2026-01-01T11:30:00Z")
    for body in timed[1:]:
        body["spec"]["activeDeadlineSeconds"] = 7200
    train = gang("train", 3, queue="blue", nodes=NAMES[8:11], namespace="research")
    return [
        tree_body(),
        *NODES,
        green,
        queue("blue", 64),
        *timed,
        *train,
        *gang("llama", 8, queue="green"),
    ]


class Alive(Remembered):
    """A cluster whose scheduler is alive."""

    def read(self) -> Reading:
        """Return the cluster at its time."""
        return super().read()._replace(heartbeat=Heartbeat("replica-0", self.at - 2, 15))


async def click(tab: Tab, text: str) -> None:
    """Click the first link with this text, and wait for the screen that it leads to."""
    await tab.value("window.is_left = true")
    await tab.value(
        "[...document.querySelectorAll('a')].find((each) => each.textContent.trim() === "
        f"'{text}').click(); true"
    )
    await tab.until("!window.is_left && document.readyState === 'complete'")


async def test_five_questions_are_answered_by_two_clicks_at_most(tmp_path: Path) -> None:
    source = Alive(tmp_path, bodies())
    evicted = "Preempted by research/train: 3 members"
    source.events = [
        SchedulerEvent(
            namespace="vision", name="sweep", reason="Preempted", note=evicted, first=NOON - 900
        ),
        SchedulerEvent(
            namespace="team", name="timed", reason="Scheduled", note="8 nodes", first=NOON - 1800
        ),
    ]
    async with opened(source, enter=False) as browser, chromium() as tab:
        await tab.ask("Emulation.setTimezoneOverride", timezoneId="UTC")
        await tab.open(browser.address)
        first = browser.address.partition("/?")[0] + "/"

        # Is the scheduler well?
        assert "alive" in await tab.value("document.querySelector('#tiles .word').innerText")

        # Which rack could take a gang of 8 nodes?
        free = "[...document.querySelectorAll('#tree-1 tr[data-key=\"{}\"] td')].at(-1).innerText"
        assert ["0", "5", "8"] == [
            await tab.value(free.format(f"rack-{number}")) for number in range(3)
        ]

        # Which gangs use the GPUs of team blue?
        await click(tab, "blue")
        assert "research/train" in await tab.value("document.querySelector('#waits').innerText")

        # What was evicted in the last hour, and for which gang?
        await tab.open(first)
        await click(tab, "Evictions")
        told = await tab.value(MAIN)
        assert evicted in told
        assert "8 nodes" not in told

        # Why does llama wait, and when does it start?
        await tab.press("/", *"llama", "Enter")
        await tab.until("location.pathname === '/gangs/team/llama'")
        await tab.until("document.readyState === 'complete'")
        told = await tab.value(MAIN)
        assert "It lacks quota" in told
        assert "about 13:30 UTC (in 90 min): team/timed ends then" in told
        assert [] == tab.errors
