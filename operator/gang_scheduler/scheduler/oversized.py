"""What a pod asks that no node has, however empty it is."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gang_scheduler.model import likeness
from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Obstacle, Oversized, Shortage, Unmatched
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.policies import Profile

CLOSE_ENOUGH: Final = 0.8
NAMED: Final = 2
"""How many labels of a nodeSelector are named that no node has."""
MOST_READ: Final = 200
"""Of so many nodes label keys are compared, and of a key so many values."""
NEAR_LOOKS: Final = 30
"""What it costs to compare a label with so many others."""
MOST_MEANT: Final = 8
"""For so many resources that no node has it is told which one may be meant."""


def told(
    shortage: Shortage | None, pod_class: PodClass, nodes: NodeTable, profile: Profile
) -> Shortage | None:
    """Return the shortage with what no node has. Computed once a node table and class."""
    if shortage is not None and shortage.obstacle is Obstacle.NODE_AFFINITY:
        return replace(shortage, unmatched=unmatched(pod_class, nodes))
    if shortage is None or not shortage.lacking:
        return shortage
    found = of(pod_class, nodes, profile)
    return replace(shortage, oversized=found) if found else shortage


def of(pod_class: PodClass, nodes: NodeTable, profile: Profile) -> tuple[Oversized, ...]:
    """Return what no node has that the filters of nodes let a pod have. Computed likewise."""
    return nodes.derive(
        ("oversized", pod_class, profile), functools.partial(_all, pod_class, nodes, profile)
    )


def unmatched(pod_class: PodClass, nodes: NodeTable) -> tuple[Unmatched, ...]:
    """Return the first labels of a nodeSelector that no node has. Computed likewise."""
    return nodes.derive(
        ("unmatched", pod_class), lambda: tuple(itertools.islice(_labels(pod_class, nodes), NAMED))
    )


def _labels(pod_class: PodClass, nodes: NodeTable) -> Iterator[Unmatched]:
    for key, value in pod_class.node_selector:
        column = nodes.label(key)
        if value in column.by_value:
            continue
        if column.values:
            near = _meant(value, column.values)
            yield Unmatched(key, value, f"{key}={near}" if near else "")
        else:
            near = _meant(key, nodes.derive(("label_keys",), lambda: _keys(nodes)))
            yield Unmatched(key, value, near)


def _keys(nodes: NodeTable) -> tuple[str, ...]:
    return tuple(sorted({key for node in nodes.nodes[:MOST_READ] for key in node.labels}))


def _meant(name: str, known: Sequence[str]) -> str:
    """Return the known name that may be meant; "" if none is alike, or there are many."""
    if len(known) > MOST_READ:
        return ""
    for each in known:
        if each.casefold() == name.casefold():
            return each
    return "".join(likeness.close_to(name, known, cutoff=CLOSE_ENOUGH))


def _all(pod_class: PodClass, nodes: NodeTable, profile: Profile) -> tuple[Oversized, ...]:
    usable = np.ones(len(nodes), dtype=np.bool_)
    for each in profile.node_filters:
        usable &= each.passes(pod_class, nodes)
    return tuple(_each(pod_class, nodes, usable))


def _each(pod_class: PodClass, nodes: NodeTable, usable: BoolArray) -> Iterator[Oversized]:
    unknown = 0
    for name, asked in pod_class.requests:
        column = nodes.axis.get(name)
        if name == PODS or asked <= 0:
            continue
        if column is None:
            unknown += 1
            known = nodes.resources if unknown <= MOST_MEANT else ()
            near = likeness.close_to(name, known, cutoff=CLOSE_ENOUGH)
            device_class = nodes.device_classes.get(name, "")
            yield Oversized(name, asked, near="".join(near), device_class=device_class)
            continue
        offered = nodes.allocatable[:, column]
        largest = int(offered[usable].max(initial=0))
        if asked > largest:
            most, device_class = int(offered.max(initial=0)), nodes.device_classes.get(name, "")
            yield Oversized(name, asked, largest, most, device_class="" if most else device_class)
