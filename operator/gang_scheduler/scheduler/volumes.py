"""Volumes in a cycle: claims, disks and attachments in use, volumes chosen, and their nodes."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from gang_scheduler.model.nodes import ABSENT, UNLIMITED, BoolArray, IntArray, NodeTable, terms
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.model.volumes import (
    PRIVATE,
    Attachment,
    Disk,
    DiskUse,
    Need,
    Pool,
    SoleUse,
    Storage,
    Use,
    Volume,
    Volumes,
)

# The number of attached volumes by driver and node.

Attached = tuple[tuple[str, str], ...]


class Attachments:
    """The volumes attached to nodes in a snapshot, changed by the pods assumed on it.

    A volume counts once per node, however many pods there use it. Columns are copied on change.
    """

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self._volumes = volumes
        self._nodes = nodes
        self._used: dict[str, IntArray] | None = None
        self._pods: Counter[tuple[int, str, str]] = Counter()

    def copy(self) -> "Attachments":
        """Return an independent copy of the attachments."""
        other = Attachments(self._volumes, self._nodes)
        other._used = None if self._used is None else dict(self._used)
        other._pods = self._pods.copy()
        return other

    def used(self, driver: str) -> IntArray:
        """Return how many volumes of a driver are attached, for each node."""
        return self._columns().get(driver, np.zeros(len(self._nodes), dtype=np.int64))

    def limit(self, driver: str, otherwise: int) -> IntArray:
        """Return how many volumes of a driver each node can have; `otherwise` without a limit."""
        limits = self._volumes.limits.get(driver, {})
        column = np.full(len(self._nodes), otherwise, dtype=np.int64)
        for node, most in limits.items():
            if node in self._nodes.rows:
                column[self._nodes.rows[node]] = most
        return column

    def installed(self, driver: str) -> BoolArray:
        """Return the nodes that can use volumes of a driver at all."""
        names = self._volumes.installed.get(driver)
        if names is None:
            return np.ones(len(self._nodes), dtype=np.bool_)
        return np.array([node.name in names for node in self._nodes.nodes], dtype=np.bool_)

    def present(self, driver: str, handle: str) -> BoolArray:
        """Return the nodes where a pod uses this volume already."""
        self._columns()
        column = np.zeros(len(self._nodes), dtype=np.bool_)
        found = [row for row in range(len(column)) if self._pods[row, driver, handle] > 0]
        column[found] = True
        return column

    def apply(self, attached: Attached, row: int, count: int) -> None:
        """Count the volumes of this many pods of a class on a node; a negative count undoes it."""
        columns = self._columns()
        for driver, handle in attached:
            more = self._count(row, driver, handle, count)
            column = columns.get(driver, np.zeros(len(self._nodes), dtype=np.int64)).copy()
            column[row] += more
            columns[driver] = column

    def _columns(self) -> dict[str, IntArray]:
        if self._used is None:
            self._used = {}
            self._read(self._volumes.lingering)
            self._read_pods()
        return self._used

    def _read(self, those: Iterable[Attachment]) -> None:
        for each in those:
            self._add(each, 1)

    def _read_pods(self) -> None:
        for use, pods in self._volumes.uses.items():
            if isinstance(use, Attachment) and use.node in self._nodes.rows:
                row = self._nodes.rows[use.node]
                self._add(use, self._count(row, use.driver, use.handle, pods))

    def _add(self, attachment: Attachment, more: int) -> None:
        row = self._nodes.rows.get(attachment.node)
        if row is not None and self._used is not None:
            empty = np.zeros(len(self._nodes), dtype=np.int64)
            self._used.setdefault(attachment.driver, empty)[row] += more

    def _count(self, row: int, driver: str, handle: str, pods: int) -> int:
        """Count pods that use a volume; return how many attachments are added by that."""
        before = self._pods[row, driver, handle]
        self._pods[row, driver, handle] = after = before + pods
        if handle == PRIVATE:
            return pods
        if Attachment(self._nodes.nodes[row].name, driver, handle) in self._volumes.lingering:
            return 0
        return int(after > 0) - int(before > 0)


# The volumes that each node reaches, and the nodes for which new volumes can be made. The
# semantics are those of component-helpers' FindMatchingVolume and of kube-scheduler's
# VolumeBinding.

Needs = tuple[Need, ...]
ROWS_A_VOLUME: Final = 20
"""Noting this many nodes that reach a volume takes as long as examining one volume."""


@dataclass(frozen=True, slots=True, eq=False)
class Finds:
    """The volumes that suit a need, and where they are.

    Row `rows[i]` reaches the volume number `volumes[i]`. `at` are the numbers by row, in the order
    in which volumes are chosen.
    """

    rows: IntArray
    volumes: IntArray
    at: Mapping[int, tuple[int, ...]]


class VolumeTopology:
    """The volumes that each need finds on each node if no volume is taken.

    Each need is looked up once. Volumes are numbered by their place in `names`.
    """

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.names = [each.name for several in volumes.available.values() for each in several]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self._volumes = volumes
        self.work: float = 0
        """The number of volumes that were examined and not yet counted as work."""
        self._reached: dict[int, IntArray] = {}
        self._finds: dict[Need, Finds] = {}
        self._places: dict[Need, BoolArray] = {}
        self._room: dict[Need, BoolArray] = {}
        self._alike: dict[Needs, list[IntArray]] = {}
        self._shared: dict[Needs, IntArray] = {}

    def finds(self, need: Need) -> Finds:
        """Return the volumes that suit a need, and where."""
        need = _of_any_claim(need)
        if need not in self._finds:
            self._finds[need] = self._find(need)
        return self._finds[need]

    def alike(self, needs: Needs) -> list[IntArray]:
        """Return groups of rows that reach the same volumes for these needs."""
        needs = tuple(map(_of_any_claim, needs))
        if needs not in self._alike:
            self._alike[needs] = self._find_alike(needs)
        return self._alike[needs]

    def shared(self, needs: Needs) -> IntArray:
        """Return the volumes, by number, that one node needs and other nodes also reach."""
        if needs not in self._shared:
            self._shared[needs] = self._find_shared(needs)
        return self._shared[needs]

    def places(self, need: Need) -> BoolArray:
        """Return the nodes for which the storage class creates volumes, with or without space."""
        if need not in self._places:
            self._places[need] = self._find_places(need)
        return self._places[need]

    def makeable(self, need: Need) -> BoolArray:
        """Return the nodes for which a volume can be created, by storage class and free space."""
        if need not in self._room:
            self._room[need] = self.places(need) & self._with_room(need)
        return self._room[need]

    def _find(self, need: Need) -> Finds:
        everything = () if need.node else self._volumes.available.get(need.storage_class, ())
        suitable = [each for each in everything if each.suits(need)]
        reached = [self._reached_by(each) for each in suitable]
        self.work += len(everything) + sum(map(len, reached)) / ROWS_A_VOLUME
        at: dict[int, list[int]] = {}
        for volume, rows in zip(suitable, reached, strict=True):
            for row in rows.tolist():
                at.setdefault(row, []).append(self.numbers[volume.name])
        numbers = np.array([self.numbers[each.name] for each in suitable], dtype=np.int64)
        return Finds(
            rows=np.concatenate([*reached, np.zeros(0, dtype=np.int64)]),
            volumes=np.repeat(numbers, [len(rows) for rows in reached]),
            at={row: tuple(found) for row, found in at.items()},
        )

    def _reached_by(self, volume: Volume) -> IntArray:
        number = self.numbers[volume.name]
        if number not in self._reached:
            self._reached[number] = (
                np.arange(len(self.nodes))
                if volume.nodes is None
                else np.flatnonzero(terms(volume.nodes, self.nodes))
            )
        return self._reached[number]

    def _find_alike(self, needs: Needs) -> list[IntArray]:
        alike: dict[Hashable, list[int]] = {}
        finds, made = [self.finds(each) for each in needs], [self.makeable(each) for each in needs]
        rows = sorted({row for each in finds for row in each.at})
        self.work += len(rows) * (1 + len(needs)) / 2
        for row in rows:
            key = tuple(
                (each.at.get(row), bool(can[row])) for each, can in zip(finds, made, strict=True)
            )
            alike.setdefault(key, []).append(row)
        return [np.array(rows) for rows in alike.values()]

    def _find_shared(self, needs: Needs) -> IntArray:
        without = ~np.logical_and.reduce([self.makeable(each) for each in needs])
        found = [self.finds(each) for each in needs]
        pairs = np.unique(
            np.concatenate([each.volumes * len(self.nodes) + each.rows for each in found])
        )
        volumes, rows = pairs // len(self.nodes), pairs % len(self.nodes)
        wanted = np.unique(volumes[without[rows]])
        shared: IntArray = wanted[np.bincount(volumes, minlength=1)[wanted] > 1]
        return shared

    def _find_places(self, need: Need) -> BoolArray:
        by = self._volumes.provisioning.get(need.storage_class)
        if by is None:
            return np.zeros(len(self.nodes), dtype=np.bool_)
        places = np.ones(len(self.nodes), dtype=np.bool_)
        if need.node:
            places = np.arange(len(self.nodes)) == self.nodes.rows.get(need.node, ABSENT)
        return places & terms(by.nodes, self.nodes) if by.nodes else places

    def _with_room(self, need: Need) -> BoolArray:
        by = self._volumes.provisioning.get(need.storage_class)
        if by is None or by.pools is None:
            return np.ones(len(self.nodes), dtype=np.bool_)
        return _any_pool(tuple(each for each in by.pools if each.size >= need.size), self.nodes)


def _of_any_claim(need: Need) -> Need:
    """Return a need without its claim: claims that look for the same volumes have equal needs."""
    return replace(need, claim="") if need.claim else need


def _numbered(needs: Needs) -> Needs:
    """Replace the names of claims by numbers, so that the needs of similar pods are equal."""
    if not any(need.claim for need in needs):
        return needs
    numbers: dict[str, str] = {"": ""}
    return tuple(
        replace(need, claim=numbers.setdefault(need.claim, str(len(numbers)))) for need in needs
    )


def _any_pool(pools: tuple[Pool, ...], nodes: NodeTable) -> BoolArray:
    allowed = np.zeros(len(nodes), dtype=np.bool_)
    for pool in pools:
        allowed |= _selected(pool.nodes, nodes)
    return allowed


def _selected(requirements: tuple[Requirement, ...], nodes: NodeTable) -> BoolArray:
    # Unlike an empty node selector term, an empty label selector selects all nodes.
    if not requirements:
        return np.ones(len(nodes), dtype=np.bool_)
    return terms((requirements,), nodes)


# Volumes chosen for the claims of WaitForFirstConsumer.

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
A_DECISION: Final = 4
"""Deciding on a volume for a need on a node takes as long as comparing this many volumes."""
VOLUMES_A_LOOK: Final = 15
"""Comparing this many volumes with a need takes one look."""


class Decision(NamedTuple):
    """The volume that a claim gets: an existing one, by its number, or a new one on a node."""

    volume: int = ABSENT
    node: str = ""


Decisions = tuple[Decision, ...]
"""One volume for each need of a pod; empty if the needs could not be met."""
Step = tuple[Needs, bytes, bytes]
"""An applied change: needs, rows and counts."""
Move = tuple[int, int, Decisions | None]
"""A pod's row, 1 if the pod came there or -1 if it left, and its volumes.

The volumes are None for a pod from before the cycle.
"""


class VolumeChoices:
    """The volumes that the claims of assumed pods get.

    Pods of one class are interchangeable: a volume for one is a volume for any other. The choice
    depends only on the state, and undoing the latest change restores the exact earlier state.
    """

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self.volume_topology = VolumeTopology(volumes, nodes)
        self._nodes = nodes
        self._taken = np.zeros(len(self.volume_topology.names), dtype=np.int64)
        self._decided: dict[str, tuple[Decision, ...]] = {}
        self._had: dict[tuple[Needs, int], tuple[Decisions, ...]] = {}
        self._history: list[tuple[Step, list[Move]]] = []
        self._rooms: dict[Needs, IntArray] = {}

    def copy(self) -> "VolumeChoices":
        """Return an independent copy of the choices."""
        other = object.__new__(VolumeChoices)
        other.volume_topology, other._nodes = self.volume_topology, self._nodes
        other._taken, other._decided = self._taken.copy(), dict(self._decided)
        other._had, other._history = dict(self._had), list(self._history)
        other._rooms = dict(self._rooms)
        return other

    def room(self, needs: Needs) -> IntArray:
        """Return how many pods with these needs find their volumes on each node."""
        if not any(need.claim in self._decided for need in needs):
            needs = _numbered(needs)
        if needs not in self._rooms:
            self.volume_topology.work += VOLUMES_A_LOOK
            self._rooms[needs] = self._room(needs)
        return self._rooms[needs]

    def looks(self) -> float:
        """Return how many looks the search for volumes has taken since the last call."""
        done, self.volume_topology.work = self.volume_topology.work, 0
        return done / VOLUMES_A_LOOK

    def overlap(self, needs: Needs) -> bool:
        """Return whether some node needs volumes that other nodes may take."""
        return bool((self._taken[self.volume_topology.shared(needs)] == 0).any())

    def decide(self, needs: Needs, row: int) -> Decisions | None:
        """Return the volumes for the claims of one more pod on a node; None if a claim gets none.

        As in kube-scheduler, each claim takes the smallest free volume that suits it.
        """
        return self._decide(needs, row, {}, ())

    def lacks_space(self, needs: Needs, row: int) -> bool:
        """Return whether more space would meet the first unmet need on a node."""
        unmet = (i for i in range(len(needs)) if self.decide(needs[: i + 1], row) is None)
        need = needs[next(unmet)]
        return need.claim not in self._decided and bool(self.volume_topology.places(need)[row])

    def apply(self, needs: Needs, rows: IntArray, counts: IntArray) -> None:
        """Choose volumes for this many pods on the nodes of these rows; negative counts undo it."""
        self._rooms.clear()
        undone = (needs, rows.tobytes(), (-counts).tobytes())
        if self._history and self._history[-1][0] == undone:
            for row, sign, decisions in reversed(self._history.pop()[1]):
                self._move(needs, row, -sign, decisions)
            return
        pods = zip(np.repeat(rows, np.abs(counts)), np.repeat(counts, np.abs(counts)), strict=True)
        moves = [self._apply_one(needs, int(row), 1 if count > 0 else -1) for row, count in pods]
        self._history.append(((needs, rows.tobytes(), counts.tobytes()), moves))

    def kept(self, binds: Iterable[Bind]) -> Iterator[Bind]:
        """Yield the binds of a whole plan with the volumes that their claims get."""
        if not self._had:
            yield from binds
            return
        left = {key: list(decisions) for key, decisions in self._had.items()}
        for bind in binds:
            yield self._with_volumes(bind, left)

    def _with_volumes(self, bind: Bind, left: Mapping[tuple[Needs, int], list[Decisions]]) -> Bind:
        needs = bind.pod.pod_class.storage.needs if bind.pod.pod_class.storage is not None else ()
        decisions = left.get((needs, self._nodes.rows[bind.node])) if needs else None
        if not decisions:
            return bind
        names = self.volume_topology.names
        chosen = [each.volume for each in decisions.pop()]
        return replace(bind, volumes=tuple("" if i == ABSENT else names[i] for i in chosen))

    def _apply_one(self, needs: Needs, row: int, sign: int) -> Move:
        # A pod from before the cycle keeps its volumes: a trial cannot undo their choice.
        decisions = self._had.get((needs, row), (None,))[-1]
        if sign > 0:
            decisions = self.decide(needs, row) or ()
        self._move(needs, row, sign, decisions)
        return row, sign, decisions

    def _move(self, needs: Needs, row: int, sign: int, decisions: Decisions | None) -> None:
        if decisions is None:
            return
        _stack(self._had, (needs, row), decisions, sign)
        for need, decision in zip(needs, decisions, strict=False):
            if decision.volume != ABSENT:
                self._taken[decision.volume] += sign
            if need.claim:
                _stack(self._decided, need.claim, decision, sign)

    def _room(self, needs: Needs) -> IntArray:
        anywhere = self._anywhere(needs)
        if len(needs) == 1 and not needs[0].claim:
            finds = self.volume_topology.finds(needs[0])
            left = finds.rows[self._taken[finds.volumes] == 0]
            return np.where(anywhere, UNLIMITED, np.bincount(left, minlength=len(anywhere)))
        room: IntArray = np.where(anywhere, UNLIMITED, 0)
        for rows in self._alike(needs):
            if not anywhere[rows[0]]:
                self.volume_topology.work += A_DECISION * len(needs)
                room[rows] = self._pods_at(needs, int(rows[0]))
        return room

    def _alike(self, needs: Needs) -> list[IntArray]:
        if any(need.claim in self._decided for need in needs):
            return [
                rows[i : i + 1]
                for rows in self.volume_topology.alike(needs)
                for i in range(len(rows))
            ]
        return self.volume_topology.alike(needs)

    def _anywhere(self, needs: Needs) -> BoolArray:
        """Return the nodes where new volumes can be created for any number of pods."""
        found: BoolArray = np.logical_and.reduce([self._makeable(need) for need in needs])
        return found

    def _makeable(self, need: Need) -> BoolArray:
        decided = self._decided.get(need.claim)
        return self._where(need, decided[-1]) if decided else self.volume_topology.makeable(need)

    def _pods_at(self, needs: Needs, row: int) -> int:
        """Return how many pods find their volumes on one node, one after another."""
        decided: dict[str, Decision] = {}
        taken: set[int] = set()
        pods = 0
        while (found := self._decide(needs, row, decided, taken)) is not None:
            self.volume_topology.work += len(needs)
            named = {each.volume for each in found} - {ABSENT}
            more = {volume for volume in named if not self._taken[volume]}
            if more <= taken:
                return UNLIMITED
            taken |= more
            decided |= {n.claim: d for n, d in zip(needs, found, strict=True) if n.claim}
            pods += 1
        return pods

    def _decide(
        self, needs: Needs, row: int, decided: Mapping[str, Decision], taken: Collection[int]
    ) -> Decisions | None:
        chosen = set(taken)
        found = []
        for need in needs:
            earlier = decided.get(need.claim) or next(iter(self._decided.get(need.claim, ())), None)
            decision = self._volume_for(need, row, chosen) if earlier is None else earlier
            if decision is None or (earlier and not self._where(need, earlier)[row]):
                return None
            found.append(decision)
            chosen.add(decision.volume)
        return tuple(found)

    def _volume_for(self, need: Need, row: int, chosen: Collection[int]) -> Decision | None:
        for volume in self.volume_topology.finds(need).at.get(row, ()):
            if volume not in chosen and not self._taken[volume]:
                return Decision(volume)
        can_be_made = self.volume_topology.makeable(need)[row]
        return Decision(node=self._nodes.nodes[row].name) if can_be_made else None

    def _where(self, need: Need, decided: Decision) -> BoolArray:
        """Return the nodes that reach the volume of a claim which several pods share."""
        if decided.node and need.for_many_nodes:
            # The nodes that reach a new volume are known once it exists.
            return self.volume_topology.makeable(need)
        if decided.node:
            here: BoolArray = np.arange(len(self._nodes)) == self._nodes.rows[decided.node]
            return here
        finds = self.volume_topology.finds(need)
        reached = np.zeros(len(self._nodes), dtype=np.bool_)
        reached[finds.rows[finds.volumes == decided.volume]] = True
        return reached


def _stack(stacks: dict[K, tuple[V, ...]], key: K, value: V, sign: int) -> None:
    """Push a value onto the stack of a key; with the sign -1, pop the last one."""
    left = (*stacks.get(key, ()), value) if sign > 0 else stacks[key][:-1]
    stacks[key] = left
    if not left:
        del stacks[key]


# Claims, disks and attachments in use, and the volumes chosen for claims.


class VolumeLedger:
    """The volumes of a snapshot, changed by the pods assumed on it."""

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self.attachments = Attachments(volumes, nodes)
        self.choices = VolumeChoices(volumes, nodes)
        self._nodes = nodes
        self._uses: Counter[Use] = Counter(volumes.uses)

    def copy(self) -> "VolumeLedger":
        """Return an independent copy of the ledger."""
        other = object.__new__(VolumeLedger)
        other.attachments, other.choices = self.attachments.copy(), self.choices.copy()
        other._nodes, other._uses = self._nodes, self._uses.copy()
        return other

    def in_use(self, claim: str) -> bool:
        """Return whether a pod uses a ReadWriteOncePod claim."""
        return self._uses[SoleUse(claim)] > 0

    def disks(self) -> Iterator[tuple[int, Disk]]:
        """Yield the disks that pods name themselves, with the rows of these pods."""
        for use, pods in self._uses.items():
            if isinstance(use, DiskUse) and pods > 0 and use.node in self._nodes.rows:
                yield self._nodes.rows[use.node], use.disk

    def apply(self, pod_class: PodClass, rows: IntArray, counts: IntArray) -> None:
        """Count this many pods of a class on the nodes of these rows; negative counts undo it."""
        storage = pod_class.storage
        if storage is None:
            return
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            self._use(storage, row, count)
        if storage.needs:
            self.choices.apply(storage.needs, rows, counts)

    def _use(self, storage: Storage, row: int, count: int) -> None:
        node = self._nodes.nodes[row].name
        for claim in storage.sole:
            self._uses[SoleUse(claim)] += count
        for disk in storage.disks:
            self._uses[DiskUse(node, disk)] += count
        if storage.attached:
            self.attachments.apply(storage.attached, row, count)
