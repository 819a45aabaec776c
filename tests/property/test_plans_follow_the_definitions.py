"""Law: with queues a plan is the one that the definitions give, decided again by a plain model.

So no gang waits without a cause, and none goes ahead without a right: turns are in order, quotas,
limits and guarantees are kept, flavors are the first that can be had, and each gang that waits says
the first reason that keeps it.
"""

from hypothesis import given

from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.quota.charges import Exact
from gang_scheduler.scheduler.quota.forest import Forest
from property.naive_turns import Fair, Judged, NaiveCycle
from property.queue_worlds import World, a_world
from property.random_cases import SEEDS
from support.plan_reading import nodes_of


def fair_shares(world: World) -> dict[str, Fair]:
    """Return the fair shares that another law looks at, by tree."""
    snapshot = world.snapshot()
    assert snapshot.queues is not None
    found = Forest(snapshot.queues, snapshot.nodes).fair_shares()
    shares: dict[str, Fair] = {}
    for tree in world.trees:
        of_tree: dict[str, dict[str, Exact]] = {r: {} for r in tree.amounts.resources}
        for name, queue in tree.queues.items():
            for (flavor, resource), amount in found[queue.ref].items():
                if f"{flavor}/{resource}" in of_tree:
                    of_tree[f"{flavor}/{resource}"][name] = amount
        shares[tree.amounts.root() + tree.product] = of_tree
    return shares


def decided(world: World, plan: Plan) -> NaiveCycle:
    """Return what the model decides, on the nodes of a plan."""
    cycle = NaiveCycle(world, nodes_of(plan), fair_shares(world))
    cycle.decide()
    return cycle


def compare(cycle: NaiveCycle, plan: Plan) -> None:
    """Fail unless a plan is what the model decides."""
    placed = {each.gang.key.name: each for each in plan.placed}
    order = list(dict.fromkeys(name.rpartition("-")[0] for name in placed))
    assert order == [each.group.gangs[0].key.name.rpartition("-")[0] for each in cycle.admitted]
    refused = {each.gang.key.name: each for each in plan.refused}
    for judged in cycle.judged:
        for gang in judged.group.gangs:
            name = gang.key.name
            why = refused.get(name)
            if judged.way is None:
                assert why is not None
                assert why.reason.value == judged.reason or _incomplete(judged, why.reason.value)
                continue
            assert len(placed[name].binds) == judged.bound[name]
            assert placed[name].borrows is judged.borrows
            for bind in placed[name].binds:
                assert dict(bind.flavors) == judged.way.choices[bind.pod.pod_class]
            assert (None if why is None else why.reason.value) == judged.left_over.get(name)


def _incomplete(judged: Judged, reason: str) -> bool:
    return judged.reason == "WaitingForMembers" and reason == "WaitingForGangs"


@given(seed=SEEDS)
def test_a_plan_is_the_one_of_the_definitions(seed: int) -> None:
    world = a_world(seed)
    plan = world.plan()

    compare(decided(world, plan), plan)
