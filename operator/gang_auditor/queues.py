"""The tree of our Queues, as docs/queues.md defines it: promises, lending and limits.

Amounts are those of one flavor and resource. Kueue's and Volcano's queues are not read here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gang_auditor import objects
from gang_auditor.charges import DEFAULT_FLAVOR, NO_QUEUE, Charge
from gang_auditor.objects import Kind, Node, mapping, name_of, rows
from gang_auditor.watch_events import Object

if TYPE_CHECKING:
    from gang_auditor.auditor import Limits
    from gang_auditor.world import World

QUEUE: Final = Kind("py-gang-scheduler.io", "Queue")
FLAVOR: Final = Kind("py-gang-scheduler.io", "ResourceFlavor")
ROOT: Final = "root"
GPU: Final = "gpu"
GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")
"""The resources that `gpu` stands for in a quota, unless a setting says otherwise."""


@dataclass
class Account:
    """The account of a queue for one flavor and resource.

    `total` is the charge of all leaves below, and `used` the part of it that counts against the
    queue's own quota. `promised` is the sum of the promises to the queues below.
    """

    name: str
    parent: "Account | None" = None
    children: list["Account"] = field(default_factory=list)
    quota: Mapping[str, int] = field(default_factory=dict)
    ratio: float | None = 0.0
    nominal: int = 0
    promised: int = 0
    guaranteed: int = 0
    used: int = 0
    total: int = 0

    @property
    def limit(self) -> float:
        """The most that the queue and all queues below it may use."""
        return self.quota.get("hard", math.inf)

    @property
    def soft(self) -> int | None:
        """The promise in the object of the queue; without one, its limit or guarantee."""
        found = (self.quota.get(each) for each in ("soft", "hard", "guaranteed"))
        return next((each for each in found if each is not None), None)

    @property
    def may_borrow(self) -> float:
        """How far above its nominal quota the queue may go."""
        return math.inf if self.ratio is None else math.floor(self.ratio * self.nominal)

    def path(self) -> Iterator["Account"]:
        """Yield the queue and all queues above it."""
        account: Account | None = self
        while account is not None:
            yield account
            account = account.parent


class Tree:
    """All queues for one flavor and resource, with their charges.

    `capacity` is the amount that the nodes have. The part that is promised to no queue is lent to
    all queues.
    """

    def __init__(
        self,
        specs: Mapping[str, Object],
        key: tuple[str, str],
        charged: Mapping[str, int],
        capacity: int,
    ) -> None:
        self._specs = specs
        self._key = key
        self.accounts = {name: self._account(name) for name in {*specs, ROOT, NO_QUEUE}}
        for name, account in self.accounts.items():
            parent = str(specs[name].get("parent") or ROOT) if name in specs else ROOT
            if name != ROOT and parent in self.accounts:
                account.parent = self.accounts[parent]
                account.parent.children.append(account)
        self._count(self.accounts[ROOT], charged, capacity)

    def _account(self, name: str) -> Account:
        if name == NO_QUEUE and name not in self._specs:
            return Account(name, ratio=None)
        spec = self._specs.get(name, {})
        return Account(name, quota=quota_of(spec, self._key), ratio=_ratio(spec))

    def _count(self, account: Account, charged: Mapping[str, int], capacity: int) -> None:
        """Compute the figures of a queue, after the figures of the queues below it."""
        for each in account.children:
            self._count(each, charged, capacity)
        below = sum(each.promised for each in account.children)
        lent = sum(each.nominal - each.guaranteed for each in account.children)
        own = charged.get(account.name, 0)
        if account.children or account.name == ROOT:
            soft = account.soft
            if soft is None:
                soft = capacity if account.name == ROOT else 0
            pool = max(0, soft - below)
            account.nominal, account.promised = pool + lent, pool + below
        else:
            account.nominal = account.promised = account.soft or 0
        account.guaranteed = min(account.quota.get("guaranteed", 0), account.nominal)
        account.total = own + sum(each.total for each in account.children)
        account.used = own + sum(max(0, e.used - e.guaranteed) for e in account.children)

    def over_limit(self, name: str) -> Account | None:
        """Return the queue, or the queue above it, that exceeds its limit or borrows too much."""
        for each in self.accounts[name].path():
            over = each.used - max(each.nominal + each.may_borrow, each.guaranteed)
            if each.total > each.limit or (each.parent is not None and over > 0):
                return each
        return None

    def overlent(self, name: str) -> Account | None:
        """Return the queue above that has lent too much, with the borrowed amount."""
        for each in self.accounts[name].path():
            if each.used <= each.guaranteed and each.parent is not None:
                # Guaranteed quota needs nothing from the queues above.
                return None
            if each.parent is None and each.used > each.nominal:
                return each
        return None


def just_went(world: "World", limits: "Limits", known_by: float) -> bool:
    """Return whether a Queue was deleted so late that it may still count in a decision.

    `known_by` is the time of the oldest state that the decision may be based on.
    """
    return world.objects(QUEUE).gone_at >= known_by - limits.queue_grace


def just_turned(world: "World", limits: "Limits", known_by: float) -> bool:
    """Return whether a Queue came or went so late that a decision may not have known it."""
    return world.objects(QUEUE).turned_at >= known_by or just_went(world, limits, known_by)


def quota_of(spec: Object, key: tuple[str, str]) -> dict[str, int]:
    """Return `soft`, `hard` and `guaranteed` of a queue for a flavor and resource."""
    flavor, resource = key
    quota: Mapping[str, Any] = {}
    if flavor == DEFAULT_FLAVOR:
        quota = mapping(spec, "quota")
    for each in rows(spec, "flavors"):
        if each.get("name") == flavor:
            quota = mapping(each, "quota")
    found = {name: mapping(quota, name) for name in ("soft", "hard", "guaranteed")}
    return {
        name: objects.amount(resource, str(listed[resource]))
        for name, listed in found.items()
        if resource in listed
    }


def _ratio(spec: Object) -> float | None:
    """Return how far a queue may borrow, relative to its nominal quota; None for any amount."""
    borrowing = mapping(spec, "borrowing")
    if not borrowing.get("enabled"):
        return 0.0
    ratio = borrowing.get("maxBorrowRatio")
    return None if ratio is None else float(ratio)


def specs_of(world: "World") -> dict[str, Object]:
    """Return the specs of all queues by name."""
    return {name_of(each): mapping(each, "spec") for each in world.objects(QUEUE)}


def governed(specs: Mapping[str, Object]) -> set[tuple[str, str]]:
    """Return the flavors and resources for which any queue has quota."""
    found: set[tuple[str, str]] = set()
    for spec in specs.values():
        quotas = [(DEFAULT_FLAVOR, mapping(spec, "quota"))]
        quotas += [(str(e.get("name")), mapping(e, "quota")) for e in rows(spec, "flavors")]
        for flavor, quota in quotas:
            for name in ("soft", "hard", "guaranteed"):
                found |= {(flavor, resource) for resource in mapping(quota, name)}
    return found


def meanings(resource: str) -> Sequence[str]:
    """Return the resources that a resource name in a quota stands for."""
    return GPUS if resource == GPU else (resource,)


def charged_by_queue(used: Mapping[Charge, int], key: tuple[str, str]) -> dict[str, int]:
    """Return the amount that each queue is charged for a flavor and resource."""
    flavor, resource = key
    found: dict[str, int] = {}
    for charge, count in used.items():
        if charge.flavor == flavor and charge.resource in meanings(resource):
            found[charge.queue] = found.get(charge.queue, 0) + count
    return found


def tree_of(
    world: "World",
    specs: Mapping[str, Object],
    used: Mapping[Charge, int],
    key: tuple[str, str],
) -> Tree:
    """Return the tree of these queues and charges, on the present nodes."""
    flavor, resource = key
    found = world.objects(FLAVOR).latest(flavor)
    labels = mapping(mapping(found or {}, "spec"), "nodeLabels")
    nodes = [each for each in world.nodes if labels.items() <= each.labels.items()]
    capacity = sum(_offered(each, resource) for each in nodes)
    return Tree(specs, key, charged_by_queue(used, key), capacity)


def _offered(node: Node, resource: str) -> int:
    return sum(node.allocatable.get(each, 0) for each in meanings(resource))
