"""Which volumes each node reaches, and for which nodes new volumes can be made.

Semantics of component-helpers' FindMatchingVolume and of kube-scheduler's VolumeBinding.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gang_scheduler.model.affinity.node_terms import terms
from gang_scheduler.model.affinity.requirements import Requirement
from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray, NodeTable
from gang_scheduler.model.volumes import Need, Pool, Volume, Volumes

Needs = tuple[Need, ...]
ROWS_A_VOLUME: Final = 20
"""How many nodes that reach a volume are noted in the time that it takes to look at one."""


@dataclass(frozen=True, slots=True, eq=False)
class Finds:
    """Which volumes suit a need, and where: `volumes[i]`, by number, is reached by `rows[i]`.

    `at` are the numbers by row, in the order in which volumes are chosen.
    """

    rows: IntArray
    volumes: IntArray
    at: Mapping[int, tuple[int, ...]]


class VolumeTopology:
    """What needs find on each node while no volume is taken. Each need is looked up once.

    Volumes are numbered by their place in `names`.
    """

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.names = [each.name for several in volumes.available.values() for each in several]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self._volumes = volumes
        self.work: float = 0
        """What was looked at since it was last counted, in volumes."""
        self._reached: dict[int, IntArray] = {}
        self._finds: dict[Need, Finds] = {}
        self._places: dict[Need, BoolArray] = {}
        self._room: dict[Need, BoolArray] = {}
        self._alike: dict[Needs, list[IntArray]] = {}
        self._shared: dict[Needs, IntArray] = {}

    def finds(self, need: Need) -> Finds:
        """Return the volumes that suit a need, and where."""
        if need not in self._finds:
            self._finds[need] = self._find(need)
        return self._finds[need]

    def alike(self, needs: Needs) -> list[IntArray]:
        """Return the rows that reach any of the volumes, grouped by what they find."""
        if needs not in self._alike:
            self._alike[needs] = self._find_alike(needs)
        return self._alike[needs]

    def shared(self, needs: Needs) -> IntArray:
        """Return the volumes, by number, that one node needs and other nodes reach, too."""
        if needs not in self._shared:
            self._shared[needs] = self._find_shared(needs)
        return self._shared[needs]

    def places(self, need: Need) -> BoolArray:
        """Return the nodes that the storage class can make a volume for, with or without space."""
        if need not in self._places:
            self._places[need] = self._find_places(need)
        return self._places[need]

    def makeable(self, need: Need) -> BoolArray:
        """Return the nodes that a volume can be made for, by storage class and free space."""
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
        for row in sorted({row for each in finds for row in each.at}):
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
