"""Nodes by state, and what is used and free on them."""

from collections.abc import Collection, Iterator

import numpy as np

from gang_scheduler.model.network import topology
from gang_scheduler.model.network.layers import TreeSpec
from gang_scheduler.model.nodes import ABSENT, NodeTable
from gang_scheduler.model.resources import CPU
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import Values
from gang_scheduler.telemetry.metrics import WHOLE_CLUSTER

PART = "cluster"
"""What is shown here of gauges that others show, too."""


class ClusterGauges:
    """Shows them. Nodes are counted anew only when one of them, or a tree, has changed."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._counted: tuple[NodeTable, tuple[TreeSpec, ...]] | None = None

    def show(self, asked: Collection[str]) -> None:
        """Show the cluster as it is now; gangs wait for the resources that are `asked` for."""
        table, trees = self._cache.node_usage.table(), self._cache.topologies.tree_specs()
        before = self._counted
        if before is None or before[0] is not table or before[1] != trees:
            metrics.NODES.show(_by_state(table, trees))
            self._counted = table, trees
        free = self._cache.node_usage.free()
        used = (table.allocatable - free)[table.ready].sum(axis=0)
        there = table.allocatable[table.ready].sum(axis=0)
        metrics.UTILIZATION.show(
            (
                ((name, WHOLE_CLUSTER), used[at] / there[at])
                for name, at in table.axis.items()
                if there[at]
            ),
            of=PART,
        )
        usable = np.maximum(free[table.ready & ~table.unschedulable], 0).sum(axis=0)
        metrics.IDLE_WHILE_WAITING.show(
            ((name,), _in_units(name, int(usable[at])) if name in asked else 0)
            for name, at in table.axis.items()
        )


def _by_state(table: NodeTable, trees: tuple[TreeSpec, ...]) -> Iterator[tuple[Values, float]]:
    """Yield how many nodes there are of each state; a cordoned one is in no other state."""
    cordoned = table.unschedulable
    yield ("ready",), int((table.ready & ~cordoned).sum())
    yield ("not_ready",), int((~table.ready & ~cordoned).sum())
    yield ("cordoned",), int(cordoned.sum())
    outside = np.ones(len(table), dtype=np.bool_) if trees else np.zeros(len(table), dtype=np.bool_)
    for tree_spec in trees:
        outside &= topology.build(tree_spec, table).places == ABSENT
    yield ("outside_tree",), int(outside.sum())


def _in_units(resource: str, amount: int) -> float:
    return amount / 1000 if resource == CPU else amount
