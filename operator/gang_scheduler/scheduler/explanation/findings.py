"""What an explanation says, as data: the words and the layout are made elsewhere.

A `Part` is a part of the JSON document as it stands: its fields are the fields there. Gangs and
queues are in it by their names.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.evictions import Sparing
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Taint
from gang_scheduler.model.plan import Oversized, PreemptionVerdict, Refused
from gang_scheduler.model.queues import QueueKind
from gang_scheduler.model.reasons import Problem, Turn
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.model.wording import rfc3339


class Amount(int):
    """An amount in the unit of its resource; text and JSON have it as a quantity."""

    resource: str

    def __new__(cls, resource: str, number: int) -> Self:
        """Return so much of a resource."""
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
    """What the cycle decides on the members of a gang that wait."""

    STARTS = "Starts"
    MAKES_ROOM = "MakesRoom"
    """It waits for pods that leave, or that are evicted for it."""
    WAITS = "Waits"


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What is asked about the pods on nodes, whatever the cycle needs to know of them.

    `running` are all pods on nodes, with the expected ends of their gangs. `rested` are the same
    once all minimum run times are over; None where none counts. `sparing` is what protects those
    that are not evictable, by uid. `evicting` is whether gangs may evict at all, by the setting.
    """

    running: BoundPods = field(default_factory=BoundPods)
    rested: BoundPods | None = None
    sparing: Mapping[str, Sparing] = field(default_factory=dict)
    evicting: bool = True


class Position(Part, frozen=True):
    """The place of a gang in the order of turns: 1 comes first. Incomplete gangs have none.

    They are last of all that wait, of which there are `of` in its queue, `of_cluster` in all.
    `ahead` is what the gangs before it in its queue ask for, of which `never_start` can never start
    as they are.
    """

    queue: str | None
    place: int
    of: int
    place_in_cluster: int | None
    of_cluster: int | None
    ahead: Mapping[str, Amount]
    never_start: int


class StartBasis(enum.StrEnum):
    """What is known of the start of a gang that waits."""

    RESERVED = "Reserved"
    """It is promised a start."""
    ENDS = "Ends"
    """It fits once gangs that run have ended, whatever else comes before it."""
    NEVER = "Never"
    """It does not fit even once all have ended that do."""


class Start(Part, frozen=True):
    """When a gang starts at the earliest that is known.

    `after` is the gang that must end last; None where its room is free already. `at` is None where
    that gang has no declared end.
    """

    basis: StartBasis
    at: Moment | None = None
    after: str | None = None


class Borrower(Part, frozen=True):
    """A queue that uses so much more than it was promised."""

    queue: str
    borrowed: Amount


class QuotaLine(Part, frozen=True):
    """What one queue may use of a flavor and resource, and what the gang would add.

    `used` is without what is `ahead`: that is for gangs that come before this one and are to start,
    or for which it is kept. `available` is what may still be charged to the queue, borrowed or not;
    None without a limit. Where that is less than the gang adds, it is `short`, and `held_by` are
    the queues that have borrowed most. Of what the gang adds the queue `borrows` so much.
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
    """So many pods of a gang have so much of a resource of one node.

    `gang` None: gangs that come before this one take it now.
    """

    gang: str | None
    amount: Amount
    pods: int = 0


class NearestNode(Part, frozen=True):
    """The node that lacks the least for one member more: so much of a resource is free of it.

    That is `beside` so many members that find room there.
    """

    node: str
    resource: str
    free: Amount
    asked: Amount
    beside: int = 0
    holders: tuple[Holder, ...] = ()


class RejectedNodes(Part, frozen=True):
    """So many nodes take no pod for a reason, in kube-scheduler's words."""

    reason: str
    nodes: int


class DomainSlots(Part, frozen=True):
    """How many of the members find room in a domain; None: anywhere."""

    domain: str | None
    slots: int


class DomainRoom(DomainSlots, frozen=True):
    """A domain that is explained: why no more members find room on its `nodes`.

    `nearest` lacks nothing but resources; `rejections` are why other nodes take no member more.
    `filled` nodes are full of the members themselves.
    """

    nodes: int
    filled: int
    nearest: NearestNode | None
    rejections: tuple[RejectedNodes, ...]


class Where(Part, frozen=True):
    """The room of every domain of a layer, the most first, for members that need `needed` slots.

    `must`: they must be in one of the domains. `at_most`: each number is a bound. The first domains
    are explained.
    """

    layer: str | None
    must: bool
    needed: int
    at_most: bool
    domains: tuple[DomainSlots, ...]

    @property
    def explained(self) -> tuple[DomainRoom, ...]:
        """The first domains, with what the nearest missing slot lacks."""
        return tuple(each for each in self.domains if isinstance(each, DomainRoom))


@dataclass(frozen=True, slots=True)
class Room:
    """The room of the unit that is shortest of it: it is of `gangs`.

    At most `a_node` of its members fit on a node, however empty it is.
    """

    where: Where
    a_node: int
    gangs: tuple[GangKey, ...]


class LabelValue(Part, frozen=True):
    """A value that so many nodes have of a label."""

    value: str
    nodes: int


class LabelHint(Part, frozen=True):
    """A label that a node selector asks for, and which values nodes have instead."""

    key: str
    value: str
    nodes: int
    others: tuple[LabelValue, ...]


class NodeReason(RejectedNodes, frozen=True):
    """Why so many nodes take no pod; `some` are the first of them."""

    some: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Barred:
    """The nodes that match the labels that a pod asks for, all of which are barred to it.

    So many of them have `taints` that it does not tolerate, most nodes first, or are cordoned, or
    not ready. `selector` is empty for a pod that asks by node affinity alone.
    """

    nodes: int
    some: tuple[str, ...]
    selector: tuple[tuple[str, str], ...]
    taints: tuple[tuple[Taint, int], ...] = ()
    cordoned: int = 0
    not_ready: int = 0


class ClassNodes(Part, frozen=True):
    """Of all nodes `fitting` take a pod like `pod`, of which the gang has `pods`."""

    pod: str
    pods: int
    nodes: int
    fitting: int
    reasons: tuple[NodeReason, ...]
    selectors: tuple[LabelHint, ...]


class Victims(Part, frozen=True):
    """Pods of one gang that leave: how many, from which nodes, and since when the gang runs.

    `eviction_class` is by what right of queues they are evicted.
    """

    gang: str
    pods: tuple[str, ...]
    number: int
    nodes: tuple[str, ...]
    priority: int
    since: Moment | None = None
    eviction_class: str | None = msgspec.field(default=None, name="class")


class Spared(Part, frozen=True):
    """So many pods of lower priority that something protects, and the first of them."""

    reason: Sparing
    pods: int
    example: str | None


class Protection(Part, frozen=True):
    """How many pods run, and which of them a gang of this priority may not evict.

    `ranked` have a priority that is not lower, `lowest_of_ranked` of which the pod `nearest`;
    `protected` are lower, and may not be evicted now, as `spared_by` says. All others are `lower`.
    So many of these are under a budget that allows no eviction (`under_budget`): they would go
    last.
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
    """Which pods a gang in a queue may evict: of its own queue by priority, of others by quota.

    `own_pods` run in its queue, of which it may evict `own_lower`; `borrowing` run in other queues
    that use more than their own of what it asks for. `goes_over`: with the gang its queue would use
    more than its own. `reclaims`: as that is, it may evict pods of other queues.
    """

    queue: str
    own_pods: int
    own_lower: int
    borrowing: int
    goes_over: bool
    reclaims: bool


class Evictions(Part, frozen=True):
    """The room that is made, else what forbids it.

    `verdict` is that of the try, and `message` says it in words; None if none was made: then
    `protection` says why, and where there are queues `rights`. `leaving` is how many pods leave
    whatever becomes of the gang, and `awaited` those of them that leave the nodes where it is to
    be. `queue_forbids`: the policy of its queue lets it evict no pod. `switched_off`: no gang
    evicts any, by the setting.
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
    """One thing that could be other than it is."""

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
    """What a queue would be promised of a flavor and resource, and what it is promised now.

    `fields` are the fields of its object that are to be changed.
    """

    kind: QueueKind
    queue: str
    flavor: str
    resource: str
    amount: Amount
    instead_of: Amount
    fields: tuple[str, ...]


class LessAsked(Part, frozen=True):
    """What a member would ask of a resource, and what it asks now."""

    resource: str
    amount: Amount
    instead_of: Amount


class Variant(Part, frozen=True, kw_only=True):
    """A change with which the gang starts now, and where; `victims` leave for it then.

    `number` is the minMember of `gang` or the priority, `layer` the layer that is preferred
    instead, `after` the gang that has ended, at the time `at`. `labels` are those of the other
    flavor, or those of the node selector that are taken out of it; `taints` are those that are
    tolerated. `quotas` are those of queues, `requests` what members ask for. `by` can make the
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
    by: Turn | None
    nodes: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    victims: tuple[Victims, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What a gang lacks beside that which the cycle names; `first`: more of it is missing."""

    refused: Refused
    first: bool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The decision on one gang, and all that explains it. A part that says nothing is None.

    Where no member waits that is due for a try, `verdict`, `gang` and `group` are None.
    `nodes_taken` are the nodes that members get. `in_vain` is what a member asks that no node has,
    however empty. `barred` are all nodes with the labels that a member asks for, if it may be on
    none of them. `beside` is what the gang lacks besides.
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
