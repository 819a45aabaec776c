"""A pod and its class (its requirements on a node), and virtual pods of suspended workloads."""

import enum
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, NamedTuple, TypeVar, overload

from gang_scheduler.model.checkpoints import PodCheckpoint
from gang_scheduler.model.device_needs import DeviceNeeds, PodClaim, Uses
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.extended_resources import ContainerRequest, claim_name
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.records import record
from gang_scheduler.model.refs import ChargedTo, GangKey, NaturalKey, QueueRequest, natural_key
from gang_scheduler.model.selectors import NodeTerm, PodAffinity, PodSelector
from gang_scheduler.model.topology_request import GangRequest, PodSet
from gang_scheduler.model.volumes import PodVolume, Storage


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the host that a container claims."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104 - Kubernetes' word for "all addresses"; nothing is opened here.

    def conflicts(self, other: "HostPort") -> bool:
        """Return whether both cannot be on one node (rule of kube-scheduler's NodePorts)."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip)  # noqa: S104 - as above.


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PodClass:
    """The requirements of a pod on its node. Pods with equal requirements form one class.

    `requests` are the amounts that the kubelet counts, sorted by name, with `pods: 1`. `preferred`
    are weights and terms of node affinity. `features` are the features that a node must declare.
    `pod_affinity` are its terms about other pods, `selected_by` are the selectors of other pods
    that select it, `storage` are the requirements of its volumes, and `devices` those of its claims
    of devices: the last three are known only in a cluster, and change with it. `unsupported` names
    the fields that this scheduler cannot honour yet. `unasked` are resources that are requested
    only by containers which an operator adds, so no user has written them. `claimed` is what queues
    count for its claims of devices, sorted by name. The hash is kept, since classes are keys of
    every hot dictionary.
    """

    requests: tuple[tuple[str, int], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    features: tuple[str, ...] = ()
    pod_affinity: PodAffinity | None = None
    selected_by: frozenset[PodSelector] = frozenset()
    storage: Storage | None = None
    devices: DeviceNeeds | None = None
    unsupported: tuple[str, ...] = ()
    unasked: frozenset[str] = frozenset()
    claimed: tuple[tuple[str, int], ...] = ()
    digest: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the hash."""
        identity = (
            self.requests,
            self.node_selector,
            self.affinity,
            self.tolerations,
            self.host_ports,
            self.preferred,
            self.features,
            self.pod_affinity,
            self.selected_by,
            self.storage,
            self.devices,
            self.unsupported,
            self.unasked,
            self.claimed,
        )
        object.__setattr__(self, "digest", hash(identity))

    def __hash__(self) -> int:
        return self.digest

    @property
    def charged(self) -> tuple[tuple[str, int], ...]:
        """What queues count: the requests, and the devices of claims."""
        return (*self.requests, *self.claimed) if self.claimed else self.requests


class Elastic(NamedTuple):
    """The limits between which the number of workers may change, and the pace of changes.

    The cooldowns are in seconds since the last change, the steps are in workers. `role` is the role
    of the workers, "" if all members are workers. `by_replicas`: the mode is `Replicas`, in which
    the scheduler changes how many pods the workload has.
    """

    min_workers: int
    max_workers: int
    up_cooldown: int = 0
    down_cooldown: int = 0
    up_step: int = 1
    down_step: int = 1
    role: str = ""
    by_replicas: bool = False

    def counts(self, pod: "Pod") -> bool:
        """Return whether a member is one of the workers."""
        return not self.role or pod.role == self.role


class GangAnnotations(NamedTuple):
    """The annotations of a pod about its gang, and their faults.

    `elastic` is None if the pod has no valid annotation on how the gang grows. `options` are the
    annotations with options of a gang, each with the option that it sets and its value. If an
    object describes the gang, these annotations belong on that object.
    """

    elastic: Elastic | None = None
    elastic_problem: Problem | None = None
    options: tuple[tuple[str, str, object], ...] = ()
    options_problem: Problem | None = None

    @property
    def has_elastic(self) -> bool:
        """Whether the pod has an annotation on growing, valid or not."""
        return self.elastic is not None or self.elastic_problem is not None


class PodPhase(enum.StrEnum):
    """`status.phase` of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


GRACE_SECONDS: Final = 30
"""The grace period of containers in pods that declare none, as in Kubernetes."""
ENDED = (PodPhase.SUCCEEDED, PodPhase.FAILED)


@record
class Pod:
    """A pod, as far as the scheduler reads it. Times are in seconds since the epoch.

    `assumed`: the node is from a binding of ours that the API server has not shown yet. `gang` is
    the gang that the pod names, or a gang of one; `problem` is a fault in its fields about the
    gang. `created_at` is made up for a manifest, which has no creation time. `labels` are all
    labels of the pod, `annotations` only those with prefixes that the scheduler knows. `owner` has
    `namespace/name` of each owner, sorted, with commas between. `job` and `job_uid` name the Job
    that controls the pod, `stateful_set` the StatefulSet.

    `workload_uid` is the workload that creates the pod again as long as it exists, "" if unknown.
    `run` is equal for pods of one run of a workload, "" if ended pods are created again. `rank`
    comes from its index, smaller first; empty without an index. `role` is its role in its gang, ""
    for none.

    `gang_annotations` are the pod's annotations on how its gang is scheduled, `podset` its own
    topology request, `gang_request` the topology request that it makes for its whole gang.
    `volumes` are the volumes that may limit its nodes, `claims` its claims of devices, `extended`
    the requests of its containers for resources that may stand for devices. `queue_request` is the
    queue that the pod names, `charged_to` the queue that its binding names, `run_time` its declared
    run time. Most pods have none of these. `priority_class` is the name of the class that sets
    `priority`.

    `unscheduled` is the reason and message of a PodScheduled condition that is false: the scheduler
    writes it, so it does not count when pods are compared. `unscheduled_at` is when that condition
    became false, and `scheduled_at` when it became true. `nominated` is the pod's nominated node,
    `preempts` whether the pod may evict other pods. `marked_as_victim`: the pod has our condition
    DisruptionTarget; `starting_anew`: it has it because its degraded gang starts again as a whole.
    `started_at` is when the pod began to run. A pod that is being deleted since `deleted_at` should
    be gone at `gone_by`. `refused` is why the kubelet rejected the pod, "" if it did not.

    A `pinned` pod is recreated on the same node after an eviction (DaemonSets, mirror pods). A
    `virtual` pod is not created yet, since its workload is suspended: nothing can be written to it.
    `checkpoint` are its reports on checkpoints, None for most pods. `address` is its IP, "" without
    one or in the network of its node; `grace_seconds` is the time that its containers get to end.
    """

    uid: str
    namespace: str
    name: str
    gang: GangKey
    pod_class: PodClass
    scheduler: str = ""
    node: str = ""
    assumed: bool = False
    priority: int = 0
    priority_class: str = field(default="", compare=False)
    created_at: float = 0
    has_creation_time: bool = field(default=True, compare=False)
    phase: PodPhase = PodPhase.PENDING
    deleting: bool = False
    gated: bool = False
    owner: str = ""
    job: str = ""
    job_uid: str = ""
    workload_uid: str = ""
    run: str = ""
    stateful_set: str = ""
    problem: Problem | None = None
    rank: tuple[int, ...] = ()
    role: str = ""
    podset: PodSet | None = None
    gang_request: GangRequest | None = None
    gang_annotations: GangAnnotations | None = field(default=None, compare=False)
    volumes: tuple[PodVolume, ...] = ()
    claims: tuple[PodClaim, ...] = ()
    extended: tuple[ContainerRequest, ...] = ()
    queue_request: QueueRequest | None = None
    charged_to: ChargedTo | None = None
    run_time: RunTime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    unscheduled: tuple[str, str] | None = field(default=None, compare=False)
    unscheduled_at: int = field(default=0, compare=False)
    scheduled_at: int = field(default=0, compare=False)
    nominated: str = ""
    preempts: bool = True
    marked_as_victim: bool = False
    starting_anew: bool = False
    started_at: int = field(default=0, compare=False)
    gone_by: int = field(default=0, compare=False)
    deleted_at: int = field(default=0, compare=False)
    refused: str = ""
    pinned: bool = False
    virtual: bool = False
    checkpoint: PodCheckpoint | None = None
    address: str = field(default="", compare=False)
    grace_seconds: int = field(default=GRACE_SECONDS, compare=False)

    @property
    def key(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def uses(self) -> Uses:
        """The claims that the pod names or has for extended resources, each with the pod's uid."""
        found = [each.claim for each in self.claims if each.claim]
        if self.extended:
            found.append(claim_name(self.name, self.uid))
        return tuple([(f"{self.namespace}/{claim}", self.uid) for claim in dict.fromkeys(found)])

    def may_use_devices(self, *, extended: bool) -> bool:
        """Return whether the pod may have claims; `extended`: nodes offer devices as resources."""
        return bool(self.claims or (extended and self.extended))

    @property
    def terminal(self) -> bool:
        """Whether the pod succeeded or failed: it no longer uses anything of its node."""
        return self.phase in ENDED

    @property
    def is_victim(self) -> bool:
        """Whether the pod is a victim of a plan in progress: marked, or asked to save its work."""
        return self.marked_as_victim or (
            self.checkpoint is not None and self.checkpoint.request is not None
        )

    @property
    def ran_since(self) -> int:
        """The start of the pod, in seconds since the epoch, as far as it is known.

        The kubelet writes it. Until then the time of the binding is the best guess.
        """
        return int(self.started_at or self.scheduled_at or self.created_at)

    def lost_work(self, now: int, since: int = 0) -> int:
        """Return the run time that an eviction loses, in pod-seconds; times are in seconds.

        The run time before `since` is not lost.
        """
        if not self.started_at or self.is_victim:
            return 0
        return max(0, now - max(self.started_at, since))

    @property
    def living(self) -> bool:
        """Whether it can be a member of a gang: neither ended, nor being deleted, nor gated."""
        # This runs for every pod of a large cluster: one more call would be noticeable.
        return not (self.phase in ENDED or self.deleting or self.gated)


def rank_key(pod: Pod) -> tuple[bool, tuple[int, ...], NaturalKey]:
    """Return a sort key: the rank, then the name in natural order; pods without a rank are last."""
    return not pod.rank, pod.rank, natural_key(pod.name)


# The members of a suspended workload: pods that do not exist yet, created on first use. Ten
# thousand workloads of 64 members are ten thousand prototypes instead of 640,000 pods. The
# prototype has the fields that members of one template share. Slots have the fields that differ,
# and workloads of one size share their slots.

K = TypeVar("K", bound=Hashable)
# `replace` would cost ten times as much, and most members are created for one cycle. So the fields
# of a new pod are set by the descriptors of its slots.
_Put = Callable[[Pod, object], None]
_UID: Final[_Put] = Pod.__dict__["uid"].__set__
_NAME: Final[_Put] = Pod.__dict__["name"].__set__
_RANK: Final[_Put] = Pod.__dict__["rank"].__set__
_SHARED: Final[tuple[tuple[str, _Put], ...]] = tuple(
    (each.name, Pod.__dict__[each.name].__set__)
    for each in fields(Pod)
    if each.name not in ("uid", "name", "rank")
)
"""The fields that members of one template share."""


class Slot(NamedTuple):
    """One member: the index of its prototype, the end of its name, and its rank."""

    prototype: int
    suffix: str
    rank: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class VirtualPods(Sequence[Pod]):
    """The members in a fixed order, created when they are first needed.

    The name of each is `prefix` and a suffix; its uid is `uid`, the workload's, and its name.
    `release` only saves memory: members would be created equal again.
    """

    uid: str
    prefix: str
    prototypes: tuple[Pod, ...]
    slots: tuple[Slot, ...]
    _made: list[tuple[Pod, ...]] = field(default_factory=list, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.slots)

    @overload
    def __getitem__(self, index: int) -> Pod: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Pod, ...]: ...

    def __getitem__(self, index: int | slice) -> Pod | tuple[Pod, ...]:
        return self._all()[index]

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VirtualPods):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash((self.uid, self.prefix, len(self.slots)))

    @property
    def made(self) -> int:
        """How many members are kept."""
        return len(self.slots) if self._made else 0

    def release(self) -> None:
        """Keep no members."""
        self._made.clear()

    def sorted_by(self, places: Sequence[int]) -> "VirtualPods":
        """Return the members sorted by `places`, which has a sort key for each prototype."""
        slots = tuple(sorted(self.slots, key=lambda slot: places[slot.prototype]))
        return VirtualPods(self.uid, self.prefix, self.prototypes, slots)

    def with_prototypes(self, prototypes: Sequence[Pod]) -> "VirtualPods":
        """Return the members with new prototypes, which replace the present ones in their order."""
        return VirtualPods(self.uid, self.prefix, tuple(prototypes), self.slots)

    def _all(self) -> tuple[Pod, ...]:
        if not self._made:
            shared = [
                [(put, getattr(prototype, name)) for name, put in _SHARED]
                for prototype in self.prototypes
            ]
            self._made.append(tuple(self._pod(slot, shared[slot.prototype]) for slot in self.slots))
        return self._made[0]

    def _pod(self, slot: Slot, shared: Iterable[tuple[_Put, object]]) -> Pod:
        """Return a member, with the fields that it shares with others of its template."""
        name = f"{self.prefix}{slot.suffix}"
        pod: Pod = object.__new__(Pod)
        for put, value in shared:
            put(pod, value)
        _UID(pod, f"{self.uid}/{name}")
        _NAME(pod, name)
        _RANK(pod, slot.rank)
        return pod

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.uid, self.prefix, self.prototypes, self.slots


def numbers_of(pods: VirtualPods) -> Counter[int]:
    """Return how many members each prototype has, by its index."""
    return Counter(slot.prototype for slot in pods.slots)


def numbers_by(pods: Iterable[Pod], key: Callable[[Pod], K]) -> Counter[K]:
    """Return how many pods have each value of a key. The key must not contain name, uid or rank."""
    if type(pods) is not VirtualPods:
        return Counter(map(key, pods))
    found: Counter[K] = Counter()
    for place, number in numbers_of(pods).items():
        found[key(pods.prototypes[place])] += number
    return found


def one_of_each(pods: Sequence[Pod]) -> Sequence[Pod]:
    """Return one pod of each kind: all others differ from one of these only in name and rank."""
    # This runs for every waiting gang. `isinstance` with an abstract base class takes ten times as
    # long.
    return pods.prototypes if type(pods) is VirtualPods else pods
