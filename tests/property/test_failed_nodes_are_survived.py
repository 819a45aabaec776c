"""Laws: what nodes that fail together take from a gang is replaced in its domain, and first."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import given

from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.random_cases import SEEDS, dice_of
from support.builders import gang, group, node, pod, snapshot
from support.plan_reading import nodes_of, victims_of

LAYERS = ("spine", "block", "rack")
TREE = TreeSpec(
    "network",
    (
        *(Layer(name, above, (name,)) for above, name in itertools.pairwise(("", *LAYERS))),
        Layer(NODE_LAYER, LAYERS[-1]),
    ),
)
Path = tuple[str, ...]


@dataclass(frozen=True)
class Broken:
    """A gang that runs, the nodes that fail under it, and what waits beside it.

    `where` is the node of each member that is left, by rank; `must` is how many layers deep the
    domain is that all must be in.
    """

    nodes: tuple[Node, ...]
    strangers: tuple[Pod, ...]
    size: int
    where: Mapping[int, str]
    must: int
    other: Gang

    @property
    def lost(self) -> list[int]:
        """The ranks that are to be replaced."""
        return [rank for rank in range(self.size) if rank not in self.where]

    def path(self, name: str) -> Path:
        """Return the domains of a node, from the top down to itself."""
        (found,) = [each for each in self.nodes if each.name == name]
        return (*(found.labels[layer] for layer in LAYERS), name)

    def free(self) -> Counter[str]:
        """Return the free places of the nodes that are ready."""
        free = Counter({each.name: _cpus(each) for each in self.nodes if each.ready})
        used = [each.node for each in self.strangers] + list(self.where.values())
        free.subtract(name for name in used if name in free)
        return free

    def gang(self) -> GangGroup:
        """Return the gang with a member in place of each lost one."""
        again = [replace(_member(rank), uid=f"new-{rank}") for rank in self.lost]
        bound = [replace(_member(rank), node=name) for rank, name in self.where.items()]
        one = gang(
            *("a",),
            members=again,
            bound_members=bound,
            satisfied=True,
            min_member=self.size,
            created_at=9,
        )
        return group(one, topology_request=_request(self.must))

    def snapshot(self, *others: Gang) -> Snapshot:
        """Return what the scheduler sees, with others that wait."""
        bound = [replace(_member(rank), node=name) for rank, name in self.where.items()]
        return snapshot(
            self.nodes, [self.gang(), *others], [*self.strangers, *bound], [TREE], taken_at=100
        )

    def plan(self, *others: Gang) -> Plan:
        """Return what the scheduler decides."""
        return schedule(self.snapshot(*others), PROFILES["binpack"])

    def replaced(self, plan: Plan) -> dict[int, str]:
        """Return the node of each rank that a plan replaces."""
        found = nodes_of(plan).items()
        return {int(name[2:]): where for name, where in found if name.startswith("a-")}


def _cpus(each: Node) -> int:
    return dict(each.allocatable)["cpu"] // 1000


def _member(rank: int) -> Pod:
    return replace(pod(f"a-{rank}", gang="a"), rank=(rank,))


def _request(must: int) -> TopologyRequest:
    return TopologyRequest(must=(LayerRef(LAYERS[must - 1]),) if must else ())


def a_failure(dice: Random) -> Broken | None:
    """Return a gang some of whose nodes have failed; None if it did not start, or lost all."""
    nodes = [
        node(
            f"n{number}",
            cpu=dice.randint(1, 2),
            labels={
                layer: f"{layer}{number // each}"
                for layer, each in zip(LAYERS, (8, 4, 2), strict=True)
            },
        )
        for number in range(16)
    ]
    size, must = dice.randint(2, 8), dice.randint(0, 2)
    whole = group(
        gang("a", members=[_member(rank) for rank in range(size)]), topology_request=_request(must)
    )
    placed = nodes_of(schedule(snapshot(nodes, [whole], (), [TREE]), PROFILES["binpack"]))
    where = {int(name[2:]): at for name, at in placed.items()}
    used = sorted(set(where.values()))
    if not where:
        return None
    failed = set(dice.sample(used, min(len(used), dice.randint(1, 4))))
    left = {rank: at for rank, at in where.items() if at not in failed}
    empty = [each.name for each in nodes if each.name not in used]
    taken = dice.sample(empty, dice.randint(0, len(empty)))
    strangers = tuple(pod(f"s-{at}", node=at, cpu=1) for at in taken)
    after = tuple(replace(each, ready=each.name not in failed) for each in nodes)
    other = gang("b", pods=dice.randint(1, 6), min_member=1, created_at=1)
    return Broken(after, strangers, size, left, must, other) if left else None


@given(SEEDS)
def test_replacements_are_in_the_domain_of_the_others_and_as_many_as_fit(seed: int) -> None:
    broken = a_failure(dice_of(seed))
    if broken is None:
        return
    found = broken.replaced(broken.plan())

    home = broken.path(next(iter(broken.where.values())))[: broken.must]
    room = {at: n for at, n in broken.free().items() if broken.path(at)[: broken.must] == home}
    assert all(number <= room[at] for at, number in Counter(found.values()).items())
    assert min(len(broken.lost), sum(room.values())) == len(found)


@given(SEEDS)
def test_other_members_stay_and_other_gangs_change_nothing(seed: int) -> None:
    broken = a_failure(dice_of(seed))
    if broken is None:
        return
    beside = broken.plan(broken.other)

    assert set() == victims_of(beside)
    assert broken.replaced(broken.plan()) == broken.replaced(beside)
    assert broken.lost or not broken.replaced(beside)


@given(SEEDS)
def test_replacements_are_nearest_to_their_neighbours_in_rank(seed: int) -> None:
    broken = a_failure(dice_of(seed))
    if broken is None or not broken.must:
        return
    found = broken.replaced(broken.plan())
    if len(found) < len(broken.lost):
        return
    home = broken.path(next(iter(broken.where.values())))[: broken.must]
    free = +Counter(
        {at: n for at, n in broken.free().items() if broken.path(at)[: broken.must] == home}
    )
    placed = dict(broken.where)
    for stretch in _stretches(broken.lost):
        mates = _neighbours(placed, stretch)
        keys = {at: _nearness(broken, at, mates) for at in free}
        best = sorted((keys[at] for at in free.elements()), reverse=True)[: len(stretch)]
        chosen = [found[rank] for rank in stretch]
        assert best == sorted((keys[at] for at in chosen), reverse=True)
        free.subtract(chosen)
        free = +free
        placed |= {rank: found[rank] for rank in stretch}


def _stretches(lost: Sequence[int]) -> list[list[int]]:
    """Return runs of ranks that follow each other."""
    numbered = itertools.groupby(enumerate(lost), key=lambda each: each[1] - each[0])
    return [[rank for _, rank in run] for _, run in numbered]


def _neighbours(placed: Mapping[int, str], stretch: Sequence[int]) -> list[str]:
    """Return the nodes of the next members before and after a stretch."""
    before = sorted(rank for rank in placed if rank < stretch[0])
    after = sorted(rank for rank in placed if rank > stretch[-1])
    ranks = [*before[-1:], *after[:1]]
    return [placed[rank] for rank in ranks]


def _nearness(broken: Broken, at: str, mates: Sequence[str]) -> tuple[int, int]:
    """Return how many domains a node shares with the nearest neighbour, and with the farthest."""
    shared = [_shared(broken.path(at), broken.path(mate)) for mate in mates]
    return max(shared, default=0), min(shared, default=0)


def _shared(one: Path, other: Path) -> int:
    """Return how many domains two nodes share."""
    pairs = zip(one, other, strict=True)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
