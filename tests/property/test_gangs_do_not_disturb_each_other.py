"""Law: what a gang gets depends on those before it, and on nothing else."""

from hypothesis import given

from gang_scheduler.model.plan import Placed, Plan
from property.worlds import STRATEGIES, World, worlds


@given(worlds(), STRATEGIES)
def test_gangs_of_lower_priority_change_nothing_for_higher_ones(
    world: World, strategy: str
) -> None:
    highest = max(each.priority for each in world.gangs)
    high = [each for each in world.gangs if each.priority == highest]

    alone, together = world.with_gangs(*high).plan(strategy), world.plan(strategy)

    assert alone.placed == together.placed[: len(alone.placed)]
    assert alone.refused == together.refused[: len(alone.refused)]


@given(worlds(rigid=True), STRATEGIES)
def test_a_refused_gang_changes_nothing_for_those_behind_it(world: World, strategy: str) -> None:
    plan = world.plan(strategy)
    refused = {each.gang.key for each in plan.refused}
    others = [each for each in world.gangs if each.key not in refused]

    assert plan.placed == world.with_gangs(*others).plan(strategy).placed


@given(worlds(classes=1, rigid=True), STRATEGIES)
def test_deciding_together_is_deciding_one_by_one(world: World, strategy: str) -> None:
    """The memory of what did not fit, which is kept for a cycle, is only a short cut."""
    ordered = sorted(world.gangs, key=lambda each: (-each.priority, each.created_at, each.uid))
    placed: list[Placed] = []
    now = world
    for each in ordered:
        decision: Plan = now.with_gangs(each).plan(strategy)
        placed += decision.placed
        now = now.after(decision)

    assert tuple(placed) == world.plan(strategy).placed
