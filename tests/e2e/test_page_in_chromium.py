"""The page in a browser, on a real API server with a scheduler that runs and stops."""

import contextlib
import functools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from support.chromium import Tab, chromium

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

SHOWN_SECONDS = 15.0
"""A change is on the screen within this time; within 5 s on a quiet machine."""
STATES = """
[...document.querySelectorAll('tr[data-key]')].map((row) =>
  [row.querySelector('.name').textContent.split('/')[1],
   row.querySelector('.state').textContent]).sort()
"""
MAP_TOLD = "document.getElementById('map-told').textContent"


@contextlib.contextmanager
def opened(kubeconfig: Path) -> Iterator[str]:
    """Run the page with the administrator's kubeconfig; yields its address with the key."""
    command = [sys.executable, "-m", "gang_scheduler", "page", f"--kubeconfig={kubeconfig}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


async def states_within(tab: Tab, seconds: float, states: dict[str, str]) -> None:
    """Wait until the list has these gangs in these states; fail after this time."""
    expected = sorted(map(list, states.items()))
    with anyio.move_on_after(seconds):
        await tab.until(f"JSON.stringify({STATES.strip()}) === {json.dumps(compact(expected))}")
    assert expected == await tab.value(STATES)


async def go(tab: Tab, path: str, *keys: str) -> None:
    """Press keys that lead to another screen, and wait until it is there with its scripts."""
    await tab.press(*keys)
    await tab.until(f"location.pathname === '{path}' && document.readyState === 'complete'")


def compact(value: object) -> str:
    """Return a value as JavaScript writes it."""
    return json.dumps(value, separators=(",", ":"))


async def asked(work: Callable[..., object], *arguments: object) -> None:
    """Do something blocking while the browser goes on."""
    await anyio.to_thread.run_sync(work, *arguments)


async def test_three_gangs_of_eight_in_room_for_two_are_seen_by_keyboard_as_they_turn(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(4, cpu=4)
    for name in ("one", "two", "three"):
        namespace.create(*gang(name, 8, on=namespace.here))
        if name != "three":
            eventually("Running", functools.partial(namespace.phase, name))
    eventually(
        "Unschedulable", lambda: namespace.condition_of_gang("three", "Scheduled").get("reason")
    )

    with opened(namespace.cluster.kubeconfig) as address:
        async with chromium() as tab:
            await tab.open(address)
            await go(tab, "/gangs", "g", "g")
            await tab.open(f"{address.partition('/?')[0]}/gangs?namespace={namespace.name}")
            before = {"one": "Running", "two": "Running", "three": "Waiting"}
            await states_within(tab, SHOWN_SECONDS, before)
            await tab.value("window.loaded = true")
            await asked(namespace.delete_gangs, "one")
            await asked(eventually, "Running", functools.partial(namespace.phase, "three"))
            after = {"two": "Running", "three": "Running"}
            await states_within(tab, SHOWN_SECONDS, after)
            assert await tab.value("window.loaded"), "the screen was loaded again"

            # The detail and the decisions, by keyboard.
            await tab.press("/")
            await tab.value("document.activeElement.value = 'three'; true")
            await go(tab, f"/gangs/{namespace.name}/three", "Enter")
            await tab.until("document.querySelector('main').innerText.includes('It runs')")
            await go(tab, "/decisions", "g", "d")
            await tab.until("document.querySelector('#told').innerText.includes('three')")

            # The map: arrows walk to a node of the gang.
            await go(tab, "/nodes", "g", "n")
            await tab.until("document.getElementById('map').style.width")
            await tab.value("document.getElementById('map').focus(); true")
            await tab.press("Home")
            told = await tab.value(MAP_TOLD)
            for _ in range(64):
                if f"{namespace.name}/three" in told:
                    break
                await tab.press("ArrowRight")
                told = await tab.value(MAP_TOLD)
            assert f"{namespace.name}/three" in told
            assert [] == tab.errors
