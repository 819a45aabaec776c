"""`python -m tools.soak.page`: leave a screen of the page open under churn; fail if its tab grows.

Gangs of five come to a real API server and go after some seconds. The operator binds the pods, and
Chromium has the screen open. Its heap is measured without garbage. On a machine that is too slow
for so many bindings, `--bound` creates the pods on their nodes: the page sees as many changes.
"""

import argparse
import asyncio
import contextlib
import itertools
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence

from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.test_page_in_chromium import opened
from support.chromium import Tab, chromium
from tools import controlplane
from tools.chaos.site import CRDS
from tools.errands import Errand
from tools.soak.memory import Growth, Sample, growth

MOST_SHARE = 0.2
SAMPLE_SECONDS = 10.0
MEMBERS = 5
LIVES_SECONDS = 8
PAUSE_SECONDS = 0.5
NODE_CPU = 8
MEBIBYTE = 1 << 20


class Churn(Errand):
    """Creates `pace` pods a second, as gangs, and deletes those that are old."""

    def __init__(self, namespace: Namespace, pace: int, nodes: Sequence[str] = ()) -> None:
        super().__init__("churn", PAUSE_SECONDS)
        self.pods = 0
        self._namespace = namespace
        self._pace = pace
        self._nodes = itertools.cycle(nodes) if nodes else None
        self._begun = time.monotonic()
        self._numbers = itertools.count()
        self._living: deque[tuple[float, list[str]]] = deque()

    @property
    def pods_a_second(self) -> float:
        """How many pods were created a second."""
        return self.pods / (time.monotonic() - self._begun)

    def once(self) -> None:
        """Create the gangs that are due, and delete the old ones."""
        now = time.monotonic()
        # A server that falls behind is not asked for more at once than a second's gangs.
        due = min(int((now - self._begun) * self._pace - self.pods), self._pace) // MEMBERS
        names = [f"gang-{next(self._numbers)}" for _ in range(due)]
        self._namespace.create(*(each for name in names for each in self._gang(name)))
        self.pods += due * MEMBERS
        self._living.append((now, names))
        old = []
        while self._living and self._living[0][0] < now - LIVES_SECONDS:
            old += self._living.popleft()[1]
        if old:
            self._namespace.delete_gangs(*old)

    def _gang(self, name: str) -> list[Manifest]:
        if self._nodes is None:
            return gang(name, MEMBERS)
        return gang(name, MEMBERS, nodeName=next(self._nodes))


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    with (
        _site(arguments.pace) as (plane, namespace, nodes),
        opened(plane) as address,
        Churn(namespace, arguments.pace, nodes if arguments.bound else ()) as churn,
    ):
        samples, errors = asyncio.run(_watched(address, arguments, churn))
        pace = churn.pods_a_second
    found = growth(samples)
    _tell(found, pace)
    wrong = [f"the tab has an error: {each}" for each in errors]
    if found.share > MOST_SHARE:
        wrong.append(f"the heap grows by {found.share:.1%}, and {MOST_SHARE:.0%} is the most")
    for each in wrong:
        print(f"WRONG: {each}")
    return 1 if wrong else 0


@contextlib.contextmanager
def _site(pace: int) -> Iterator[tuple[controlplane.ControlPlane, Namespace, list[str]]]:
    """Give a control plane with an operator, and nodes for all pods that live at once."""
    with controlplane.start() as plane:
        plane.kubectl("apply", f"--filename={CRDS}")
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"--filename={CRDS}")
        nodes = plane.nodes(2 * pace * LIVES_SECONDS // NODE_CPU, allocatable=_room())
        with controlplane.Scheduler(plane, "--leader-elect"), Namespace(plane, "churn") as made:
            yield plane, made, nodes


def _room() -> dict[str, str]:
    return {"cpu": str(NODE_CPU), "memory": "64Gi", "pods": "110"}


async def _watched(
    address: str, arguments: argparse.Namespace, churn: Churn
) -> tuple[list[Sample], list[str]]:
    """Return the heap of the tab over time, and the errors of its scripts."""
    samples = []
    async with chromium() as tab:
        await tab.open(address)
        await tab.open(f"{address.partition('/?')[0]}{arguments.path}")
        begun = time.monotonic()
        before = ""
        while (passed := time.monotonic() - begun) < arguments.seconds:
            await asyncio.sleep(SAMPLE_SECONDS)
            samples.append(Sample(passed, await _heap_bytes(tab)))
            read_at = await tab.value("document.getElementById('read-at').dateTime")
            if read_at == before:
                raise SystemExit(f"the screen is as it was at {before}")
            before = read_at
            if len(samples) % 6 == 0:
                size = samples[-1].size_bytes / MEBIBYTE
                _say(f"{churn.pods} pods created, heap {size:.2f} MiB")
        return samples, tab.errors


async def _heap_bytes(tab: Tab) -> int:
    await tab.ask("HeapProfiler.collectGarbage")
    return int((await tab.ask("Runtime.getHeapUsage"))["usedSize"])


def _tell(found: Growth, pace: float) -> None:
    begin, end, peak = (
        each / MEBIBYTE for each in (found.begin_bytes, found.end_bytes, found.peak_bytes)
    )
    print(
        f"{pace:.0f} pods a second; heap of the tab after the warm-up, in {found.seconds:.0f} s: "
        f"from {begin:.2f} to {end:.2f} MiB, {found.share:+.1%}; peak {peak:.2f}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.soak.page", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--pace", type=int, default=100, help="pods a second")
    parser.add_argument("--bound", action="store_true", help="create the pods on their nodes")
    parser.add_argument("--path", default="/", help="of the screen")
    return parser.parse_args()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
