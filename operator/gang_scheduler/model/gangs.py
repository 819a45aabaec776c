"""A waiting gang: its members, and how many must start together."""

import enum
import functools
import operator
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from gang_scheduler.model.pods import (
    Elastic,
    Pod,
    PodClass,
    VirtualPods,
    numbers_by,
    one_of_each,
)
from gang_scheduler.model.queues import LocalQueueWeight, QueueRef
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.records import record
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Suspended
from gang_scheduler.model.topology_request import TopologyRequest

T = TypeVar("T")


class BlockCause(enum.IntEnum):
    """Why a gang may not evict pods. If a group has several causes, the lowest is reported."""

    TOO_MANY_ROUNDS = 1
    UNDER_WAY = 2
    """Pods that the gang has evicted, or that leave its nominated nodes, are still there."""
    POLICY_NEVER = 3
    SWITCHED_OFF = 4
    IN_VAIN = 5
    """Recent evictions for gangs of the same namespace and queue had no effect."""


class PreemptionBlock(NamedTuple):
    """Why a gang may not evict pods now.

    `pod` is the namespace/name of the first member with the policy Never. `rounds` is the
    number of recent preemptions if they have reached a limit, otherwise 0. These are preemptions
    for the gang, or with IN_VAIN those for its namespace and queue after which no gang started.
    """

    cause: BlockCause
    pod: str = ""
    rounds: int = 0


class MatchPolicy(enum.StrEnum):
    """The members that count towards a quorum."""

    ONLY_WAITING = "only-waiting"
    WAITING_AND_RUNNING = "waiting-and-running"
    ONCE_SATISFIED = "once-satisfied"


class OwnDomains(NamedTuple):
    """The domains that Jobs need for themselves: `many` distinct values of a node `label`.

    Each domain must have room for `pods` members with these requests.
    """

    label: str
    many: int
    pods: int
    requests: tuple[tuple[str, int], ...]


class Role(NamedTuple):
    """A role of a gang, such as master or worker: every quorum has `min_member` members of it.

    `max_member` is the most that are bound; None for any number.
    """

    name: str
    min_member: int
    max_member: int | None = None


def place_of(pod: Pod, roles: Sequence[Role]) -> int:
    """Return the place of a member's role among the roles of its gang; the last for no role."""
    names = [each.name for each in roles]
    return names.index(pod.role) if pod.role in names else len(names)


def role_of(pod: Pod) -> str:
    """Return the role of a pod in its gang; "" without a role."""
    return pod.role


def hold(members: Iterable[Pod], roles: Iterable[Role]) -> bool:
    """Return whether there are enough members of every role."""
    counts = numbers_by(members, role_of)
    return all(counts[each.name] >= each.min_member for each in roles)


class RoleCount(NamedTuple):
    """How many members of a role there are, and how many a quorum needs."""

    role: str
    present: int
    needed: int


class ElasticSize(NamedTuple):
    """The current size of an elastic gang: `bound` of its workers have a node.

    It had `after_change` workers after its last change, `changed_at` in seconds since the epoch;
    None if it has not started. `preempted`: that change was a preemption. Losses since then that
    the scheduler did not decide are replaced at any time.
    """

    elastic: Elastic
    bound: int = 0
    after_change: int = 0
    changed_at: int | None = None
    preempted: bool = False


# The number of replicas of a workload, for elastic gangs in mode `Replicas`. The scheduler changes
# one field, together with the annotation `elastic-state`, which says what was written. So nothing
# about a change is lost in a restart, and a change by another writer is noticed: the field then
# differs from the annotation.

APART_SECONDS: Final = 30
"""How long a workload is left alone after each change."""


class ChangeReason(enum.StrEnum):
    """Why a number of replicas was changed."""

    ROOM_FREE = "RoomFree"
    NO_ROOM = "NoRoom"
    PREEMPTED = "Preempted"


MOST_EDITS: Final = 2
"""How many of the last changes by other writers are remembered."""


class WrittenReplicas(NamedTuple):
    """The last change of a number of workers, as the object records it. Times are in seconds.

    `vain` is how often the gang grew and the new workers found no room. `edits` are the times at
    which other writers had changed the number before. `stopped` is the signature of the annotation
    under which they changed it too often, "" if they did not.
    """

    workers: int
    at: int
    why: str = ""
    vain: int = 0
    edits: tuple[int, ...] = ()
    stopped: str = ""


def signature(elastic: Elastic) -> str:
    """Return a short text that differs for annotations of other content."""
    return f"{zlib.crc32(repr(tuple(elastic)).encode()):08x}"


@dataclass(frozen=True, slots=True)
class Replicas:
    """The number of replicas in the spec of a workload.

    `drops_highest`: if the number is lowered, the members with the highest ranks end. `ends_named`:
    the members that the change names end first, then others until the number is right. `edited_at`
    is when another writer changed the number since the change that was `written`, in seconds; None
    if none did. `editor` is the field manager of that change, "" if it is not known.
    """

    number: int
    drops_highest: bool = False
    written: WrittenReplicas | None = None
    edited_at: int | None = None
    editor: str = ""
    ends_named: bool = False

    def edits(self, now: int) -> tuple[int, ...]:
        """Return when other writers changed the number, in seconds, as far as it is known."""
        before = () if self.written is None else self.written.edits
        last = () if self.edited_at is None else (min(self.edited_at, now) or now,)
        return (*before, *last)[-MOST_EDITS:]

    def is_fresh(self, now: int) -> bool:
        """Return whether the last change is so recent that the object is left alone."""
        written = self.written
        return written is not None and now - min(written.at, now) < APART_SECONDS


class ReplicasChange(NamedTuple):
    """A change of the number of replicas. `vain`: how often in a row new ones found no room.

    `ending` are the names of the pods that end, for controllers that read them. `edits` are when
    other writers changed the number before, in seconds.
    """

    before: int
    after: int
    why: ChangeReason
    vain: int = 0
    ending: tuple[str, ...] = ()
    edits: tuple[int, ...] = ()


@record
class Gang:
    """A gang as one cycle sees it. Times are in seconds since the epoch.

    Members: `pending` is in rank order. `bound` counts living members that have a node, and
    `bound_members` lists them in rank order, if the group or its members have a topology request.
    `absent` are members that may still be created: classes and numbers. `roles` are in rank order,
    and their minima sum up to `min_member`; empty if any members form a quorum. `bound_by_role`
    counts the bound members of each role that has some. `each_alone`: every member is a gang of
    one. `strict`: the mode is Strict, not NonStrict. `suspended` is the workload whose pods the
    members will be; None for a gang that has pods.

    State: `was_whole`: the gang once had its minMember on nodes and has not been empty since. A
    `partially_bound` gang was being bound when the scheduler crashed, and is decided first.
    `preemption_block` is why the gang may not evict pods; None if it may. It is in line since
    `created_at`. `complete_at` is when the last member of its quorum was created, 0 if unknown.

    Order and quota: `priority` is the lowest priority of a member; `class_priority` is the value of
    its WorkloadPriorityClass, None if it names none. `queue` is the leaf to which its members are
    charged; None without queues. `local_queue` is its LocalQueue, if the order in the queue depends
    on LocalQueues. `flavors` are pairs of a resource and the flavor in which bound members are
    charged: later members keep to these. `duration` is the declared run time of its members in
    seconds; None if unknown.

    `elastic_size` says how a gang may grow and shrink; None if its size is fixed. `object_uid` is
    the uid of the object that describes it, "" if its members do. If it finds no room, nodes are
    requested with its `provisioning_class`, or if that is "" with its queue's. `own_domains` are
    domains that must have room for later pods; None for most gangs.
    """

    key: GangKey
    uid: str
    created_at: float
    priority: int
    min_member: int
    pending: Sequence[Pod]
    bound: int = 0
    was_whole: bool = False
    partially_bound: bool = False
    each_alone: bool = False
    strict: bool = True
    match_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    min_resources: tuple[tuple[str, int], ...] = ()
    own_domains: OwnDomains | None = None
    bound_members: tuple[Pod, ...] = ()
    preemption_block: PreemptionBlock | None = None
    problem: Problem | None = None
    queue: QueueRef | None = None
    class_priority: int | None = None
    flavors: frozenset[tuple[str, str]] = frozenset()
    duration: int | None = None
    absent: tuple[tuple[PodClass, int], ...] = ()
    local_queue: LocalQueueWeight | None = None
    roles: tuple[Role, ...] = ()
    bound_by_role: tuple[tuple[str, int], ...] = ()
    elastic_size: ElasticSize | None = None
    object_uid: str = ""
    provisioning_class: str = ""
    suspended: Suspended | None = None
    complete_at: float = 0

    @property
    def queue_priority(self) -> int:
        """The priority that counts among the gangs of queues."""
        return self.priority if self.class_priority is None else self.class_priority

    @property
    def lacking(self) -> int:
        """How many members the gang lacks of its minMember. It may evict pods only for these."""
        if self.each_alone:
            return len(self.pending)
        if self.roles:
            bound = dict(self.bound_by_role)
            return sum([max(0, each.min_member - bound.get(each.name, 0)) for each in self.roles])
        return max(0, self.min_member - self.bound)

    @property
    def replacing(self) -> bool:
        """Whether the gang has started and lacks members: waiting members replace lost ones."""
        return self.was_whole and not self.each_alone and self.bound > 0 and self.lacking > 0

    @property
    def placed_singly(self) -> bool:
        """Whether members need not be placed together: it has started, or each is a gang of one."""
        is_free = not self.strict or self.match_policy is MatchPolicy.ONCE_SATISFIED
        return self.each_alone or (self.was_whole and is_free)

    @property
    def quorum(self) -> int:
        """How many pending members come before any surplus: the number that the gang lacks.

        The quorum is placed together or not at all, unless `placed_singly`. 0: all pending members
        are surplus.
        """
        return self.min_member if self._only_waiting_count else self.lacking

    @property
    def quorum_by_role(self) -> Mapping[str, int]:
        """How many pending members of each role come before any surplus; "" is any member."""
        if not self.roles:
            return {"": self.quorum}
        bound = {} if self._only_waiting_count else dict(self.bound_by_role)
        return {each.name: max(0, each.min_member - bound.get(each.name, 0)) for each in self.roles}

    @property
    def complete(self) -> bool:
        """Whether the existing members, with and without a node, contain a quorum."""
        if not self.roles:
            return len(self.pending) + self.bound >= self.min_member
        present = self._present_by_role(dict(self.bound_by_role))
        return all(present[each.name] >= each.min_member for each in self.roles)

    @property
    def missing(self) -> tuple[RoleCount, ...]:
        """The roles that have fewer members than a quorum needs."""
        if not self.roles:
            return ()
        present = self._present_by_role(
            {} if self._only_waiting_count else dict(self.bound_by_role)
        )
        counts = (RoleCount(each.name, present[each.name], each.min_member) for each in self.roles)
        return tuple(each for each in counts if each.present < each.needed)

    @property
    def startable(self) -> Sequence[Pod]:
        """The pending members, without members beyond the maximum of their role."""
        if all(each.max_member is None for each in self.roles):
            return self.pending
        bound, most = dict(self.bound_by_role), self.bound + len(self.pending)
        room = {
            each.name: (most if each.max_member is None else each.max_member)
            - bound.get(each.name, 0)
            for each in self.roles
        }
        waiting = numbers_by(self.pending, role_of)
        if all(number <= room.get(role, 0) for role, number in waiting.items()):
            return self.pending
        return tuple(self._first_of_roles(self.pending, room))

    def nominated_members(self) -> Iterator[Pod]:
        """Yield the waiting members with reserved room; for virtual pods, one of each class."""
        return (pod for pod in one_of_each(self.pending) if pod.nominated)

    def full_role(self) -> Role | None:
        """Return the role of the first pending member beyond its maximum; None without one."""
        startable = {pod.uid for pod in self.startable}
        most = {each.name: each for each in self.roles if each.max_member is not None}
        over = (pod.role for pod in self.pending if pod.uid not in startable)
        return next((most[role] for role in over if role in most), None)

    def role_of(self, pod: Pod) -> str:
        """Return the role of a member; "" if the gang has no roles."""
        return pod.role if self.roles else ""

    def quorum_among(self, pods: Iterable[Pod]) -> frozenset[str]:
        """Return the uids of the pods that come before any surplus: the first of each role."""
        return frozenset(pod.uid for pod in self._first_of_roles(pods, self.quorum_by_role))

    def _first_of_roles(self, pods: Iterable[Pod], room: Mapping[str, int]) -> Iterator[Pod]:
        """Yield the first pods of each role, as many as `room` has for it."""
        left = dict(room)
        for pod in pods:
            role = self.role_of(pod)
            if left.get(role, 0) > 0:
                left[role] -= 1
                yield pod

    def _present_by_role(self, bound: Mapping[str, int]) -> Counter[str]:
        """Return how many members there are of each role."""
        return Counter(bound) + numbers_by(self.pending, role_of)

    @property
    def _only_waiting_count(self) -> bool:
        """Whether members on nodes do not count for the quorum."""
        is_strict = self.match_policy is MatchPolicy.ONLY_WAITING
        return is_strict and not self.partially_bound and not self.placed_singly


_WITHOUT_MEMBERS: Final = frozenset({"plain", "set_aside"})
"""The names of cached values that contain no virtual members."""


@dataclass(frozen=True)
class GangGroup:
    """Gangs that start together or not at all; a gang by itself is a group of one.

    `gangs` are the gangs that have not been whole yet, in order of their keys; at least one has
    pending members. `topology_request` is the request of the group as a whole, also of a group of
    one gang. `started` are the bound members of gangs of the group that have been whole, if other
    gangs must be near them. `declared` are the keys of all gangs of the group, whole ones included;
    empty for a gang by itself.

    A group that waits for long is the same object in many cycles, so derived values are stored in
    it.
    """

    gangs: tuple[Gang, ...]
    problem: Problem | None = None
    topology_request: TopologyRequest | None = None
    started: tuple[Pod, ...] = ()
    declared: frozenset[GangKey] = frozenset()
    _cache: dict[str, tuple[tuple[object, ...], Any]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @functools.cached_property
    def name(self) -> str:
        """The name of the group: its first gang's."""
        return str(self.gangs[0].key)

    @functools.cached_property
    def keys(self) -> tuple[GangKey, ...]:
        """The keys of its gangs."""
        return tuple(gang.key for gang in self.gangs)

    @functools.cached_property
    def has_min_resources(self) -> bool:
        """Whether a gang must find an amount of free resources before it is tried."""
        return any(gang.min_resources for gang in self.gangs)

    @functools.cached_property
    def waiting(self) -> tuple[Gang, ...]:
        """The gangs with pending members."""
        return tuple(gang for gang in self.gangs if gang.pending)

    @functools.cached_property
    def priority(self) -> int:
        """The lowest priority of its waiting gangs."""
        return min(gang.priority for gang in self.waiting)

    @property
    def replacing(self) -> bool:
        """Whether the waiting members replace members that their gangs have lost."""
        return all(gang.replacing for gang in self.waiting)

    @functools.cached_property
    def half_done(self) -> bool:
        """Whether members on nodes are useless without the waiting ones: the group is first."""
        return any(
            gang.partially_bound or (gang.was_whole and gang.replacing) for gang in self.gangs
        )

    @property
    def queue(self) -> QueueRef | None:
        """The leaf to which its members are charged; None without queues."""
        return self.gangs[0].queue

    @functools.cached_property
    def nominated(self) -> bool:
        """Whether room is reserved for a member."""
        return any(True for gang in self.waiting for _ in gang.nominated_members())

    @functools.cached_property
    def queue_priority(self) -> int:
        """The priority that counts among the gangs of queues: the lowest of its waiting gangs."""
        return min(gang.queue_priority for gang in self.waiting)

    @functools.cached_property
    def created_at(self) -> float:
        """When its oldest gang came into line, or its last quorum if that was later, in seconds."""
        complete_at = max(gang.complete_at for gang in self.gangs)
        return max(complete_at, min(gang.created_at for gang in self.gangs))

    @functools.cached_property
    def uid(self) -> str:
        """The smallest uid of its gangs."""
        return min(gang.uid for gang in self.gangs)

    @property
    def suspended(self) -> bool:
        """Whether its members are not created yet."""
        return all(gang.suspended is not None for gang in self.gangs)

    @property
    def editable(self) -> bool:
        """Whether its members come from templates to which flavors can add fields."""
        found = [gang.suspended for gang in self.gangs if gang.suspended is not None]
        templates = (template for each in found for template in each.templates)
        return len(found) == len(self.gangs) and all(each.path for each in templates)

    def forget_members(self) -> None:
        """Drop all virtual members and cached values with them: both can be computed again."""
        for name in self._cache.keys() - _WITHOUT_MEMBERS:
            del self._cache[name]
        for gang in self.gangs:
            if type(gang.pending) is VirtualPods:
                gang.pending.release()

    def cached(self, name: str, basis: tuple[object, ...], compute: Callable[[], T]) -> T:
        """Return the result of `compute`, cached until `basis` consists of other objects."""
        known = self._cache.get(name)
        if known is None or not (known[0] is basis or all(map(operator.is_, known[0], basis))):
            known = self._cache[name] = (basis, compute())
        found: T = known[1]
        return found
