"""`python -m tools.soak.page`: leave a screen of the page open under churn; fail if its tab grows.

Gangs of five come and go after some seconds, and Chromium has the screen open. Its heap is measured
without garbage. In the end the screen must count the gangs that there are. The API server is a real
one, with an operator that binds the pods. With `--bound` it is the embedded one, without operator:
the pods are created on their nodes, so the page sees as many changes on a machine that is too slow
for an API server, an operator and a browser at once.
"""

import argparse
import asyncio
import contextlib
import itertools
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.test_page_in_chromium import opened
from support.chromium import Tab, chromium
from tools import controlplane
from tools.chaos.site import CRDS
from tools.errands import Errand
from tools.soak.embedded import BoundPods
from tools.soak.memory import Growth, Sample, growth

MOST_SHARE = 0.2
SAMPLE_SECONDS = 10.0
MOST_AGE_SECONDS = 60.0
"""An older screen does not follow, however little time the machine gives to the page."""
MEMBERS = 5
LIVES_SECONDS = 8
PAUSE_SECONDS = 0.5
MOST_SECONDS = 3
NODE_CPU = 8
MEBIBYTE = 1 << 20
READ_AT = "document.getElementById('read-at')?.dateTime"
COUNTED = """
    document.querySelector('#tiles .tile').innerText.match(/[0-9]+/g).slice(0, 2)
      .reduce((all, each) => all + Number(each), 0)
"""
"""How many gangs wait or run by the overview."""


class Objects(Protocol):
    """Where gangs are created and deleted."""

    def create(self, *documents: Manifest) -> None:
        """Create objects."""

    def delete_gangs(self, *names: str) -> None:
        """Delete gangs: PodGroups and members."""


class Site(NamedTuple):
    """A cluster, and where its gangs are; `nodes` are the nodes for pods that come bound."""

    kubeconfig: Path
    objects: Objects
    nodes: tuple[str, ...] = ()


class Seen(NamedTuple):
    """The heap of the tab over time, the age of its oldest screen, and errors of its scripts."""

    samples: list[Sample]
    oldest_seconds: float
    errors: list[str]


class Churn(Errand):
    """Creates `pace` pods a second, as gangs, and deletes those that are old."""

    def __init__(self, site: Site, pace: int) -> None:
        super().__init__("churn", PAUSE_SECONDS)
        self.pods = 0
        self._objects = site.objects
        self._pace = pace
        self._nodes = itertools.cycle(site.nodes) if site.nodes else None
        self._begun = time.monotonic()
        self._numbers = itertools.count()
        self._living: deque[tuple[float, list[str]]] = deque()

    @property
    def pods_a_second(self) -> float:
        """How many pods were created a second."""
        return self.pods / (time.monotonic() - self._begun)

    @property
    def gangs(self) -> int:
        """How many gangs there are."""
        return sum(len(names) for _, names in self._living)

    def once(self) -> None:
        """Create the gangs that are due, and delete the old ones."""
        now = time.monotonic()
        # A server that falls behind is not asked for more at once than the gangs of some seconds.
        most = MOST_SECONDS * self._pace
        due = min(int((now - self._begun) * self._pace - self.pods), most) // MEMBERS
        names = [f"gang-{next(self._numbers)}" for _ in range(due)]
        self._objects.create(*(each for name in names for each in self._gang(name)))
        self.pods += due * MEMBERS
        self._living.append((now, names))
        old = []
        while self._living and self._living[0][0] < now - LIVES_SECONDS:
            old += self._living.popleft()[1]
        if old:
            self._objects.delete_gangs(*old)

    def _gang(self, name: str) -> list[Manifest]:
        if self._nodes is None:
            return gang(name, MEMBERS)
        return gang(name, MEMBERS, nodeName=next(self._nodes))


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    where = _embedded if arguments.bound else _operated
    with where(arguments.pace) as site, opened(site.kubeconfig) as address:
        seen, pace, wrong = asyncio.run(_watched(address, arguments, Churn(site, arguments.pace)))
    found = growth(seen.samples)
    _tell(found, pace, seen.oldest_seconds)
    wrong += [f"the tab has an error: {each}" for each in seen.errors]
    if found.share > MOST_SHARE:
        wrong.append(f"the heap grows by {found.share:.1%}, and {MOST_SHARE:.0%} is the most")
    for each in wrong:
        print(f"WRONG: {each}")
    return 1 if wrong else 0


def _number_of_nodes(pace: int) -> int:
    """Return how many nodes have room for all pods that live at once."""
    return 2 * pace * LIVES_SECONDS // NODE_CPU


@contextlib.contextmanager
def _operated(pace: int) -> Iterator[Site]:
    """Give a control plane with an operator."""
    with controlplane.start() as plane:
        plane.kubectl("apply", f"--filename={CRDS}")
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"--filename={CRDS}")
        room = {"cpu": str(NODE_CPU), "memory": "64Gi", "pods": "110"}
        plane.nodes(_number_of_nodes(pace), allocatable=room)
        with controlplane.Scheduler(plane, "--leader-elect"), Namespace(plane, "churn") as made:
            yield Site(plane.kubeconfig, made)


@contextlib.contextmanager
def _embedded(pace: int) -> Iterator[Site]:
    """Give the embedded API server without an operator."""
    with tempfile.TemporaryDirectory() as directory, BoundPods.served(Path(directory)) as served:
        yield Site(served.kubeconfig, served, served.nodes(_number_of_nodes(pace), NODE_CPU))


async def _watched(
    address: str, arguments: argparse.Namespace, churn: Churn
) -> tuple[Seen, float, list[str]]:
    """Return what was seen of the tab, how many pods came a second, and what is wrong."""
    samples, oldest = [], 0.0
    async with chromium() as tab:
        await tab.open(address)
        screen = address.partition("?")[0]
        while not await tab.value(READ_AT):
            await asyncio.sleep(1)
            await tab.open(screen)
        with churn:
            begun = time.monotonic()
            while (passed := time.monotonic() - begun) < arguments.seconds:
                await asyncio.sleep(SAMPLE_SECONDS)
                samples.append(Sample(passed, await _heap_bytes(tab)))
                age = await tab.value(f"(Date.now() - new Date({READ_AT})) / 1000")
                if age > MOST_AGE_SECONDS:
                    raise SystemExit(f"the screen is {age:.0f} s old")
                oldest = max(oldest, age)
                if len(samples) % 6 == 0:
                    size = samples[-1].size_bytes / MEBIBYTE
                    _say(f"{churn.pods} pods, heap {size:.2f} MiB, the screen {age:.0f} s old")
            pace = churn.pods_a_second
        await asyncio.sleep(SAMPLE_SECONDS)
        shown = await tab.value(COUNTED)
        wrong = [] if shown == churn.gangs else [f"{shown} gangs are shown of {churn.gangs}"]
        return Seen(samples, oldest, tab.errors), pace, wrong


async def _heap_bytes(tab: Tab) -> int:
    await tab.ask("HeapProfiler.collectGarbage")
    return int((await tab.ask("Runtime.getHeapUsage"))["usedSize"])


def _tell(found: Growth, pace: float, oldest: float) -> None:
    begin, end, peak = (
        each / MEBIBYTE for each in (found.begin_bytes, found.end_bytes, found.peak_bytes)
    )
    print(
        f"{pace:.0f} pods a second; heap of the tab after the warm-up, in {found.seconds:.0f} s: "
        f"from {begin:.2f} to {end:.2f} MiB, {found.share:+.1%}; peak {peak:.2f}; "
        f"the screen was at most {oldest:.0f} s old"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.soak.page", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--pace", type=int, default=100, help="pods a second")
    parser.add_argument("--bound", action="store_true", help="pods come bound, without an operator")
    return parser.parse_args()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
