"""What a pod asks that no node has, however empty it is."""

import difflib
import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Oversized, Shortage
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.policies import Profile

CLOSE_ENOUGH: Final = 0.8


def told(
    shortage: Shortage | None, pod_class: PodClass, nodes: NodeTable, profile: Profile
) -> Shortage | None:
    """Return the shortage with what no node has. Computed once a node table and class."""
    if shortage is None or not shortage.lacking:
        return shortage
    found = of(pod_class, nodes, profile)
    return replace(shortage, oversized=found) if found else shortage


def of(pod_class: PodClass, nodes: NodeTable, profile: Profile) -> tuple[Oversized, ...]:
    """Return what no node has that the filters of nodes let a pod have. Computed likewise."""
    return nodes.derive(
        ("oversized", pod_class, profile), functools.partial(_all, pod_class, nodes, profile)
    )


def _all(pod_class: PodClass, nodes: NodeTable, profile: Profile) -> tuple[Oversized, ...]:
    usable = np.ones(len(nodes), dtype=np.bool_)
    for each in profile.node_filters:
        usable &= each.passes(pod_class, nodes)
    return tuple(_each(pod_class, nodes, usable))


def _each(pod_class: PodClass, nodes: NodeTable, usable: BoolArray) -> Iterator[Oversized]:
    for name, asked in pod_class.requests:
        column = nodes.axis.get(name)
        if name == PODS or asked <= 0:
            continue
        if column is None:
            near = difflib.get_close_matches(name, nodes.resources, n=1, cutoff=CLOSE_ENOUGH)
            yield Oversized(name, asked, near="".join(near))
            continue
        offered = nodes.allocatable[:, column]
        largest = int(offered[usable].max(initial=0))
        if asked > largest:
            yield Oversized(name, asked, largest, int(offered.max(initial=0)))
