"""Law: where no queue is declared, gangs are decided as if there were no queues at all.

Without a queue object a snapshot has no queues, and a cycle decides one priority after the other.
The law is that this is no other schedule than that of queues which limit nothing: all gangs in the
one queue that is there without an object. Surplus is the exception: without queues that of a higher
priority comes before the quorums of a lower one, with queues after all quorums. So gangs are rigid,
or elastic and all of one priority. None may evict.
"""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import QueueSet, QueueState, QueueUsage
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.worlds import STRATEGIES, World, worlds
from support.thoroughness import cases

NO_LIMITS = QueueState(QueueSet(), QueueUsage())


def decided(plan: Plan, *, in_numbers: bool) -> Any:
    """Return what a plan decides, and why gangs wait; in numbers, how many members had room."""
    placed = [(each.gang.key, each.binds, each.together, each.borrows) for each in plan.placed]
    refused = {
        (each.gang.key, each.reason, each.left_over, in_numbers and each.misfit, each.cause)
        for each in plan.refused
    }
    return placed, refused


def compare(world: World, strategy: str, *, in_numbers: bool) -> None:
    """Fail unless queues without limits decide a world as no queues do."""
    snapshot, profile = world.snapshot(), PROFILES[strategy]

    without = schedule(snapshot, profile)
    within = schedule(replace(snapshot, queues=NO_LIMITS), profile)

    assert decided(without, in_numbers=in_numbers) == decided(within, in_numbers=in_numbers)


@settings(max_examples=cases(20, thorough=300))
@given(worlds(rigid=True), STRATEGIES)
def test_rigid_gangs(world: World, strategy: str) -> None:
    compare(world, strategy, in_numbers=True)


@settings(max_examples=cases(20, thorough=300))
@given(worlds(), STRATEGIES)
def test_gangs_of_one_priority(world: World, strategy: str) -> None:
    world = world.with_gangs(*(replace(each, priority=0) for each in world.gangs))

    # The numbers are those before surplus was placed, or after: not the same in both.
    compare(world, strategy, in_numbers=False)
