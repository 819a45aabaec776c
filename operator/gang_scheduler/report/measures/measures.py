"""All measures, joined, and shown now and then: a scrape then costs nothing but to write them."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

from gang_scheduler.apply.binding.gang_binding import GangBinding
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.plan import Plan, Preemption
from gang_scheduler.report.measures.cluster import ClusterGauges
from gang_scheduler.report.measures.decisions import Decisions
from gang_scheduler.report.measures.followed import FollowedGangs
from gang_scheduler.state.cache import Cache

LEAST_SECONDS: Final = 2.0
MOST_SECONDS: Final = 30.0
LARGEST_PART: Final = 0.01
"""No more than this part of the time is spent on gauges, however many gangs there are."""


class Measures:
    """What is counted of gangs and of the cluster, while this replica schedules."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self.gangs = FollowedGangs(cache, clock)
        self._decisions = Decisions(cache, clock)
        self._cluster = ClusterGauges(cache)

    async def run(self) -> None:
        """Show what has changed, until cancelled."""
        while True:
            seconds = 0.0
            with confined("measure", "gangs and nodes"):
                steps = self._show()
                while (took := _one(steps)) is not None:
                    seconds += took
                    await asyncio.sleep(0)
            await asyncio.sleep(min(max(LEAST_SECONDS, seconds / LARGEST_PART), MOST_SECONDS))

    def show(self) -> None:
        """Show how gangs and nodes are now."""
        for _ in self._show():
            pass

    def _show(self) -> Iterator[None]:
        yield from self.gangs.look()
        self.gangs.show()
        yield
        self._cluster.show(self.gangs.asked())
        yield

    def planned(self, plan: Plan) -> None:
        """Count the refusals of a cycle."""
        with confined("measure", "refusals"):
            self._decisions.refused(plan.refused)

    def bound(self, binding: GangBinding) -> None:
        """Count what came of the bindings of a gang, before the state has taken it in."""
        self._decisions.bound(binding)

    def preempted(self, preemption: Preemption) -> None:
        """Count the gangs that lose members: they are evicted now."""
        self.gangs.evicted({victim.gang for victim in preemption.victims})
        self._decisions.preempted(preemption)

    def lost(self, preemption: Preemption) -> None:
        """Count the members of a gang that is evicted whole for its own sake."""
        self.gangs.evicted({victim.gang for victim in preemption.victims})
        self._decisions.lost(preemption)


def _one(steps: Iterator[None]) -> float | None:
    """Take one step; return how much CPU time it took, in seconds, None if there was none left."""
    started = time.thread_time()
    try:
        next(steps)
    except StopIteration:
        return None
    return time.thread_time() - started
