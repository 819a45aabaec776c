"""The sums of the charges of pods, by queue and flavor, kept up to date charge by charge."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from gang_scheduler.model.bound_pods import Charged
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    Charge,
    Flavor,
    FlavorResource,
    LocalQueueKey,
    Product,
    QueueKind,
    QueueRef,
    QueueSet,
    QueueUsage,
    ResourceGroup,
)
from gang_scheduler.model.refs import GangKey

# The flavors in which a pod is charged: taken from its binding, otherwise from its node.

Labels = Mapping[str, str]
Flavors = tuple[tuple[str, str], ...]
"""Pairs of a resource and its flavor, by resource."""


class _Asked(NamedTuple):
    """The inputs that decide flavors: decided flavors, and the node if it matters."""

    ref: QueueRef
    decided: Flavors
    node: str


class ChargedFlavors:
    """The flavors of pods by queue and node, each computed once until queues or nodes change.

    A resource without quota in the queue is charged, too, with a flavor of its tree. In a
    ClusterQueue it is not.
    """

    def __init__(self, queue_set: QueueSet, labels_of: Callable[[str], Labels]) -> None:
        self.queue_set = queue_set
        self._labels_of = labels_of
        self._queues = {each.ref: each for each in queue_set.queues}
        self._flavors = {(each.product, each.name): each for each in queue_set.flavors}
        self._governed = {each: _governed(queue_set, each) for each in Product}
        self._groups: dict[QueueRef, tuple[ResourceGroup, ...]] = {}
        self._known: dict[_Asked, Flavors] = {}

    def of(self, ref: QueueRef, decided: Flavors = (), node: str = "") -> Flavors:
        """Return the flavors of a pod on a node; without a node, the first flavors of the queue."""
        groups = self._groups_of(ref)
        matters = bool(node) and (bool(decided) or any(len(each.flavors) > 1 for each in groups))
        asked = _Asked(ref, decided, node if matters else "")
        known = self._known.get(asked)
        if known is None:
            known = self._known[asked] = self._found(groups, asked)
        return known

    def node_changed(self) -> None:
        """Forget all flavors that were found by the labels of nodes."""
        self._known.clear()

    def _found(self, groups: Iterable[ResourceGroup], asked: _Asked) -> Flavors:
        found = dict(asked.decided)
        for group in groups:
            decided = {each: found[each] for each in group.resources if each in found}
            counts = {
                each: name for each, name in decided.items() if self._counts(name, group, asked)
            }
            flavor = next(iter(counts.values()), None) or self._first(group, asked)
            found.update({**dict.fromkeys(group.resources, flavor), **counts})
        return tuple(sorted(found.items()))

    def _counts(self, name: str, group: ResourceGroup, asked: _Asked) -> bool:
        """Return whether a decided flavor counts: users may write any flavor on running pods.

        A flavor without quota in the queue counts only if the node belongs to it.
        """
        flavor = self._flavors.get((asked.ref.product, name))
        if name in group.flavors or flavor is None or not asked.node or not flavor.node_labels:
            return name in group.flavors
        return self._has(asked.ref.product, self._labels_of(asked.node), name)

    def _first(self, group: ResourceGroup, asked: _Asked) -> str:
        """Return the first flavor that has the node; if none has it, the first of all."""
        if not asked.node:
            return group.flavors[0]
        labels = self._labels_of(asked.node)
        has_node = partial(self._has, asked.ref.product, labels)
        return next(filter(has_node, group.flavors), group.flavors[0])

    def _has(self, product: Product, labels: Labels, name: str) -> bool:
        flavor = self._flavors.get((product, name), Flavor(product, name))
        return all(labels.get(key) == text for key, text in flavor.node_labels)

    def _groups_of(self, ref: QueueRef) -> tuple[ResourceGroup, ...]:
        if ref not in self._groups:
            queue = self._queues.get(ref)
            own = queue.resource_groups if queue is not None else ()
            own = tuple(each for each in own if each.flavors)
            covered = {resource for each in own for resource in each.resources}
            rest = () if ref.kind is QueueKind.CLUSTER_QUEUE else self._governed[ref.product]
            others = (each for each in rest if covered.isdisjoint(each.resources))
            self._groups[ref] = (*own, *others)
        return self._groups[ref]


def _governed(queue_set: QueueSet, product: Product) -> tuple[ResourceGroup, ...]:
    """Return each resource for which queues of a product have quota, with its flavors."""
    found: dict[str, set[str]] = {}
    for queue in queue_set.queues:
        if queue.ref.product is product:
            for flavor, resource in queue.quotas:
                found.setdefault(resource, set()).add(flavor)
    return tuple(
        ResourceGroup((resource,), tuple(sorted(flavors, key=_every_node_first)))
        for resource, flavors in sorted(found.items())
    )


def _every_node_first(flavor: str) -> tuple[bool, str]:
    return flavor != DEFAULT_FLAVOR, flavor


# The sums that make up usage, kept up to date one pod at a time.

K = TypeVar("K", bound=Hashable)
Amounts = tuple[tuple[FlavorResource, int], ...]
MOST_CHARGES: Final = 8192
"""How many different charges are kept."""


class Entry(NamedTuple):
    """How one pod counts: amounts charged to its queue or, if it `waits`, requested from it.

    `gang` is None for a pod of another scheduler. `local` is the LocalQueue that is charged, too.
    """

    ref: QueueRef
    amounts: Amounts
    gang: GangKey | None = None
    waits: bool = False
    local: LocalQueueKey | None = None


class Sums(Generic[K]):
    """Amounts by queue. A result is never changed later: a queue that changes is copied."""

    def __init__(self) -> None:
        self.shown: dict[K, Charge] = {}
        self._sums: dict[K, dict[FlavorResource, int]] = {}
        self._changed: set[K] = set()

    def add(self, queue: K, amounts: Amounts, number: int) -> None:
        """Add amounts to a queue this many times; a negative number takes them away."""
        sums = self._sums.get(queue)
        if sums is None:
            sums = self._sums[queue] = {}
        for key, amount in amounts:
            sums[key] = sums.get(key, 0) + number * amount
        self._changed.add(queue)

    def settle(self) -> tuple[bool, set[K]]:
        """Publish the present sums; return whether any has changed, and which have fallen."""
        before: dict[K, Charge] = {ref: self.shown.get(ref, {}) for ref in self._changed}
        for ref in self._changed:
            after = {key: amount for key, amount in self._sums[ref].items() if amount}
            if after:
                self.shown[ref] = after
            else:
                self.shown.pop(ref, None)
                del self._sums[ref]
        self._changed.clear()
        now = {ref: self.shown.get(ref, {}) for ref in before}
        less = {ref for ref, old in before.items() if _is_less(now[ref], old)}
        return now != before, less


class Tallies:
    """The entries of pods, and their sums.

    `group_of` returns one gang for each group of gangs.
    """

    def __init__(self, group_of: Callable[[GangKey], GangKey]) -> None:
        self.entries: dict[str, Entry] = {}
        self.charged: dict[str, Charged] = {}
        """The charges of pods that no longer wait, by uid."""
        self._charges: dict[Amounts, Charge] = {}
        self._group_of = group_of
        self._charged = Sums[QueueRef]()
        self._asked = Sums[QueueRef]()
        self._local = Sums[LocalQueueKey]()
        self._holders: dict[QueueRef, dict[GangKey, int]] = {}
        self._running: dict[QueueRef, int] = {}
        self._recount: set[QueueRef] = set()
        self._left: set[tuple[QueueRef, GangKey]] = set()
        self._same: Entry | None = None
        self._number = 0
        self._usage = QueueUsage()

    def put(self, uid: str, entry: Entry | None) -> None:
        """Count a pod by this entry only; None stops counting it."""
        before = self.entries.get(uid)
        if before is entry or before == entry:
            return
        if before is not None:
            self._count(before, -1)
            del self.entries[uid]
            self.charged.pop(uid, None)
        if entry is not None:
            self._count(entry, 1)
            self.entries[uid] = entry
            if not entry.waits:
                self.charged[uid] = entry.ref, self._charge_of(entry.amounts)

    def groups_changed(self) -> None:
        """Count groups again: gangs may be in other groups than before."""
        self._recount.update(self._holders)

    def settle(self) -> tuple[QueueUsage, set[QueueRef]]:
        """Return the usage, and the queues that hold less than at the last call.

        The latter include queues that a gang has left, even if another gang took more. The usage is
        the same object while it is equal. The cost grows with the changes since the last call.
        """
        self._add_counted()
        charged, freed = self._charged.settle()
        asked, _ = self._asked.settle()
        local, _ = self._local.settle()
        before = self._running
        if self._recount:
            self._running = {**before, **{ref: self._groups(ref) for ref in self._recount}}
            self._running = {ref: number for ref, number in self._running.items() if number}
            freed |= {r for r in self._recount if self._running.get(r, 0) < before.get(r, 0)}
            self._recount.clear()
        freed |= {ref for ref, gang in self._left if gang not in self._holders.get(ref, ())}
        self._left.clear()
        if charged or asked or local or before != self._running:
            self._usage = QueueUsage(
                *(dict(self._charged.shown), dict(self._asked.shown), self._running),
                local_charged=dict(self._local.shown),
            )
        return self._usage, freed

    def _charge_of(self, amounts: Amounts) -> Charge:
        """Return amounts as a charge: one object for similar pods."""
        if len(self._charges) > MOST_CHARGES:
            self._charges.clear()
        return self._charges.setdefault(amounts, dict(amounts))

    def _count(self, entry: Entry, sign: int) -> None:
        """Count an entry; equal entries in a row are added to the sums together.

        The members of a gang share one entry, and mostly come one after another.
        """
        if entry is not self._same:
            self._add_counted()
            self._same = entry
        self._number += sign

    def _add_counted(self) -> None:
        if self._same is not None and self._number:
            self._add(self._same, self._number)
        self._same, self._number = None, 0

    def _add(self, entry: Entry, number: int) -> None:
        """Add this many pods with this entry; a negative number takes them away."""
        if entry.waits:
            self._asked.add(entry.ref, entry.amounts, number)
            return
        self._charged.add(entry.ref, entry.amounts, number)
        if entry.local is not None:
            self._local.add(entry.local, entry.amounts, number)
        if entry.gang is not None:
            holders = self._holders.get(entry.ref)
            if holders is None:
                holders = self._holders[entry.ref] = {}
            before = holders.get(entry.gang, 0)
            holders[entry.gang] = before + number
            if not (before and before + number):
                self._recount.add(entry.ref)
            if not before + number:
                del holders[entry.gang]
                self._left.add((entry.ref, entry.gang))

    def _groups(self, ref: QueueRef) -> int:
        return len({self._group_of(gang) for gang in self._holders.get(ref, ())})


def _is_less(after: Mapping[FlavorResource, int], before: Mapping[FlavorResource, int]) -> bool:
    return any(after.get(key, 0) < amount for key, amount in before.items())
