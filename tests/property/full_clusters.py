"""Random small clusters that are full, and a gang that others must leave room for.

Everything follows from a seed, as in `property.random_cases`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import Gang, Role
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan, Preemption
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import PreemptionRules, Rules
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.brute_force import Instance, Path
from property.evictions import Cost, Judge
from support.builders import bound_pod, gang, gang_key, group, node, pod, pod_class, snapshot

NOW = 10_000
TREE_SPEC = TreeSpec("network", (Layer("rack", "", ("rack",)), Layer(NODE_LAYER, "rack")))
PRIORITIES = (1, 1, 2, 5, 9, 10, 11)
MOST_UNITS = 16
"""Of what can be lost, as gangs and single pods: with more, nothing exact is promised."""


@dataclass(frozen=True)
class Contest:
    """A gang of priority 10, and the pods on nodes. The gang may have to gather in one rack."""

    nodes: tuple[Node, ...]
    bound_pods: BoundPods
    members: tuple[Pod, ...]
    minimum: int
    gathers: bool = False
    least_difference: int = 1
    roles: tuple[Role, ...] = ()

    @property
    def gang(self) -> Gang:
        """The gang that does not fit."""
        found = gang("a", members=self.members, min_member=self.minimum, priority=10)
        return replace(found, roles=self.roles)

    @property
    def quorum(self) -> list[Pod]:
        """The first members: of each role, if there are roles."""
        if not self.roles:
            return [*self.members[: self.minimum]]
        of_each = [
            [pod for pod in self.members if pod.role == role.name][: role.min_member]
            for role in self.roles
        ]
        return [pod for some in of_each for pod in some]

    def snapshot(self) -> Snapshot:
        """Return the case as the scheduler sees it."""
        asked = TopologyRequest(must=(LayerRef("rack"),)) if self.gathers else None
        wanted = group(self.gang, topology_request=asked)
        every = self.bound_pods.pods
        staying = tuple(each for each in every if not each.pod.deleting)
        late = [each.pod for each in every if each.pod.deleting and 0 < each.pod.gone_by < NOW - 30]
        leaving = tuple(each for each in every if each.pod.deleting and each.pod not in late)
        shown = replace(self.bound_pods, pods=staying, leaving=leaving)
        return snapshot(
            self.nodes, [wanted], tree_specs=[TREE_SPEC], bound=late, bound_pods=shown, taken_at=NOW
        )

    @cached_property
    def plan(self) -> Plan:
        """What the scheduler decides."""
        rules = PreemptionRules(min_priority_difference=self.least_difference)
        return schedule(
            self.snapshot(), replace(PROFILES["binpack"], rules=Rules(preemption=rules))
        )

    @property
    def made(self) -> Preemption | None:
        """The preemption, if there is one."""
        return next(iter(self.plan.preemptions), None)

    @cached_property
    def judge(self) -> Judge:
        """The judge, which knows every set of victims."""
        return Judge(self.bound_pods, 10 - self.least_difference, NOW)

    def cheapest(self) -> Cost | None:
        """Return the least that the room for the gang costs; None if there cannot be any."""
        return next((cost for cost, gone in self.judge.ways() if self.fits_without(gone)), None)

    def fits_without(self, victims: Sequence[BoundPod]) -> bool:
        """Return whether there is a place for the quorum once these have gone too."""
        gone = {each.pod.uid for each in victims}
        left = [each.pod for each in self.judge.staying if each.pod.uid not in gone]
        return self._fits_beside(left)

    def fits_now(self) -> bool:
        """Return whether there is a place for the quorum beside all that are there."""
        return self._fits_beside([each.pod for each in self.bound_pods.pods])

    def _fits_beside(self, others: Sequence[Pod]) -> bool:
        quorum = [each.pod_class for each in self.quorum]
        asks = list(dict.fromkeys(quorum))
        instance = Instance(
            free=tuple((_path(each), _free(each, others)) for each in self.nodes),
            requests=tuple(each.requests for each in asks),
            counts=tuple(quorum.count(each) for each in asks),
        )
        domains = instance.domains(1) if self.gathers else [()]
        return any(instance.fits(each) for each in domains)


def rigid(dice: Random) -> Contest:
    """Return a gang of equal members, and bound pods that are gangs of one or rigid."""
    return _contest(dice, elastic=False)


def elastic(dice: Random) -> Contest:
    """Return a gang of equal members, with surplus, and bound pods some of which are elastic."""
    contest = _contest(dice, elastic=True)
    return replace(contest, minimum=dice.randint(1, len(contest.members)))


def guarded(dice: Random) -> Contest:
    """Return a case with budgets, protected pods, and some that are marked or leave already."""
    contest = _contest(dice, elastic=dice.randint(0, 1) == 1)
    allowed = {name: dice.randint(0, 2) for name in dice.choice([(), ("x",), ("x", "y")])}
    marks = dice.choice([1, 1, 6])
    found = tuple(_guarded(dice, each, allowed, marks) for each in contest.bound_pods.pods)
    return replace(contest, bound_pods=replace(contest.bound_pods, pods=found, allowed=allowed))


def mixed(dice: Random) -> Contest:
    """Return a gang of two classes, which mostly gathers: some members ask for a GPU, too."""
    gathers = dice.randint(0, 3) > 0
    contest = replace(_contest(dice, elastic=dice.randint(0, 1) == 1), gathers=gathers)
    asks = [contest.members[0].pod_class, pod_class(cpu=1, gpu=1)]
    members = tuple(replace(each, pod_class=dice.choice(asks)) for each in contest.members)
    return replace(contest, members=members)


def of_jobs(dice: Random) -> Contest:
    """Return a case in which evictions could end some Jobs for good: whole gangs, or some pods."""
    contest = dice.choice([rigid, elastic, guarded])(dice)
    gangs = sorted({each.gang for each in contest.bound_pods.pods})
    among = {gang for gang in gangs if dice.randint(0, 1)}
    each_pod = dice.randint(0, 3) == 0
    found = tuple(
        replace(each, unprotected=each.gang in among and not (each_pod and dice.randint(0, 1)))
        for each in contest.bound_pods.pods
    )
    return replace(contest, bound_pods=replace(contest.bound_pods, pods=found))


def of_roles(dice: Random) -> Contest:
    """Return a case in which the gang has roles, and so have most elastic gangs on the nodes.

    Members of one role are alike.
    """
    contest = dice.choice([elastic, guarded, mixed, of_jobs])(dice)
    asks = {role: dice.choice(contest.members).pod_class for role in "mw"}
    drawn = sorted(dice.choice("mw") for _ in contest.members)
    members = [
        replace(each, role=role, pod_class=asks[role])
        for each, role in zip(contest.members, drawn, strict=True)
    ]
    sizes = Counter(each.role for each in members)
    roles = tuple(Role(name, dice.randint(1, sizes[name])) for name in "mw" if sizes[name])
    return replace(
        contest,
        members=tuple(members),
        minimum=sum(each.min_member for each in roles),
        roles=roles,
        bound_pods=_in_roles(dice, contest.bound_pods),
    )


def _in_roles(dice: Random, bound_pods: BoundPods) -> BoundPods:
    pods = tuple(
        replace(each, pod=replace(each.pod, role=dice.choice("mmw"))) for each in bound_pods.pods
    )
    among = {gang for gang in bound_pods.surplus if dice.randint(0, 3)}
    by_role = {}
    for key in among:
        sizes = Counter(each.pod.role for each in pods if each.gang == key)
        spare = {role: dice.randint(0, number) for role, number in sizes.items()}
        if sum(spare.values()) < sum(sizes.values()):
            by_role[key] = spare
    surplus = {key: number for key, number in bound_pods.surplus.items() if key not in by_role}
    return replace(bound_pods, pods=pods, surplus=surplus, surplus_by_role=by_role)


Kind = Callable[[Random], Contest]
KINDS: tuple[Kind, ...] = (rigid, elastic, guarded, mixed, of_jobs, of_roles)


def _contest(dice: Random, *, elastic: bool) -> Contest:
    several = tuple(_node(dice, i) for i in range(dice.randint(1, 8)))
    names = [f"g{i}" for i in range(dice.randint(1, 5))]
    priorities = {name: dice.choice(PRIORITIES) for name in names}
    found: list[BoundPod] = []
    for each in several:
        found += _fill(dice, each, names, priorities, len(found))
    surplus = {}
    if elastic:
        surplus = {gang_key(name): dice.randint(0, 2) for name in names if dice.randint(0, 1)}
    asked = pod_class(cpu=dice.choice([1, 1, 2, 3]))
    members = _members(asked, dice.randint(1, dice.choice([2, 4, 8])))
    return Contest(
        several,
        BoundPods(tuple(found), _sound(surplus, found)),
        members,
        len(members),
        gathers=dice.randint(0, 1) == 1,
        least_difference=dice.choice([1, 1, 1, 5]),
    )


def _node(dice: Random, number: int) -> Node:
    labels = {"rack": dice.choice(["r1", "r2", "r10"])}
    return node(f"n{number}", cpu=dice.randint(1, 4), gpu=dice.choice([0, 1, 2]), labels=labels)


def _fill(
    dice: Random, where: Node, names: list[str], priorities: dict[str, int], number: int
) -> list[BoundPod]:
    """Return bound pods that take most of a node."""
    left = dict(where.allocatable)["cpu"] // 1000
    gpus = dict(where.allocatable).get("nvidia.com/gpu", 0)
    found: list[BoundPod] = []
    while left and dice.randint(0, 9):
        cpu, gpu = dice.randint(1, min(left, 3)), dice.randint(0, gpus)
        left, gpus = left - cpu, gpus - gpu
        name = dice.choice([*names, *names, ""])
        priority = priorities.get(name, dice.choice(PRIORITIES))
        found.append(
            bound_pod(
                f"{name or 'single'}-{number + len(found)}",
                where.name,
                gang=name,
                cpu=cpu,
                gpu=gpu,
                priority=priority if dice.randint(0, 9) else dice.choice(PRIORITIES),
                started_at=dice.choice([0, NOW - 1, NOW - dice.randint(1, 500)]),
            )
        )
    return found


def _sound(surplus: Mapping[GangKey, int], found: Sequence[BoundPod]) -> dict[GangKey, int]:
    """Return the surplus of gangs that have so many members, while the units are few enough."""
    sizes = Counter(each.gang for each in found)
    units = len(sizes)
    kept = {}
    for key, number in surplus.items():
        if 0 < number < sizes[key] and units + sizes[key] <= MOST_UNITS:
            units += sizes[key]
            kept[key] = number
    return kept


def _guarded(dice: Random, each: BoundPod, allowed: Iterable[str], marks: int) -> BoundPod:
    budgets = tuple(name for name in allowed if dice.randint(0, 2) == 0)
    what = dice.choice(["marked"] * marks + ["leaving", "leaving", "protected"] + [""] * 16)
    held = replace(each.pod, marked_as_victim=what == "marked", deleting=what == "leaving")
    if held.deleting:
        held = replace(held, gone_by=dice.choice([0, NOW + 5, NOW - 20, NOW - 31]))
    return replace(each, pod=held, budgets=budgets, evictable=what != "protected")


def _members(asked: PodClass, number: int) -> tuple[Pod, ...]:
    return tuple(
        replace(pod(f"a-{i}", gang="a", priority=10), pod_class=asked) for i in range(number)
    )


def _path(each: Node) -> Path:
    return each.labels["rack"], each.name


def _free(where: Node, others: Sequence[Pod]) -> tuple[tuple[str, int], ...]:
    left = dict(where.allocatable)
    for each in others:
        if each.node == where.name:
            for name, amount in each.pod_class.requests:
                left[name] = left.get(name, 0) - amount
    return tuple(sorted(left.items()))
