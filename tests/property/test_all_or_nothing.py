"""Law: a gang gets its quorum at once, or nothing."""

from collections import Counter

from hypothesis import given

from property.worlds import STRATEGIES, World, at_once, verdicts, worlds


@given(worlds(), STRATEGIES)
def test_a_gang_gets_its_quorum_or_nothing(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    for placed in plan.placed:
        assert at_once(placed.gang) <= len(placed.binds)


@given(worlds(), STRATEGIES)
def test_every_gang_is_either_placed_or_refused(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    assert sorted(each.key for each in world.gangs) == verdicts(plan)


@given(worlds(), STRATEGIES)
def test_every_waiting_pod_is_bound_or_refused_once(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    bound = Counter(bind.pod.uid for each in plan.placed for bind in each.binds)
    refused = Counter(pod.uid for each in plan.refused for pod in each.pods)
    assert Counter(pod.uid for each in world.gangs for pod in each.pending) == bound + refused


@given(worlds(), STRATEGIES)
def test_binds_of_a_gang_are_in_rank_order(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    for placed in plan.placed:
        ranks = [placed.gang.pending.index(bind.pod) for bind in placed.binds]
        assert sorted(ranks) == ranks
