"""A cycle with queues decided again, from the definitions: whose turn it is, and what comes of it.

Shares nothing with the scheduler but the classes of `model`. It looks at all heads before each
turn, and reckons every figure from what is charged. On which nodes members go is not decided here:
the plan says it, and the room that is left follows. No gang evicts any pod.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple

from gang_scheduler.model.api_words import EvictionPolicy, Fairness, StopPolicy, Strategy
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import Product, Queue, ResourceGroup
from property.naive_queues import NaiveTree
from property.queue_worlds import NOW, Tree, World

Asked = Mapping[str, int]
Choice = Mapping[str, str]
"""The flavor of each resource."""
Fair = Mapping[str, Mapping[str, int | Fraction]]
"""The fair share of each queue, by what it is of."""
BLOCKS: Final = {"Unschedulable", "JobLimitReached", "WaitingForQuota"}


class Way(NamedTuple):
    """One way to give flavors to a group: the choice of each class, and what the quorum charges."""

    choices: Mapping[PodClass, Choice]
    asked: Asked


@dataclass(eq=False)
class Judged:
    """What is decided for one group."""

    group: GangGroup
    queue: Queue
    ways: list[Way]
    way: Way | None = None
    reason: str = ""
    left_over: dict[str, str] = field(default_factory=dict)
    """Why surplus waits, by the name of the gang."""
    bound: Counter[str] = field(default_factory=Counter)
    """How many members of each gang are bound."""
    borrows: bool = False


class NaiveCycle:
    """Decides a world. `nodes_of` are the nodes by pod that a plan has, `fair` the fair shares."""

    def __init__(self, world: World, nodes_of: Mapping[str, str], fair: Mapping[str, Fair]) -> None:
        self.world = world
        self.nodes_of = nodes_of
        self.fair = fair
        self.jobs = Counter(world.jobs)
        self.admitted: list[Judged] = []
        self.free = {node.name: dict(node.allocatable) for node in world.nodes}
        for pod in world.bound:
            self._take(pod, pod.node)
        # What is charged, and the same with what owners keep.
        self.plain = {id(tree): tree.amounts for tree in world.trees}
        self.kept = {id(tree): tree.amounts for tree in world.trees}
        self.judged = [self._judged(group) for group in world.groups]
        self.lines = self._lines()
        self.blocked: set[str] = set()

    # The groups.

    def _judged(self, group: GangGroup) -> Judged:
        """Return a group with the reason that it can never run now, if there is one."""
        queue = self.world.queue(group)
        judged = Judged(group, queue, [])
        if any(len(gang.pending) < gang.min_member for gang in group.gangs):
            judged.reason = "WaitingForMembers"
        elif queue.stop is not StopPolicy.NONE:
            judged.reason = "QueueStopped"
        elif not _in_range(queue, group):
            judged.reason = "AdmissionDenied"
        else:
            judged.reason = self._find_ways(judged)
        return judged

    def _find_ways(self, judged: Judged) -> str:
        tree, queue = self.world.tree_of(judged.queue.ref.name), judged.queue
        groups = _resource_groups(tree, queue)
        counted = Counter(pod.pod_class for pod in quorum_of(judged.group))
        choices = {asked: list(self._choices(groups, asked)) for asked in counted}
        if not all(choices.values()):
            return "AdmissionDenied"
        if any(_uncovered(queue, groups, asked) for asked in counted):
            return "QuotaExceeded"
        every = {pod.pod_class for gang in judged.group.gangs for pod in gang.pending}
        spare = {asked: next(self._choices(groups, asked), None) for asked in every - {*counted}}
        empty = tree.amounts.emptied()
        for chosen in itertools.product(*choices.values()):
            by_class = dict(zip(choices, chosen, strict=True))
            asked = _charge(by_class, counted)
            if all(amount <= empty.room(queue.ref.name, r) for r, amount in asked.items()):
                more = {key: choice for key, choice in spare.items() if choice is not None}
                judged.ways.append(Way({**more, **by_class}, asked))
        return "" if judged.ways else "QuotaExceeded"

    def _choices(self, groups: Sequence[ResourceGroup], asks: PodClass) -> Iterator[Choice]:
        of_groups = []
        for group in groups:
            resources = [r for r in group.resources if dict(asks.requests).get(r)]
            if resources:
                suited = [name for name in group.flavors if self._suits(name, group, asks)]
                of_groups.append([dict.fromkeys(resources, name) for name in suited])
        for parts in itertools.product(*of_groups):
            choice = {r: name for part in parts for r, name in part.items()}
            labels = self._labels(choice)
            if len({key for key, _ in labels}) == len(labels):
                yield choice

    def _labels(self, choice: Choice) -> set[tuple[str, str]]:
        """Return the labels that a node of all flavors has."""
        flavors = {each.name: each for each in self.world.flavors}
        return {pair for name in choice.values() for pair in flavors[name].node_labels}

    def _suits(self, name: str, group: ResourceGroup, asks: PodClass) -> bool:
        flavors = {each.name: each for each in self.world.flavors}
        keys = {key for each in group.flavors for key, _ in flavors[each].node_labels}
        labels = dict(flavors[name].node_labels)
        selected = all(labels.get(k) == v for k, v in asks.node_selector if k in keys)
        return selected and (bool(asks.tolerations) or not flavors[name].node_taints)

    def _lines(self) -> dict[str, list[Judged]]:
        """Return the groups of each queue that can be tried, in order."""
        lines: dict[str, list[Judged]] = {}
        for judged in sorted(self.judged, key=_in_line):
            if not judged.reason:
                lines.setdefault(judged.queue.ref.name, []).append(judged)
        return lines

    # The turns.

    def decide(self) -> None:
        """Take all turns, then place the surplus."""
        while (judged := self._next()) is not None:
            self.lines[judged.queue.ref.name].remove(judged)
            self._try(judged)
            self._after(judged)
        for judged in self.admitted:
            for gang in judged.group.gangs:
                self._grow(judged, gang.key.name, gang.pending[gang.min_member :])

    def _after(self, judged: Judged) -> None:
        """Let the rest of a queue wait that keeps its order."""
        name = judged.queue.ref.name
        blocks = judged.reason in BLOCKS and self._would_fit_empty(judged)
        if judged.queue.strategy is Strategy.STRICT_FIFO and blocks:
            for each in self.lines.pop(name):
                each.reason = "WaitingForTurn"

    def _would_fit_empty(self, judged: Judged) -> bool:
        """Return whether a group has room in some way once nothing else runs."""
        free, self.free = (
            self.free,
            {each.name: dict(each.allocatable) for each in self.world.nodes},
        )
        quorum = quorum_of(judged.group)
        found = any(self._has_room(way, quorum) for way in judged.ways)
        self.free = free
        return found

    def _try(self, judged: Judged) -> None:
        name, most = judged.queue.ref.name, judged.queue.limits.jobs
        paid = [way for way in judged.ways if self.fits(name, way.asked)]
        if most is not None and self.jobs[name] >= most:
            judged.reason = "JobLimitReached"
        elif not paid:
            judged.reason = "WaitingForQuota"
            self._keep(judged)
        elif (way := self._best(judged, paid)) is None:
            judged.reason = "Unschedulable"
        else:
            self._admit(judged, way)

    def _best(self, judged: Judged, paid: Iterable[Way]) -> Way | None:
        """Return the first way with room, the ones without borrowing first if it is so said."""
        name, quorum = judged.queue.ref.name, quorum_of(judged.group)
        housed = [way for way in paid if self._has_room(way, quorum)]
        if not judged.queue.fungibility.stop_when_borrowing:
            housed.sort(key=lambda way: self.borrows(name, way.asked))
        return next(iter(housed), None)

    def _admit(self, judged: Judged, way: Way) -> None:
        name = judged.queue.ref.name
        judged.way, judged.borrows = way, self.borrows(name, way.asked)
        self.admitted.append(judged)
        self.jobs[name] += 1
        self._charge(name, way.asked)
        for gang in judged.group.gangs:
            judged.bound[gang.key.name] += gang.min_member
        for pod in quorum_of(judged.group):
            self._take(pod, self.nodes_of.get(pod.name, ""))

    def _grow(self, judged: Judged, name: str, rest: Sequence[Pod]) -> None:
        """Place surplus of one gang: as many as there is quota for, then as many as have room."""
        assert judged.way is not None
        queue, choices = judged.queue.ref.name, judged.way.choices
        paid: list[Pod] = []
        short: set[PodClass] = set()
        for pod in rest:
            counted = Counter(each.pod_class for each in [*paid, pod])
            asked = _charge(choices, counted)
            known = pod.pod_class in choices and pod.pod_class not in short
            if known and self.fits(queue, asked):
                paid.append(pod)
            else:
                short.add(pod.pod_class)
        housed = paid
        while housed and not self._has_room(judged.way, housed):
            housed = housed[:-1]
        if len(housed) < len(rest):
            judged.left_over[name] = (
                "Unschedulable" if len(housed) < len(paid) else "WaitingForQuota"
            )
        judged.bound[name] += len(housed)
        self._charge(queue, _charge(choices, Counter(each.pod_class for each in housed)))
        for pod in housed:
            self._take(pod, self.nodes_of.get(pod.name, ""))

    # Whose turn it is.

    def _next(self) -> Judged | None:
        found = []
        for place, tree in enumerate(self.world.trees):
            heads = {name: self.lines[name][0] for name in tree.queues if self.lines.get(name)}
            if heads:
                leaf = self._winner(tree, heads)
                head = heads[leaf]
                borrows = self.borrows(leaf, self._compared(head))
                found.append(((borrows, *_last_keys(head)[:2], place), head))
        return min(found, key=lambda each: each[0])[1] if found else None

    def _compared(self, head: Judged) -> Asked:
        """Return what a head would be charged: by the way that it would take now, as to quota."""
        name = head.queue.ref.name
        fitting = [way.asked for way in head.ways if self.fits(name, way.asked)]
        if not head.queue.fungibility.stop_when_borrowing:
            fitting.sort(key=lambda asked: self.borrows(name, asked))
        return next(iter(fitting), head.ways[0].asked)

    def _winner(self, tree: Tree, heads: Mapping[str, Judged]) -> str:
        if tree.fairness is Fairness.PRIORITY:
            return min(heads, key=lambda leaf: self._line_key(tree, leaf, heads[leaf]))
        leaf = self._winner_below(tree, heads, tree.amounts.root())
        assert leaf is not None
        return leaf

    def _line_key(self, tree: Tree, leaf: str, head: Judged) -> Any:
        asked = governed(tree, self._compared(head))
        return (self.plain[id(tree)].levels(leaf, asked), *_last_keys(head))

    def _winner_below(self, tree: Tree, heads: Mapping[str, Judged], at: str) -> str | None:
        if at in heads:
            return at
        below = tree.amounts.children(at)
        found = ((child, self._winner_below(tree, heads, child)) for child in below)
        keyed = [
            (self._key(tree, child, heads[leaf]), leaf) for child, leaf in found if leaf is not None
        ]
        return min(keyed)[1] if keyed else None

    def _key(self, tree: Tree, at: str, head: Judged) -> Any:
        asked = governed(tree, self._compared(head))
        now = self.plain[id(tree)]
        after = now.with_charge(head.queue.ref.name, asked)
        borrows = any(after.borrowed(at, r) > 0 for r in asked)
        fair = self.fair.get(tree.amounts.root() + tree.product, {})
        share = share_of(tree.fairness, after, at, asked, fair)
        order = -tree.queues[at].order if tree.fairness is Fairness.FAIR_SHARE else 0
        return (order, borrows, share, *_last_keys(head))

    # Quota and room.

    def fits(self, name: str, asked: Asked) -> bool:
        """Return whether a request has quota, beside what owners keep if it borrows."""
        tree = self.world.tree_of(name)
        trees = [self.plain[id(tree)]]
        if self.borrows(name, asked):
            trees.append(self.kept[id(tree)])
        wanted = governed(tree, asked)
        return all(amount <= each.room(name, r) for each in trees for r, amount in wanted.items())

    def borrows(self, name: str, asked: Asked) -> bool:
        """Return whether a leaf is above its nominal with a request."""
        tree = self.world.tree_of(name)
        after = self.plain[id(tree)].with_charge(name, asked)
        return any(after.borrowed(name, r) > 0 for r in governed(tree, asked))

    def _charge(self, name: str, asked: Asked) -> None:
        key = id(self.world.tree_of(name))
        self.plain[key] = self.plain[key].with_charge(name, asked)
        self.kept[key] = self.kept[key].with_charge(name, asked)

    def _keep(self, judged: Judged) -> None:
        """Let an owner that may not reclaim from all keep what is free of its nominal."""
        if judged.queue.evictions.reclaim is EvictionPolicy.ANY:
            return
        name = judged.queue.ref.name
        tree = self.world.tree_of(name)
        kept = self.kept[id(tree)]
        for way in judged.ways:
            asked = governed(tree, way.asked)
            if all(amount <= kept.n(name, r) for r, amount in asked.items()):
                free = {r: max(0, kept.n(name, r) - kept.used(name, r)) for r in asked}
                more = {r: min(amount, free[r]) for r, amount in asked.items()}
                self.kept[id(tree)] = kept.with_charge(name, more)
                return

    def _has_room(self, way: Way, pods: Sequence[Pod]) -> bool:
        """Return whether pods of one class have room; for several there is plenty, or none."""
        counted = Counter(pod.pod_class for pod in pods)
        return all(number <= self._seats(way, asks) for asks, number in counted.items())

    def _seats(self, way: Way, asks: PodClass) -> int:
        labels = self._labels(way.choices[asks])
        seats = 0
        for node in self.world.nodes:
            there = {*labels, *asks.node_selector} <= {*node.labels.items()}
            hard = bool(node.taints) and not asks.tolerations
            if there and node.ready and not node.unschedulable and not hard:
                free = self.free[node.name]
                seats += max(0, min(free.get(r, 0) // n for r, n in asks.requests if n))
        return seats

    def _take(self, pod: Pod, node: str) -> None:
        for r, amount in pod.pod_class.requests if node else ():
            self.free[node][r] = self.free[node].get(r, 0) - amount


def quorum_of(group: GangGroup) -> list[Pod]:
    """Return the members that must start together."""
    return [pod for gang in group.gangs for pod in gang.pending[: gang.min_member]]


def governed(tree: Tree, asked: Asked) -> dict[str, int]:
    """Return what of a request the tree has numbers for."""
    return {r: amount for r, amount in asked.items() if amount and r in tree.amounts.resources}


def share_of(fairness: Fairness, after: NaiveTree, at: str, asked: Asked, fair: Fair) -> Any:
    """Return the share of a queue with its head charged: whether it is infinite, and the number."""
    weight, parent = after.nodes[at].weight, after.nodes[at].parent
    parts = [(0, Fraction(0))]
    if fairness is Fairness.FAIR_SHARE:
        return max([*parts, *(_part(after.total(at, r), fair[r][at], 1) for r in asked)])
    of_resource: dict[str, list[str]] = {}
    for r in after.resources:
        of_resource.setdefault(r.split("/")[1], []).append(r)
    if fairness is Fairness.DRF:
        for name in {r.split("/")[1] for r in asked}:
            whole = sum(after.c(after.root(), r) for r in of_resource[name])
            parts.append(_part(sum(after.total(at, r) for r in of_resource[name]), whole, weight))
        return max(parts)
    assert parent is not None
    for keys in of_resource.values():
        lendable = sum(after.emptied().room(parent, r) for r in keys)
        if lendable > 0:
            parts.append(_part(sum(after.borrowed(at, r) for r in keys), lendable, weight))
    return max(parts)


def _part(amount: int, whole: int | Fraction, weight: int) -> tuple[int, Fraction]:
    if amount <= 0:
        return (0, Fraction(0))
    if whole <= 0:
        return (1, Fraction(amount))
    return (0, Fraction(amount, whole * weight)) if weight else (1, Fraction(amount, whole))


def _last_keys(head: Judged) -> tuple[int, float, str]:
    return (-effective(head), head.group.created_at, head.queue.ref.name)


def effective(judged: Judged) -> int:
    """Return the priority of a group, with what waiting adds."""
    aging = judged.queue.aging
    waited = NOW - judged.group.created_at
    added = int((aging.per_hour or 0) * waited // 3600)
    return judged.group.priority + min(added, 1000 if aging.most is None else aging.most)


def _in_line(judged: Judged) -> Any:
    group = judged.group
    return (-effective(judged), group.created_at, min(gang.uid for gang in group.gangs))


def _in_range(queue: Queue, group: GangGroup) -> bool:
    highest = queue.limits.highest_priority
    return highest is None or group.priority <= highest


def _resource_groups(tree: Tree, queue: Queue) -> list[ResourceGroup]:
    """Return the resource groups of a leaf; without any those of all that its tree has."""
    if queue.resource_groups:
        return list(queue.resource_groups)
    flavors: dict[str, list[str]] = {}
    for r in sorted(tree.amounts.resources):
        flavor, resource = r.split("/")
        flavors.setdefault(resource, []).append(flavor)
    together: dict[tuple[str, ...], list[str]] = {}
    for resource, names in flavors.items():
        together.setdefault(tuple(names), []).append(resource)
    return [ResourceGroup(tuple(some), names) for names, some in together.items()]


def _uncovered(queue: Queue, groups: Sequence[ResourceGroup], asks: PodClass) -> bool:
    covered = {resource for group in groups for resource in group.resources}
    others = {name for name, n in asks.requests if n and name not in covered}
    return queue.ref.product is Product.KUEUE and bool(others - {"pods"})


def _charge(choices: Mapping[PodClass, Choice], counted: Mapping[PodClass, int]) -> dict[str, int]:
    charge: Counter[str] = Counter()
    for asks, number in counted.items():
        for resource, flavor in choices.get(asks, {}).items():
            charge[f"{flavor}/{resource}"] += number * dict(asks.requests)[resource]
    return dict(charge)
