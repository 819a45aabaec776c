"""`python -m tools.bench.cycles FILE...`: CPU of the cycles that `simulate` makes of manifests.

Reading, taking in the objects of each kind with the slowest single one, and then for each cycle the
longest part of what is prepared, the snapshot, the decisions, taking them in, and the echoes of the
watch with the slowest single one; beside them the looks that were spent. CPU time, not time. Other
processes that are busy raise that, too, on shared cores: a loop that is measured at the end says by
how much.
"""

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from unittest import mock

from rich.console import Console
from rich.table import Table

from gang_scheduler import from_settings
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.plan import take_in
from gang_scheduler.from_settings import membership
from gang_scheduler.model.plan import Placed, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.records import revised
from gang_scheduler.scheduler import trial
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, run
from gang_scheduler.simulation.documents import Item
from gang_scheduler.simulation.objects import Objects
from gang_scheduler.simulation.run import AtOnce, Options
from gang_scheduler.state.cache import Cache
from tools.bench import collector

MILLI: Final = 1e3
PHASES: Final = ("read", "objects", "prepare", "snapshot", "schedule", "take_in", "echoes")


@dataclass(slots=True)
class Handled:
    """CPU of the handlers of one kind of objects, in seconds. `slowest` is the most that one took.

    `which` is the name of that one. `third` is what the third slowest took: a single pause of the
    garbage collector is not about an object.
    """

    number: int = 0
    seconds: float = 0.0
    which: str = ""
    _most: list[float] = field(default_factory=list)

    @property
    def slowest(self) -> float:
        """The most that one took."""
        return self._most[0] if self._most else 0.0

    @property
    def third(self) -> float:
        """What the third slowest took; 0 where there are not so many."""
        return self._most[2] if len(self._most) > 2 else 0.0

    def add(self, seconds: float, which: object) -> None:
        """Count a handler."""
        self.number += 1
        self.seconds += seconds
        if seconds > self.slowest:
            self.which = str(which)
        self._most = sorted((*self._most, seconds), reverse=True)[:3]


@dataclass(slots=True)
class Cycle:
    """CPU of one cycle, in seconds; what it decided, and how many looks it spent.

    `prepare` is the longest part of what was done ahead. `spent` are looks of searches, `done` are
    looks of all work.
    """

    prepare: float = 0.0
    snapshot: float = 0.0
    schedule: float = 0.0
    take_in: float = 0.0
    spent: int = 0
    done: int = 0
    groups: int = 0
    placed: int = 0
    victims: int = 0
    refused: int = 0
    echoes: Handled = field(default_factory=Handled)

    @property
    def seconds(self) -> float:
        """For how long the loop is held."""
        return max(self.prepare, self.snapshot + self.schedule + self.take_in)


@dataclass(slots=True)
class Measured:
    """What the objects of the input cost, and the cycles after them. `phase` is that in hand."""

    phase: str = "read"
    read: float = 0.0
    kinds: dict[str, Handled] = field(default_factory=dict)
    cycles: list[Cycle] = field(default_factory=list)

    @property
    def worst(self) -> float:
        """The dearest cycle, in seconds of CPU."""
        return max((each.seconds for each in self.cycles), default=0.0)

    @property
    def slowest_handler(self) -> float:
        """The dearest handler of one object, in seconds of CPU."""
        return max((each.slowest for each in self._handled()), default=0.0)

    @property
    def typical_slowest(self) -> float:
        """The same without what only one or two handlers took."""
        return max((each.third for each in self._handled()), default=0.0)

    def _handled(self) -> Iterator[Handled]:
        yield from self.kinds.values()
        yield from (each.echoes for each in self.cycles)


class _Watched(AtOnce):
    """Carries plans out when their echoes come: bindings are confirmed one by one, later."""

    def __init__(self, cache: Cache, decides: Policy) -> None:
        super().__init__(cache, from_settings.naming(decides))
        self.bound: list[Pod] = []

    def bind(self, together: Sequence[Placed]) -> None:
        """Note what the watch will show."""
        binds = (bind for placed in together for bind in placed.binds)
        self.bound += [revised(bind.pod, node=bind.node) for bind in binds]


class Profiles:
    """A profile of one phase, over all cycles; none if no phase is asked for."""

    def __init__(self, phase: str = "") -> None:
        self._phase = phase
        self.profile = cProfile.Profile()

    @contextmanager
    def of(self, phase: str) -> Iterator[Callable[[], float]]:
        """Measure a phase; what it yields is the CPU since then, in seconds."""
        began, ended = time.process_time(), 0.0
        if phase == self._phase:
            self.profile.enable()
        try:
            yield lambda: (ended or time.process_time()) - began
        finally:
            ended = time.process_time()
            self.profile.disable()

    def dearest(self, number: int = 1) -> list[str]:
        """Return the functions that took most by themselves, with their seconds."""
        stats = pstats.Stats(self.profile).stats.items()  # type: ignore[attr-defined]
        dear = sorted(stats, key=lambda each: -each[1][2])[:number]
        return [
            f"{own:.2f} s in {function} ({file.rpartition('gang_scheduler/')[2]}:{line}), {calls}x"
            for (file, line, function), (_, calls, own, _, _) in dear
        ]


def measure(
    items: Iterable[Item],
    cycles: int,
    profiles: Profiles | None = None,
    decides: Policy | None = None,
    *,
    measured: Measured | None = None,
) -> Measured:
    """Measure the cycles on the documents of an input. Raises UnreadableInput.

    `measured` has what was measured by then, whatever else is raised.
    """
    profiles, decides = profiles or Profiles(), decides or Policy()
    measured = Measured() if measured is None else measured
    with profiles.of("read") as passed:
        found = objects.load(
            items, decides.rules.gangs.scheduler_names[0], membership=membership(decides)
        )
    measured.read, measured.phase = passed(), "objects"
    collector.settle()
    with profiles.of("objects"):
        cache = _filled(found, decides, measured.kinds)
    now = found.read_at
    for _ in range(cycles):
        plan, lost = _cycle(cache, decides, now, profiles, measured)
        gone = run.let_pass(cache, plan, recreate=False)
        changed = bool(gone or plan.placed or lost)
        now = run.next_moment(cache, now, Options(decides), changed=changed)
    return measured


def _filled(found: Objects, decides: Policy, kinds: dict[str, Handled]) -> Cache:
    upsert = Cache.upsert

    def timed(cache: Cache, store: object, decoded: object) -> None:
        began = time.process_time()
        upsert(cache, store, decoded)  # type: ignore[arg-type]
        handled = kinds.setdefault(type(decoded).__name__, Handled())
        handled.add(
            time.process_time() - began, getattr(decoded, "name", getattr(decoded, "uid", ""))
        )

    with mock.patch.object(Cache, "upsert", timed):
        return objects.filled(found, decides)


def _cycle(
    cache: Cache, decides: Policy, now: int, profiles: Profiles, measured: Measured
) -> tuple[Plan, bool]:
    """Make one cycle; return its plan, and whether nominations ended."""
    made, writers = Cycle(), _Watched(cache, decides)
    measured.cycles.append(made)
    measured.phase = "prepare"
    writers.now = now
    with profiles.of("prepare") as passed:
        paused = 0.0
        for _ in cache.prepare(now):
            made.prepare, paused = max(made.prepare, passed() - paused), passed()
    measured.phase = "snapshot"
    profile, naming = from_settings.profile(decides), from_settings.naming(decides)
    with profiles.of("snapshot") as passed:
        snapshot = cache.snapshot(now, whole=False)
    made.snapshot, measured.phase = passed(), "schedule"
    with profiles.of("schedule") as passed, spending() as efforts:
        plan = schedule(snapshot, profile)
    made.schedule, measured.phase = passed(), "take_in"
    with profiles.of("take_in") as passed:
        lost = LostNominations(cache, naming)
        taken = take_in(cache, plan, now, lost_nominations=lost, writers=writers)
    made.take_in, measured.phase = passed(), "echoes"
    with profiles.of("echoes"):
        for pod in writers.bound:
            began = time.process_time()
            cache.upsert_pod(pod)
            made.echoes.add(time.process_time() - began, pod.name)
    made.spent = sum(each.spent for each in efforts)
    made.done = round(sum(each.done for each in efforts))
    made.groups, made.placed = len(snapshot.groups), sum(len(each.binds) for each in plan.placed)
    made.victims = sum(len(each.victims) for each in plan.preemptions)
    made.refused = len(plan.refused)
    return plan, bool(taken.lost)


@contextmanager
def spending() -> Iterator[list[Effort]]:
    """Collect the efforts of the cycles made inside."""
    efforts: list[Effort] = []

    def noted(*given: object) -> Effort:
        efforts.append(Effort(*given))  # type: ignore[arg-type]
        return efforts[-1]

    with mock.patch.object(trial, "Effort", noted):
        yield efforts


def _tables(name: str, found: Measured) -> Iterator[Table]:
    kinds = Table("objects", title=f"{name}: read in {found.read:.2f} s of CPU")
    for title in ("number", "s", "slowest ms", "which"):
        kinds.add_column(title, justify="left" if title == "which" else "right")
    echoes = {f"echoes of cycle {n}": each.echoes for n, each in enumerate(found.cycles, start=1)}
    for kind, each in (found.kinds | echoes).items():
        slowest = f"{each.slowest * MILLI:.1f}"
        kinds.add_row(kind, str(each.number), f"{each.seconds:.2f}", slowest, each.which)
    yield kinds
    cycles = Table("cycle", title="seconds of CPU")
    titles = ("prepare", "snapshot", "schedule", "take_in", "all")
    counts = ("spent", "done", "groups", "placed", "victims", "refused")
    for title in (*titles, *counts):
        cycles.add_column(title, justify="right")
    for number, made in enumerate(found.cycles, start=1):
        seconds = (f"{getattr(made, title):.2f}" for title in titles[:-1])
        figures = (str(getattr(made, count)) for count in counts)
        cycles.add_row(str(number), *seconds, f"{made.seconds:.2f}", *figures)
    yield cycles


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.cycles", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="manifests, as for simulate -f")
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--profile", choices=PHASES, default="", help="which functions cost most")
    parser.add_argument("--dearest", type=int, default=15, help="how many of them to print")
    given = parser.parse_args()
    for file in given.files:
        profiles = Profiles(given.profile)
        found = measure([*documents.read([file])], given.cycles, profiles)
        for table in _tables(file, found):
            Console(width=130).print(table)
        print(f"a loop of ten million additions took {_loop():.2f} s of CPU just then")
        if given.profile:
            print("\n".join(profiles.dearest(given.dearest)))
    return 0


def _loop() -> float:
    """Return the CPU of a loop, in seconds: what runs beside slows it down as it does cycles."""
    begun, found = time.process_time(), 0
    for each in range(10_000_000):
        found += each
    return time.process_time() - begun


if __name__ == "__main__":
    sys.exit(main())
