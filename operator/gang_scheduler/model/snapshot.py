"""The cluster at one moment, as the scheduler sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.layers import Scheme
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import HostPort


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What one cycle decides on.

    `taken_at` is in seconds since the epoch. `free` is nodes by resources, in the order of
    `nodes` and of its resource axis, and may be negative where a node is over-committed.
    `host_ports` has a row only where a port is taken. `held` is what pods of each priority use
    in the whole cluster, along the resource axis. `schemes` are those of the trees of the network,
    in the order in which a layer is looked up. `groups` are those worth a try now.
    """

    taken_at: int
    nodes: NodeTable
    free: IntArray
    host_ports: Mapping[int, frozenset[HostPort]] = field(default_factory=dict)
    held: Mapping[int, IntArray] = field(default_factory=dict)
    schemes: tuple[Scheme, ...] = ()
    groups: tuple[GangGroup, ...] = ()
