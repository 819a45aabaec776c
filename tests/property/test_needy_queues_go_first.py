"""Law: a queue under its fair share with a head that fits never waits behind one above it.

Said of whole plans, and of siblings, which a tournament compares directly. Let the first gang that
waits in queue A be its head: all gangs before it were placed. Let sibling B have a gang placed
after those. Then, in the state just before that gang was charged,

- the head of A did not fit: it lacked quota, or room; or
- A with its head is not before B with that gang: by whether it borrows, then by its share.

What fits later fits earlier, so the head was there, untried, when B had its turn. The share is for
`FairShare` the largest part of its fair share that the queue has of what is asked, and for `DRF`
the largest part of what the tree is promised, by weight. So, where both borrow or neither does, no
queue goes first to above its fair share while one would stay within its own. Volcano's priority of
queues comes before all that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    Flavor,
    FlavorResource,
    Product,
    QueueSet,
    QueueState,
    ResourceGroup,
)
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.quota.charges import Exact
from gang_scheduler.scheduler.quota.forest import Forest
from property.naive_queues import NaiveTree, as_queues, ref_of
from property.random_cases import SEEDS, dice_of
from property.random_queues import a_charge, a_tree, fill, keyed, leaves
from support.builders import node, snapshot
from support.queue_worlds import decide, in_queue, usage_of

TRIED = {"WaitingForQuota", "Unschedulable"}
Fair = Mapping[str, Mapping[str, Exact]]


@dataclass
class Case:
    """A tree with gangs that wait in its leaves, each in the order of its queue; and one node."""

    tree: NaiveTree
    lines: dict[str, list[Gang]]
    room: dict[str, int]

    def snapshot(self, fairness: Fairness) -> Snapshot:
        """Return the case as the scheduler sees it."""
        groups = (ResourceGroup(self.tree.resources, (DEFAULT_FLAVOR,)),)
        queues = [
            replace(each, resource_groups=() if self.tree.children(each.ref.name) else groups)
            for each in as_queues(self.tree)
        ]
        flavors = (Flavor(Product.KUEUE, DEFAULT_FLAVOR),)
        declared = QueueSet(tuple(queues), flavors, {Product.KUEUE: fairness})
        waiting = [gang for line in self.lines.values() for gang in line]
        nodes = [node("n", cpu=f"{self.room['cpu']}m", memory=self.room["memory"])]
        charged = {ref_of(self.tree, n): keyed(each.charged) for n, each in self.tree.nodes.items()}
        state = QueueState(declared, replace(usage_of((), waiting), charged=charged))
        return replace(snapshot(nodes, waiting), queues=state)


def a_case(dice: Random) -> Case:
    """Return a case in which more or less is charged, within quota or not."""
    tree = fill(dice, a_tree(dice))
    lines: dict[str, list[Gang]] = {name: [] for name in leaves(tree)}
    for number in range(dice.randint(2, 9)):
        name = dice.choice(sorted(lines))
        asked = a_charge(dice, tree)
        gang = in_queue(
            ref_of(tree, name),
            f"g{number}",
            cpu=f"{asked['cpu']}m",
            memory=asked.get("memory", 0),
            priority=dice.randint(0, 1),
            created_at=number,
        )
        lines[name].append(gang)
    for line in lines.values():
        line.sort(key=lambda each: (-each.priority, each.created_at))
    return Case(tree, lines, {"cpu": dice.randint(4, 40), "memory": dice.choice((8, 60))})


def passed_over(case: Case, plan: Plan, fairness: Fairness, fair: Fair) -> Iterator[Any]:
    """Yield each gang that waited behind one of a sibling that it should have come before."""
    order = [each.gang.key.name for each in plan.placed]
    reasons = {each.gang.key.name: each.reason.value for each in plan.refused}
    queue_of = {gang.key.name: name for name, line in case.lines.items() for gang in line}
    tree, room = case.tree, dict(case.room)
    for place, gang in enumerate(each.gang for each in plan.placed):
        queue, asked = queue_of[gang.key.name], asked_by(gang, tree)
        for other in siblings(tree, queue):
            head = head_of(case.lines[other], reasons, order[:place])
            wanted = asked_by(head, tree) if head else {}
            fits = all(n <= min(tree.room(other, r), room[r]) for r, n in wanted.items() if n)
            own = tree.key(fairness, queue, queue, asked, fair)
            if head and fits and tree.key(fairness, other, other, wanted, fair) < own:
                yield head.key.name, gang.key.name
        tree = tree.with_charge(queue, asked)
        room = {r: free - asked.get(r, 0) for r, free in room.items()}


def head_of(line: list[Gang], reasons: Mapping[str, str], placed: list[str]) -> Gang | None:
    """Return the first gang that waits, if all before it are placed, or can never run."""
    for gang in line:
        reason = reasons.get(gang.key.name, "")
        if reason in TRIED:
            return gang
        if not reason and gang.key.name not in placed:
            return None
    return None


def asked_by(gang: Gang, tree: NaiveTree) -> dict[str, int]:
    """Return what a gang asks for, by resource."""
    requests = dict(gang.pending[0].pod_class.requests)
    return {r: requests.get(r, 0) for r in tree.resources}


def siblings(tree: NaiveTree, name: str) -> list[str]:
    """Return the other leaves below the same queue."""
    parent = tree.nodes[name].parent
    assert parent is not None
    return [each for each in tree.children(parent) if each != name and not tree.children(each)]


@pytest.mark.parametrize("fairness", [Fairness.FAIR_SHARE, Fairness.DRF])
@given(seed=SEEDS)
def test_no_needy_queue_with_a_head_that_fits_waits(fairness: Fairness, seed: int) -> None:
    case = a_case(dice_of(seed))
    world = case.snapshot(fairness)
    assert world.queues is not None
    shares = Forest(world.queues, world.nodes).fair_shares()
    tree, keys = case.tree, {r: FlavorResource(DEFAULT_FLAVOR, r) for r in case.tree.resources}
    fair = {
        r: {name: shares[ref_of(tree, name)][key] for name in tree.nodes} for r, key in keys.items()
    }

    assert not [*passed_over(case, decide(world), fairness, fair)]
