"""Which volumes are chosen for the claims of WaitForFirstConsumer."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from gang_scheduler.model.nodes import ABSENT, UNLIMITED, BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.volumes import Need, Volumes
from gang_scheduler.scheduler.volume_topology import Needs, VolumeTopology

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
VOLUMES_A_LOOK: Final = 15
"""How many volumes are held against a need in the time of a look."""


class Decision(NamedTuple):
    """What a claim gets: a volume, by its number, or a new volume on a node."""

    volume: int = ABSENT
    node: str = ""


Decisions = tuple[Decision, ...]
"""One for each need of a pod; empty for a pod whose needs could not be met."""
Step = tuple[Needs, bytes, bytes]
"""What was applied: needs, rows and counts."""
Move = tuple[int, int, Decisions | None]
"""A pod came to a row (1) or left it (-1), and what it got; None for a pod of before the cycle."""


class VolumeChoices:
    """What the claims of assumed pods get.

    Pods of one class are interchangeable here: what one gets, any other of the class can get. The
    choice depends on the state alone, and undoing the latest change restores the exact earlier
    state.
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
        """Return other choices of the same state."""
        other = object.__new__(VolumeChoices)
        other.volume_topology, other._nodes = self.volume_topology, self._nodes
        other._taken, other._decided = self._taken.copy(), dict(self._decided)
        other._had, other._history = dict(self._had), list(self._history)
        other._rooms = dict(self._rooms)
        return other

    def room(self, needs: Needs) -> IntArray:
        """Return how many pods with such needs find their volumes on each node."""
        if needs not in self._rooms:
            self.volume_topology.work += VOLUMES_A_LOOK
            self._rooms[needs] = self._room(needs)
        return self._rooms[needs]

    def looks(self) -> float:
        """Return how many looks the search for volumes has cost since this was asked last."""
        done, self.volume_topology.work = self.volume_topology.work, 0
        return done / VOLUMES_A_LOOK

    def overlap(self, needs: Needs) -> bool:
        """Return whether some node needs volumes that other nodes may take."""
        return bool((self._taken[self.volume_topology.shared(needs)] == 0).any())

    def decide(self, needs: Needs, row: int) -> Decisions | None:
        """Return what the claims of one more pod get on a node; None if a claim gets nothing.

        As in kube-scheduler, each claim takes the smallest volume that suits it and is left.
        """
        return self._decide(needs, row, {}, ())

    def lacks_space(self, needs: Needs, row: int) -> bool:
        """Return whether the first need that is not met on a node would be met with more space."""
        unmet = (i for i in range(len(needs)) if self.decide(needs[: i + 1], row) is None)
        need = needs[next(unmet)]
        return need.claim not in self._decided and bool(self.volume_topology.places(need)[row])

    def apply(self, needs: Needs, rows: IntArray, counts: IntArray) -> None:
        """Choose volumes for so many pods on these rows; negative counts take back."""
        self._rooms.clear()
        undone = (needs, rows.tobytes(), (-counts).tobytes())
        if self._history and self._history[-1][0] == undone:
            for row, sign, decisions in reversed(self._history.pop()[1]):
                self._move(needs, row, -sign, decisions)
            return
        pods = zip(np.repeat(rows, np.abs(counts)), np.repeat(counts, np.abs(counts)), strict=True)
        moves = [self._one(needs, int(row), 1 if count > 0 else -1) for row, count in pods]
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

    def _one(self, needs: Needs, row: int, sign: int) -> Move:
        # A pod of before the cycle keeps what was chosen for it: a trial cannot undo that.
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
                self.volume_topology.work += len(needs)
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
        """Return the nodes where new volumes can be made for any number of pods."""
        found: BoolArray = np.logical_and.reduce([self._makeable(need) for need in needs])
        return found

    def _makeable(self, need: Need) -> BoolArray:
        decided = self._decided.get(need.claim)
        return self._where(need, decided[-1]) if decided else self.volume_topology.makeable(need)

    def _pods_at(self, needs: Needs, row: int) -> int:
        """Return how many pods find their volumes on one node, one after the other."""
        decided: dict[str, Decision] = {}
        taken: set[int] = set()
        pods = 0
        while (found := self._decide(needs, row, decided, taken)) is not None:
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
            decision = self._found(need, row, chosen) if earlier is None else earlier
            if decision is None or (earlier and not self._where(need, earlier)[row]):
                return None
            found.append(decision)
            chosen.add(decision.volume)
        return tuple(found)

    def _found(self, need: Need, row: int, chosen: Collection[int]) -> Decision | None:
        for volume in self.volume_topology.finds(need).at.get(row, ()):
            if volume not in chosen and not self._taken[volume]:
                return Decision(volume)
        can_be_made = self.volume_topology.makeable(need)[row]
        return Decision(node=self._nodes.nodes[row].name) if can_be_made else None

    def _where(self, need: Need, decided: Decision) -> BoolArray:
        """Return the nodes that reach what was decided for a claim that several pods use."""
        if decided.node and need.for_many_nodes:
            # Which nodes reach a new volume is known once the volume exists.
            return self.volume_topology.makeable(need)
        if decided.node:
            here: BoolArray = np.arange(len(self._nodes)) == self._nodes.rows[decided.node]
            return here
        finds = self.volume_topology.finds(need)
        reached = np.zeros(len(self._nodes), dtype=np.bool_)
        reached[finds.rows[finds.volumes == decided.volume]] = True
        return reached


def _stack(stacks: dict[K, tuple[V, ...]], key: K, value: V, sign: int) -> None:
    """Put a value on the stack of a key; with the sign -1, take the last one off."""
    left = (*stacks.get(key, ()), value) if sign > 0 else stacks[key][:-1]
    stacks[key] = left
    if not left:
        del stacks[key]
