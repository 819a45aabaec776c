"""The contents of an explanation, as data. Words and layout are made elsewhere.

A `Part` is a part of the JSON document, field by field. It names gangs and queues.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.consequences import Fixer
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Taint
from gang_scheduler.model.plan import Oversized, PreemptionVerdict, Refused
from gang_scheduler.model.queues import QueueKind
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.model.wording import rfc3339


class Amount(int):
    """An amount in the unit of its resource; text and JSON have it as a quantity."""

    resource: str

    def __new__(cls, resource: str, number: int) -> Self:
        """Return this much of a resource."""
        made = super().__new__(cls, number)
        made.resource = resource
        return made

    def __str__(self) -> str:
        return quantity_of(self.resource, self)


class Moment(int):
    """A time in seconds since the epoch; text and JSON have it as Kubernetes writes it."""

    def __str__(self) -> str:
        return rfc3339(self)


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the document."""


class Verdict(enum.StrEnum):
    """The decision of the cycle on the waiting members of a gang."""

    STARTS = "Starts"
    MAKES_ROOM = "MakesRoom"
    """It waits for pods that leave, or that are evicted for it."""
    WAITS = "Waits"


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """Facts about pods on nodes that an explanation needs and the cycle does not.

    `running` are all pods on nodes, with the expected ends of their gangs. `rested` are the same
    pods once all minimum run times are over; None if no minimum run time protects any.
    `protected_by` maps the uid of a pod that is not evictable to its protection. `evicting`:
    preemption is not switched off.
    """

    running: BoundPods = field(default_factory=BoundPods)
    rested: BoundPods | None = None
    protected_by: Mapping[str, ProtectedBy] = field(default_factory=dict)
    evicting: bool = True


class Position(Part, frozen=True):
    """The place of a gang in the order of turns; 1 is next. Incomplete gangs have no place.

    `of` gangs wait in its queue, and `of_cluster` in all queues; incomplete gangs count as the
    last. `ahead` is the sum of the requests of the gangs before it in its queue. `never_start` of
    these gangs can never start as they are.
    """

    queue: str | None
    place: int
    of: int
    place_in_cluster: int | None
    of_cluster: int | None
    ahead: Mapping[str, Amount]
    never_start: int


class StartBasis(enum.StrEnum):
    """How the start of a waiting gang can be foreseen."""

    RESERVED = "Reserved"
    """It is promised a start."""
    ENDS = "Ends"
    """It fits once running gangs have ended, even if other gangs start before it."""
    NEVER = "Never"
    """It does not fit even once all gangs with a declared end have ended."""


class Start(Part, frozen=True):
    """The earliest known start of a gang.

    `after` is the gang that must end last; None if its room is free already. `at` is None if that
    gang has no declared end.
    """

    basis: StartBasis
    at: Moment | None = None
    after: str | None = None


class Borrower(Part, frozen=True):
    """A queue, and how much it uses above its quota."""

    queue: str
    borrowed: Amount


class QuotaLine(Part, frozen=True):
    """How much one queue may use of a flavor and resource, and how much the gang would add.

    `ahead` is for earlier gangs that will start, or for which quota is kept; `used` does not count
    it. `available` may still be charged to the queue, borrowed or not; None without a limit.
    `short` is the missing amount, and `held_by` are the queues that have borrowed most. `borrows`
    is the part of `adds` above the quota.
    """

    queue: str
    flavor: str
    resource: str
    nominal: Amount
    used: Amount
    ahead: Amount
    borrowed: Amount
    adds: Amount
    borrows: Amount
    available: Amount | None
    short: Amount
    held_by: tuple[Borrower, ...]


class Holder(Part, frozen=True):
    """A gang whose `pods` hold an amount of a resource on one node.

    If `gang` is None, gangs with earlier turns take it in this cycle.
    """

    gang: str | None
    amount: Amount
    pods: int = 0


class NearestNode(Part, frozen=True):
    """The node that lacks least for one more member: `asked` of a resource, only `free` there.

    `beside` members find room there.
    """

    node: str
    resource: str
    free: Amount
    asked: Amount
    beside: int = 0
    holders: tuple[Holder, ...] = ()


class RejectedNodes(Part, frozen=True):
    """How many nodes reject a pod for a reason, in kube-scheduler's words."""

    reason: str
    nodes: int


class DomainSlots(Part, frozen=True):
    """How many members find room in a domain, or anywhere if the domain is None."""

    domain: str | None
    slots: int


class DomainRoom(DomainSlots, frozen=True):
    """A domain with the reasons why no more members find room on its `nodes`.

    `nearest` lacks only resources; `rejections` are the reasons of the other nodes. `filled` nodes
    are full because of the members themselves.
    """

    nodes: int
    filled: int
    nearest: NearestNode | None
    rejections: tuple[RejectedNodes, ...]


class Where(Part, frozen=True):
    """The room in every domain of a layer, most room first, for `needed` members.

    `must`: the members must be in one domain. `at_most`: the numbers are upper bounds.
    """

    layer: str | None
    must: bool
    needed: int
    at_most: bool
    domains: tuple[DomainSlots, ...]

    @property
    def explained(self) -> tuple[DomainRoom, ...]:
        """The first domains, each with the missing amounts on its nearest node."""
        return tuple(each for each in self.domains if isinstance(each, DomainRoom))


@dataclass(frozen=True, slots=True)
class Room:
    """The room for the unit with the largest shortfall.

    `gangs` are its gangs. At most `a_node` of its members fit on one empty node.
    """

    where: Where
    a_node: int
    gangs: tuple[GangKey, ...]


class LabelValue(Part, frozen=True):
    """A value of a label, and how many nodes have it."""

    value: str
    nodes: int


class LabelHint(Part, frozen=True):
    """A label that a node selector asks for, and which values nodes have instead."""

    key: str
    value: str
    nodes: int
    others: tuple[LabelValue, ...]


class NodeReason(RejectedNodes, frozen=True):
    """Why nodes reject a pod; `some` are the first of these nodes."""

    some: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Barred:
    """The nodes with the labels that a pod requires, if all of them reject it.

    `taints` has each taint that the pod does not tolerate, with its number of nodes, most first.
    `selector` is empty for a pod that uses only node affinity.
    """

    nodes: int
    some: tuple[str, ...]
    selector: tuple[tuple[str, str], ...]
    taints: tuple[tuple[Taint, int], ...] = ()
    cordoned: int = 0
    not_ready: int = 0


class RequestDevices(Part, frozen=True):
    """How many devices of a node pass each condition of a request, one condition after another."""

    request: str
    device_class: str = msgspec.field(name="class")
    needed: int
    on_node: int
    of_class: int
    matching: int
    not_tainted: int
    with_capacity: int
    free: int


class NodeDevices(Part, frozen=True):
    """The node that is nearest to having the devices of a pod, and what each request finds there.

    Devices that other members of the gang need there are not free.
    """

    node: str
    requests: tuple[RequestDevices, ...]


class ClassNodes(Part, frozen=True, omit_defaults=True):
    """How many nodes take a pod like `pod` (`fitting`). The gang has `pods` pods like it.

    `devices` is set if missing devices keep such a pod from nodes.
    """

    pod: str
    pods: int
    nodes: int
    fitting: int
    reasons: tuple[NodeReason, ...]
    selectors: tuple[LabelHint, ...]
    devices: NodeDevices | None = None


class Victims(Part, frozen=True):
    """Pods of one gang that are evicted, with their nodes, and since when the gang runs.

    `eviction_class` is the rule of queues that allows their eviction.
    """

    gang: str
    pods: tuple[str, ...]
    number: int
    nodes: tuple[str, ...]
    priority: int
    since: Moment | None = None
    eviction_class: str | None = msgspec.field(default=None, name="class")


class Spared(Part, frozen=True):
    """How many pods of lower priority are protected in some way, and the first of them."""

    reason: ProtectedBy
    pods: int
    example: str | None


class Protection(Part, frozen=True):
    """How many pods run, and which of them a gang of this priority may not evict.

    `ranked` pods do not have a lower priority; the lowest of their priorities is
    `lowest_of_ranked`, of pod `nearest`. `protected` pods have a lower priority, but may not be
    evicted now: `spared_by` says why. The other pods are `lower`. For `under_budget` of these a
    PodDisruptionBudget allows no eviction: they are evicted last.
    """

    pods: int
    ranked: int
    lowest_of_ranked: int
    protected: int
    lower: int
    nearest: str | None
    spared_by: tuple[Spared, ...]
    under_budget: int
    of_budget: str | None


class QueueRights(Part, frozen=True):
    """The pods that a gang in a queue may evict: in its own queue by priority, elsewhere by quota.

    `own_pods` run in its queue, and it may evict `own_lower` of them. `borrowing` pods run in
    queues that borrow a resource which the gang requests. `goes_over`: with the gang, its queue
    would use more than its quota, too. `reclaims`: even then it may evict pods of other queues.
    """

    queue: str
    own_pods: int
    own_lower: int
    borrowing: int
    goes_over: bool
    reclaims: bool


class Evictions(Part, frozen=True):
    """The evictions that make room, or the reasons why none are possible.

    `verdict` and `message` describe the attempt. Without an attempt they are None: then
    `protection` says why, and with queues also `rights`. `leaving` pods leave even without the
    gang, and `awaited` are the ones that leave the nodes of the gang. `queue_forbids`: its queue
    may evict no pods. `switched_off`: the setting turns preemption off.
    """

    verdict: PreemptionVerdict | None
    message: str | None
    victims: tuple[Victims, ...]
    leaving: int
    awaited: tuple[str, ...]
    queue_forbids: bool
    switched_off: bool
    protection: Protection | None
    rights: QueueRights | None


class Change(enum.StrEnum):
    """One thing to change."""

    FEWER_MEMBERS = "FewerMembers"
    SOFTER_LAYER = "SofterLayer"
    HIGHER_PRIORITY = "HigherPriority"
    RUN_TIMES_OVER = "RunTimesOver"
    OTHER_FLAVOR = "OtherFlavor"
    NEXT_END = "NextEnd"
    MORE_QUOTA = "MoreQuota"
    LESS_ASKED = "LessAsked"
    TAINTS_TOLERATED = "TaintsTolerated"
    SELECTOR_REMOVED = "SelectorRemoved"


class MoreQuota(Part, frozen=True):
    """More quota of a flavor and resource for a queue, and its quota now (`instead_of`).

    `fields` are the fields of its object to change.
    """

    kind: QueueKind
    queue: str
    flavor: str
    resource: str
    amount: Amount
    instead_of: Amount
    fields: tuple[str, ...]


class LessAsked(Part, frozen=True):
    """A smaller request of each member for a resource, and its request now (`instead_of`)."""

    resource: str
    amount: Amount
    instead_of: Amount


class Variant(Part, frozen=True, kw_only=True):
    """A change with which the gang starts now on `nodes`; `victims` are evicted for it.

    Each change has its own fields. `number` is the minMember of `gang`, or the priority. `layer`
    becomes a preference. `after` is the gang that ends, at the time `at`. `labels` are the labels
    of the other flavor, or the ones to take out of the node selector. Members must tolerate
    `taints`. `quotas` belong to queues, `requests` to members. `by` is the role that can make the
    change; None: it only takes time.
    """

    change: Change
    number: int | None = None
    of: int | None = None
    gang: str | None = None
    layer: str | None = None
    after: str | None = None
    at: Moment | None = None
    labels: Mapping[str, str] = {}
    taints: tuple[str, ...] = ()
    quotas: tuple[MoreQuota, ...] = ()
    requests: tuple[LessAsked, ...] = ()
    by: Fixer | None
    nodes: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    victims: tuple[Victims, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """A second shortfall besides the one that the cycle names; `first` if it is larger."""

    refused: Refused
    first: bool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The decision on one gang, and everything that explains it. A part is None if it says nothing.

    `verdict`, `gang` and `group` are None if no member waits that the cycle would try.
    `nodes_taken` are the nodes that members get. `in_vain` are requests of a member that no node
    could ever meet. `barred` are nodes with the labels that a member selects, if every one of them
    rejects the member. `beside` is a second shortfall.
    """

    key: GangKey
    verdict: Verdict | None = None
    gang: Gang | None = None
    group: GangGroup | None = None
    refused: Refused | None = None
    warnings: tuple[Problem, ...] = ()
    nodes_taken: tuple[str, ...] = ()
    position: Position | None = None
    start: Start | None = None
    quota: tuple[QuotaLine, ...] = ()
    room: Room | None = None
    nodes: tuple[ClassNodes, ...] = ()
    in_vain: tuple[Oversized, ...] = ()
    barred: Barred | None = None
    evictions: Evictions | None = None
    variants: tuple[Variant, ...] | None = None
    beside: Beside | None = None
