"""The cluster at one moment, as the scheduler sees it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_scheduler.model.bound_pods import NONE_PINNED, BoundPods, PinnedPods
from gang_scheduler.model.device_needs import NO_DEVICES, Devices
from gang_scheduler.model.evictions import YieldedTo
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.layers import TreeSpec
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.plan import Reservation
from gang_scheduler.model.pods import HostPort, Pod
from gang_scheduler.model.provisioning import Provisioning
from gang_scheduler.model.queues import QueueState
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import AffinityCounts
from gang_scheduler.model.volumes import NO_VOLUMES, Volumes


class Nominated(NamedTuple):
    """A waiting pod that has a nominated node, and its gang with its priority."""

    pod: Pod
    gang: GangKey
    priority: int


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state on which one cycle decides. `taken_at` is in seconds since the epoch.

    `free` is nodes by resources, in the order of `nodes` and of its resource axis, and may be
    negative if a node is over-committed. `host_ports` has the taken ports by row of the node, only
    for nodes where one is taken; they may be mapped to the number of pods. `affinity_counts` counts
    pods by the selectors and terms that concern them. `volumes` are all volumes, and `devices` all
    devices, if a group uses any. `held` is the usage of pods of each priority in the whole cluster,
    along the resource axis. `tree_specs` are in the order in which a layer is looked up.
    `bound_pods` are the pods on the nodes, if a group may evict some of them, and `pinned` the
    pinned ones among them. `nominated` are all pods with reserved room.

    `groups` are the groups to try. `queues` are None if there are none: then nothing is limited,
    and the profile decides the order. `yielded` maps evicted gangs to their preemptors, as far as
    that is remembered, for `groups` and for the gangs that their links lead to. `resting` are gangs
    that get no reservation for a while, since they held one for long, or no start was found.
    `promised` are the reservations of earlier cycles: a hint of where the next search begins, and
    which gangs come before those that have none. `promised_long` are those of them whose namespace
    has had reservations for long: they take no place from gangs of others. `provisioning` is None
    if no nodes can be requested. `failed_nodes` are the names of nodes that count as failed.
    `build_work` is the work that building the snapshot took, counted in gangs.
    """

    taken_at: int
    nodes: NodeTable
    free: IntArray
    host_ports: Mapping[int, Collection[HostPort]] = field(default_factory=dict)
    affinity_counts: AffinityCounts = field(default_factory=AffinityCounts)
    volumes: Volumes = NO_VOLUMES
    devices: Devices = NO_DEVICES
    held: Mapping[int, IntArray] = field(default_factory=dict)
    tree_specs: tuple[TreeSpec, ...] = ()
    bound_pods: BoundPods | None = None
    pinned: PinnedPods = NONE_PINNED
    nominated: tuple[Nominated, ...] = ()
    groups: tuple[GangGroup, ...] = ()
    queues: QueueState | None = None
    yielded: Mapping[GangKey, tuple[YieldedTo, ...]] = field(default_factory=dict)
    resting: frozenset[GangKey] = frozenset()
    promised: Mapping[GangKey, Reservation] = field(default_factory=dict)
    promised_long: frozenset[GangKey] = frozenset()
    provisioning: Provisioning | None = None
    failed_nodes: frozenset[str] = frozenset()
    build_work: float = 0
