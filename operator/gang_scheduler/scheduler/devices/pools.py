"""Pools of devices: their newest slices, whether they are complete, and which nodes reach them.

The rules and the order are those of kube-scheduler's allocator from Kubernetes 1.36 on.
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, NamedTuple

from gang_scheduler.model.devices import (
    Device,
    DeviceId,
    NodeView,
    Reach,
    Slice,
    TaintRule,
    Unsupported,
)
from gang_scheduler.scheduler.devices.change_history import ChangeHistory


class PoolId(NamedTuple):
    """A pool. Pools are tried in this order."""

    driver: str
    pool: str

    def __str__(self) -> str:
        """Return DRIVER/POOL."""
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class OfferedDevice:
    """A device in a slice that reaches a node. `here`: the device itself reaches the node, too."""

    id: DeviceId
    device: Device
    reach: Reach
    here: bool


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Pool:
    """The devices that a pool offers to a node. An incomplete or invalid pool allocates none.

    Pools are compared by identity, so values kept for a pool are dropped with it.
    """

    id: PoolId
    devices: tuple[OfferedDevice, ...] = ()
    elsewhere: tuple[Device, ...] = ()
    """Devices in slices for other nodes, which may consume the same counters."""
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Counter sets, in billionths."""
    is_incomplete: bool = False
    invalid: str = ""
    """Why the pool is invalid; empty if it is valid."""
    unsupported: tuple[Unsupported, ...] = ()
    """Fields that were not understood, in slices of the pool. These slices do not count."""
    ids: tuple[DeviceId, ...] = field(init=False)
    """All devices of the pool, also those for other nodes."""

    def __post_init__(self) -> None:
        """Name all devices once: they are looked up in each cycle."""
        elsewhere = (DeviceId(*self.id, each.name) for each in self.elsewhere)
        ids = (*(each.id for each in self.devices), *elsewhere)
        object.__setattr__(self, "ids", ids)

    @property
    def is_usable(self) -> bool:
        """Whether devices can be allocated."""
        return not (self.is_incomplete or self.invalid)

    @property
    def is_local(self) -> bool:
        """Whether all devices and counters are for one node by name."""
        return not self.elsewhere and all(each.reach.node_name for each in self.devices)


@dataclass(frozen=True, slots=True)
class _Group:
    """All slices of a pool, by name."""

    slices: tuple[Slice, ...]
    taint_rules: tuple[TaintRule, ...]

    @property
    def node_name(self) -> str:
        """The node that all slices are for; empty if there are several, or other ways."""
        names = {"" if each.per_device else each.node_name for each in self.slices}
        return names.pop() if len(names) == 1 else ""


_BY_NAME: Final = attrgetter("name")


class Pools:
    """All pools of a cluster. Their offer to a node is computed once for its labels."""

    def __init__(self, slices: Iterable[Slice], taint_rules: Iterable[TaintRule] = ()) -> None:
        self._rules = tuple(taint_rules)
        self._groups: dict[PoolId, _Group] = {}
        gathered: dict[PoolId, list[Slice]] = {}
        for each in slices:
            gathered.setdefault(PoolId(each.driver, each.pool), []).append(each)
        for pool, members in gathered.items():
            self._groups[pool] = self._group(members)
        self._index()

    def with_changes(
        self, changed: Iterable[Slice] = (), gone: Iterable[tuple[PoolId, str]] = ()
    ) -> "Pools":
        """Return the pools after slices were added, changed or deleted.

        The offers of other pools are not computed again.
        """
        touched: dict[PoolId, dict[str, Slice]] = {}

        def members(pool: PoolId) -> dict[str, Slice]:
            group = self._groups.get(pool)
            present = {each.name: each for each in group.slices} if group else {}
            return touched.setdefault(pool, present)

        for pool, name in gone:
            members(pool).pop(name, None)
        for each in changed:
            members(PoolId(each.driver, each.pool))[each.name] = each
        pools = copy.copy(self)
        pools._replace(
            {
                pool: self._group(slices.values()) if slices else None
                for pool, slices in touched.items()
            }
        )
        return pools

    def differs_in(self, before: "Pools") -> frozenset[str] | None:
        """Return the nodes to which other pools offered something else; None if not known."""
        return self._history.since(before._history)  # noqa: SLF001 - of this class

    def __iter__(self) -> Iterator[PoolId]:
        return iter(self._groups)

    def _group(self, slices: Iterable[Slice]) -> _Group:
        ordered = tuple(sorted(slices, key=_BY_NAME))
        first = ordered[0]
        rules = tuple(
            each
            for each in self._rules
            if each.driver in ("", first.driver) and each.pool in ("", first.pool)
        )
        return _Group(ordered, rules)

    def _index(self) -> None:
        self._of_node: dict[str, tuple[PoolId, ...]] = {}
        self._shared: dict[PoolId, None] = {}
        for pool in self._groups:
            self._reach(pool)
        # The offer of a pool to its only node depends on nothing else.
        self._local: dict[PoolId, Pool | None] = {}
        self._offered: dict[str, tuple[Mapping[str, str], tuple[Pool, ...]]] = {}
        self._history: ChangeHistory[str] = ChangeHistory()

    def _replace(self, groups: Mapping[PoolId, _Group | None]) -> None:
        """Take in pools that changed, and those that are gone, as None."""
        self._groups, self._local = dict(self._groups), dict(self._local)
        self._of_node, self._shared = dict(self._of_node), dict(self._shared)
        nodes: set[str] = set()
        for pool, group in groups.items():
            if pool in self._groups:
                nodes.add(self._drop_reach(pool))
                del self._groups[pool]
            if group is not None:
                self._groups[pool] = group
                nodes.add(self._reach(pool))
            self._local.pop(pool, None)
        if "" in nodes:
            self._offered = {}
        else:
            self._offered = dict(self._offered)
            for name in nodes:
                self._offered.pop(name, None)
        self._history = self._history.followed_by(None if "" in nodes else frozenset(nodes))

    def _reach(self, pool: PoolId) -> str:
        """Note which node a pool reaches, and return it: "" if there may be several."""
        name = self._groups[pool].node_name
        if name:
            self._of_node[name] = (*self._of_node.get(name, ()), pool)
        else:
            self._shared[pool] = None
        return name

    def _drop_reach(self, pool: PoolId) -> str:
        name = self._groups[pool].node_name
        if name:
            left = tuple(each for each in self._of_node.pop(name) if each != pool)
            if left:
                self._of_node[name] = left
        else:
            del self._shared[pool]
        return name

    def on(self, node: NodeView) -> tuple[Pool, ...]:
        """Return the pools that reach a node, in the order in which they are searched."""
        known = self._offered.get(node.name)
        if known is not None and (known[0] is node.labels or known[0] == node.labels):
            return known[1]
        offered = [self._of_one_node(each, node) for each in self._names(node)]
        offered += [_offer(self._groups[each], node) for each in self._shared]
        # Devices that must be attached first come last.
        found = tuple(
            sorted(
                (each for each in offered if each is not None),
                key=lambda pool: (_binds(pool), pool.id),
            )
        )
        self._offered[node.name] = (node.labels, found)
        return found

    def forget_all_but(self, nodes: Collection[str]) -> None:
        """Drop what is remembered of nodes that are gone, once that is more than half of it."""
        if len(self._offered) > 2 * len(nodes):
            self._offered = {name: each for name, each in self._offered.items() if name in nodes}

    def _names(self, node: NodeView) -> Sequence[PoolId]:
        return self._of_node.get(node.name, ())

    def _of_one_node(self, pool: PoolId, node: NodeView) -> Pool | None:
        if pool not in self._local:
            self._local[pool] = _offer(self._groups[pool], node)
        return self._local[pool]

    def node_of(self, pool: PoolId) -> str:
        """Return the node that alone reaches a pool; empty if there is no such node."""
        group = self._groups.get(pool)
        return group.node_name if group is not None else ""

    def kind_of(self, device: DeviceId) -> str:
        """Return a text for a device: equal for devices of a pool that differ only in their names.

        For a device that no slice has any more, the text is unique.
        """
        group = self._groups.get(PoolId(device.driver, device.pool))
        for found in group.slices if group is not None else ():
            for each in found.devices:
                if each.name == device.device and group is not None:
                    taints = [rule.taint for rule in group.taint_rules if rule.matches(device)]
                    return f"{device.driver}/{device.pool} {replace(each, name='')} {taints}"
        return str(device)

    @property
    def has_shared(self) -> bool:
        """Whether there are pools that are not for one node alone, by its name."""
        return bool(self._shared)


def _binds(pool: Pool) -> bool:
    return any(each.device.binding_conditions for each in pool.devices)


def _relevant(each: Slice, node: NodeView) -> bool:
    if each.reach.is_known:
        return each.reach.reaches(node)
    return each.per_device and any(device.reach.reaches(node) for device in each.devices)


def _offer(group: _Group, node: NodeView) -> Pool | None:
    """Return a pool as a node reaches it; None if no slice of its newest generation does."""
    generation = max(each.generation for each in group.slices)
    current = [each for each in group.slices if each.generation == generation]
    understood = [each for each in current if not each.problems]
    relevant = [each for each in understood if _relevant(each, node)]
    if not relevant:
        return None
    pool = PoolId(relevant[0].driver, relevant[0].pool)
    if len(understood) != relevant[0].slice_count:
        problems = (problem for each in current for problem in each.problems)
        unsupported = tuple(each for each in problems if isinstance(each, Unsupported))
        return Pool(pool, is_incomplete=True, unsupported=unsupported)
    chosen = {each.name for each in relevant}
    others = [each for each in understood if each.name not in chosen]
    with_devices = [each for each in relevant if not each.counters]
    counters, fault = _counters(understood)
    elsewhere = tuple(device for each in others if not each.counters for device in each.devices)
    devices = tuple(_offered(group, with_devices, node))
    consuming = (*(each.device for each in devices), *elsewhere)
    fault = fault or _fault((each.id.device for each in devices), consuming, counters)
    if fault:
        return Pool(pool, invalid=fault)
    return Pool(pool, devices, elsewhere, counters)


def _offered(group: _Group, slices: Iterable[Slice], node: NodeView) -> Iterator[OfferedDevice]:
    for each in slices:
        for device in each.devices:
            reach = device.reach if each.per_device else each.reach
            identity = DeviceId(each.driver, each.pool, device.name)
            taints = tuple(rule.taint for rule in group.taint_rules if rule.matches(identity))
            tainted = replace(device, taints=(*device.taints, *taints)) if taints else device
            here = not each.per_device or device.reach.reaches(node)
            yield OfferedDevice(identity, tainted, reach, here)


def fault_of(slices: Collection[Slice]) -> str:
    """Return why a pool with these slices of its newest generation offers no device; "" if not."""
    understood = [each for each in slices if not each.problems]
    if any(len(understood) != each.slice_count for each in slices):
        return "incomplete"
    counters, fault = _counters(understood)
    devices = [device for each in understood for device in each.devices]
    return fault or _fault((each.name for each in devices), devices, counters)


def counters_of(slices: Iterable[Slice]) -> Mapping[str, Mapping[str, int]]:
    """Return the counter sets of the slices of a pool, in billionths."""
    return _counters(slices)[0]


def _counters(slices: Iterable[Slice]) -> tuple[dict[str, dict[str, int]], str]:
    found: dict[str, dict[str, int]] = {}
    for each in slices:
        for counter_set in each.counters:
            if counter_set.name in found:
                return {}, f"duplicate counter set name {counter_set.name}"
            found[counter_set.name] = {
                name: amount.nanos for name, amount in counter_set.counters.items()
            }
    return found, ""


def _fault(
    names: Iterable[str],
    devices: Iterable[Device],
    counters: Mapping[str, Mapping[str, int]],
) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f"duplicate device name {name}"
        seen.add(name)
    for use in (use for device in devices for use in device.consumes):
        if use.counter_set not in counters:
            return f"counter set {use.counter_set} not found"
        for name in use.counters:
            if name not in counters[use.counter_set]:
                return f"counter {name} not found in counter set {use.counter_set}"
    return ""
