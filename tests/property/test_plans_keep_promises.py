"""Law: whatever a plan binds, nominates and evicts, it keeps what queues were promised and limit.

Judged in the end, with victims gone and nominated members charged. What was over a limit before may
stay, and nothing is added to it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given

from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Bind, Plan
from property.naive_queues import NaiveTree
from property.queue_worlds import Tree, World, a_crowd
from property.random_cases import SEEDS
from support.plan_reading import victims_of

Charges = Mapping[str, Mapping[str, int]]


@dataclass
class Given:
    """What a plan gives to one group."""

    group: GangGroup
    binds: list[Bind]


def given_by(world: World, plan: Plan) -> Iterator[Given]:
    """Yield what each group gets."""
    binds = [bind for each in plan.placed for bind in each.binds]
    binds += [bind for each in plan.preemptions for bind in each.nominations]
    for group in world.groups:
        names = {pod.name for gang in group.gangs for pod in gang.pending}
        own = [bind for bind in binds if bind.pod.name in names]
        if own:
            yield Given(group, own)


def flavors_are_honoured(world: World, each: Given) -> None:
    """Fail unless members are on nodes of the flavors that they are charged in, one for a class."""
    flavors = {flavor.name: flavor for flavor in world.flavors}
    labels = {node.name: node.labels for node in world.nodes}
    chosen = {(bind.pod.pod_class, bind.flavors) for bind in each.binds}
    assert len(chosen) == len({pod_class for pod_class, _ in chosen})
    of_queue = world.queue(each.group).resource_groups
    for bind in each.binds:
        for resource, name in bind.flavors:
            listed = [group.flavors for group in of_queue if resource in group.resources]
            assert not of_queue or any(name in names for names in listed)
            assert {*flavors[name].node_labels} <= {*labels[bind.node].items()}
            assert bind.pod.pod_class.tolerations or not flavors[name].node_taints


def charge(tree: Tree, binds: Sequence[Bind]) -> dict[str, int]:
    """Return what members are charged in the flavors that they say."""
    found: Counter[str] = Counter()
    for bind in binds:
        requests = dict(bind.pod.pod_class.requests)
        for resource, flavor in bind.flavors:
            found[f"{flavor}/{resource}"] += requests[resource]
    return {r: amount for r, amount in found.items() if r in tree.amounts.resources}


def without(world: World, tree: Tree, victims: set[str]) -> NaiveTree:
    """Return what is charged once victims are gone; they are charged in one flavor each."""
    amounts = tree.amounts
    for pod in world.bound:
        queue = world.held.get(pod.name, "")
        if pod.name in victims and queue in tree.queues:
            amounts = amounts.with_charge(queue, world.charged(pod, -1))
    return amounts


def promises_are_kept(before: NaiveTree, after: NaiveTree) -> None:
    """Fail if a plan went over a limit, borrowed too much, or lent what is guaranteed."""
    for r in after.resources:
        assert after.used(after.root(), r) <= max(
            after.n(after.root(), r), before.used(after.root(), r)
        )
        sound = all(before.avail(name, r) >= 0 for name in before.nodes)
        for name, node in after.nodes.items():
            limit, most = node.limit.get(r), node.borrowing.get(r)
            assert limit is None or after.total(name, r) <= max(limit, before.total(name, r))
            borrowed = before.borrowed(name, r)
            assert most is None or after.borrowed(name, r) <= max(most, borrowed)
            kept = max(0, after.g(name, r) - after.used(name, r))
            assert not sound or after.avail(name, r) >= kept


@given(seed=SEEDS)
def test_no_plan_breaks_what_was_promised(seed: int) -> None:
    world = a_crowd(seed)
    plan = world.plan()
    found, victims = [*given_by(world, plan)], victims_of(plan)

    new = Counter(world.queue(each.group).ref.name for each in found)
    for each in found:
        queue = world.queue(each.group)
        flavors_are_honoured(world, each)
        most = queue.limits.jobs
        assert most is None or world.jobs.get(queue.ref.name, 0) + new[queue.ref.name] <= most
        assert queue.stop is StopPolicy.NONE
        bound = Counter(bind.pod.gang for bind in each.binds)
        assert all(bound[gang.pending[0].gang] >= gang.min_member for gang in each.group.gangs)
    for tree in world.trees:
        before = after = without(world, tree, victims)
        for each in found:
            name = world.queue(each.group).ref.name
            if name in tree.queues:
                after = after.with_charge(name, charge(tree, each.binds))
        promises_are_kept(before, after)
