"""What an explanation says, as data: words and layout are made elsewhere.

Amounts are in the unit of their resource, times in seconds since the epoch.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.evictions import EvictionClass, Sparing
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Taint
from gang_scheduler.model.plan import Oversized, PreemptionOutcome, Refused
from gang_scheduler.model.queues import FlavorResource, QueueRef
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.topology import Domain


class Verdict(enum.Enum):
    """What the cycle decides on a gang."""

    NOTHING_WAITS = enum.auto()
    """No member waits that is due for a try."""
    STARTS = enum.auto()
    MAKES_ROOM = enum.auto()
    """It waits for pods that leave, or that are evicted for it."""
    WAITS = enum.auto()


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


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a gang in the order of turns: 1 comes first. Incomplete gangs have none.

    They are last of all that wait, of which there are `of` in its queue, `of_all` in all. `ahead`
    is what the gangs before it in its queue ask for, of which `never` can never start as they are.
    """

    place: int
    of: int
    place_in_all: int
    of_all: int
    queue: QueueRef | None = None
    ahead: tuple[tuple[str, int], ...] = ()
    never: int = 0


class StartBasis(enum.Enum):
    """What is known of the start of a gang that waits."""

    RESERVED = enum.auto()
    """It is promised a start."""
    ENDS = enum.auto()
    """It fits once gangs that run have ended, whatever else comes before it."""
    NEVER = enum.auto()
    """It does not fit even once all have ended that do."""


@dataclass(frozen=True, slots=True)
class Start:
    """When a gang starts at the earliest that is known.

    `after` is the gang that must end last; None where it is hidden or its room is free already.
    `at` is None where that gang has no declared end.
    """

    basis: StartBasis
    at: int | None = None
    after: GangKey | None = None


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """What one queue may use of a flavor and resource, and what the gang would add.

    `ahead` of what is `used` is for gangs that come before this one and are to start, or for which
    it is kept. `available` is what may still be charged to it, borrowed or not; None without a
    limit. Where that is less than the gang adds, `holders` are the queues that have borrowed most.
    """

    queue: QueueRef
    key: FlavorResource
    nominal: int
    used: int
    adds: int
    available: int | None
    ahead: int = 0
    holders: tuple[tuple[QueueRef, int], ...] = ()

    @property
    def borrowed(self) -> int:
        """How much of what it uses is over what the queue was promised."""
        return max(0, self.used - self.nominal)

    @property
    def short(self) -> int:
        """How much of what the gang adds may not be charged to the queue now."""
        return 0 if self.available is None else max(0, self.adds - max(0, self.available))

    @property
    def borrows(self) -> int:
        """How much of what the gang adds is over what the queue was promised."""
        return max(0, min(self.adds, self.used + self.adds - self.nominal))


@dataclass(frozen=True, slots=True)
class Holder:
    """So many pods of a gang have so much of a resource of one node.

    `gang` None: gangs that come before this one take it now.
    """

    gang: GangKey | None
    amount: int
    pods: int = 0


@dataclass(frozen=True, slots=True)
class NearestNode:
    """The node that lacks the least for one member more: so much of a resource is free of it.

    That is `beside` so many members that find room there.
    """

    node: str
    resource: str
    free: int
    asked: int
    holders: tuple[Holder, ...] = ()
    beside: int = 0


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """How many of the members find room in a domain, on its `nodes`; `domain` None: anywhere.

    `nearest` lacks nothing but resources; `rejections` are why other nodes take no member more.
    `filled` nodes are full of the members themselves.
    """

    domain: Domain | None
    slots: int
    nodes: int
    nearest: NearestNode | None = None
    rejections: tuple[tuple[str, int], ...] = ()
    filled: int = 0


@dataclass(frozen=True, slots=True)
class Where:
    """The room of every domain of a layer, the most first, for members that need `needed` slots.

    `must`: they must be in one of the domains. `at_most`: each number is a bound. `explained` are
    the first domains, with what the nearest missing slot lacks; `others` come after them. At most
    `a_node` members fit on a node, however empty it is.
    """

    layer: str
    must: bool
    needed: int
    explained: tuple[DomainRoom, ...]
    others: tuple[tuple[Domain, int], ...] = ()
    at_most: bool = False
    a_node: int = 0
    gangs: tuple[GangKey, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelHint:
    """A label that a node selector asks for, and which values nodes have instead."""

    key: str
    value: str
    nodes: int
    others: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeReason:
    """Why so many nodes take no pod, in kube-scheduler's words; `some` are the first of them."""

    words: str
    nodes: int
    some: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class ClassNodes:
    """Of all nodes `fitting` take a pod like `pod`, of which the gang has `pods`.

    `oversized` is what it asks that no node has, however empty. `barred` is None unless it asks for
    labels, and all nodes with these are barred.
    """

    pod: str
    pods: int
    nodes: int
    fitting: int
    reasons: tuple[NodeReason, ...] = ()
    hints: tuple[LabelHint, ...] = ()
    oversized: tuple[Oversized, ...] = ()
    barred: Barred | None = None


@dataclass(frozen=True, slots=True)
class Victims:
    """Pods of one gang that leave: how many, from which nodes, and since when the gang runs."""

    gang: GangKey
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    priority: int
    since: int = 0
    by_right_of: EvictionClass | None = None


class Spared(NamedTuple):
    """So many pods of lower priority that something protects, and the first of them."""

    why: Sparing
    pods: int
    example: str


@dataclass(frozen=True, slots=True)
class Protection:
    """How many pods run, and which of them a gang of this priority may not evict.

    `ranked` have a priority that is not lower, `lowest` of which the pod `nearest`; `protected` are
    lower, and may not be evicted now, since something `spares` them. So many of the others are
    under a budget that allows no eviction (`under_budget`): these would go last.
    """

    pods: int
    ranked: int
    lowest: int
    protected: int
    nearest: str = ""
    spares: tuple[Spared, ...] = ()
    under_budget: int = 0
    of_budget: str = ""

    @property
    def lower(self) -> int:
        """How many pods may be evicted by their priority and by what protects them."""
        return self.pods - self.ranked - self.protected


@dataclass(frozen=True, slots=True)
class QueueRights:
    """Which pods a gang in a queue may evict: of its own queue by priority, of others by quota.

    `own` pods run in its queue, of which it may evict `own_lower`; `borrowing` run in other queues
    that use more than their own of what it asks for. `goes_over`: with the gang its queue would use
    more than its own. `reclaims`: as that is, it may evict pods of other queues.
    """

    queue: QueueRef
    own: int
    own_lower: int
    borrowing: int
    goes_over: bool
    reclaims: bool


@dataclass(frozen=True, slots=True)
class Evictions:
    """The room that is made, else what forbids it.

    `leaving` is how many pods leave whatever becomes of the gang, and `awaited` those of them that
    leave the nodes where it is to be.
    `outcome` is that of the try, None if none was made: then `protection` says why, and where there
    are queues `rights`. `queue_forbids`: the policy of its queue lets it evict no pod.
    `switched_off`: no gang evicts any, by the setting.
    """

    victims: tuple[Victims, ...] = ()
    leaving: int = 0
    awaited: tuple[str, ...] = ()
    outcome: PreemptionOutcome | None = None
    protection: Protection | None = None
    queue_forbids: bool = False
    rights: QueueRights | None = None
    switched_off: bool = False


class Change(enum.Enum):
    """One thing that could be other than it is."""

    FEWER_MEMBERS = enum.auto()
    SOFTER_LAYER = enum.auto()
    HIGHER_PRIORITY = enum.auto()
    RUN_TIMES_OVER = enum.auto()
    OTHER_FLAVOR = enum.auto()
    NEXT_END = enum.auto()
    MORE_QUOTA = enum.auto()
    LESS_ASKED = enum.auto()
    TAINTS_TOLERATED = enum.auto()
    SELECTOR_REMOVED = enum.auto()


class Raised(NamedTuple):
    """What a queue would be promised of a flavor and resource, and what it is promised now.

    `limit` is what it may hold at most, None for no limit; a lower one is raised with the promise.
    """

    queue: QueueRef
    key: FlavorResource
    promised: int
    instead_of: int
    limit: int | None = None


class Lowered(NamedTuple):
    """What a member would ask of a resource, and what it asks now."""

    resource: str
    asked: int
    instead_of: int


@dataclass(frozen=True, slots=True)
class Variant:
    """A change with which the gang starts now, and where; `victims` leave for it then.

    `number` is the minMember of `gang` or the priority, `layer` the layer that is preferred
    instead, `end` the gang that has ended, at the time `at`. `labels` are those of the other
    flavor, or those of the node selector that are taken out of it; `taints` are those that are
    tolerated. `raised` is
    the quota of queues, `lowered` what members ask for.
    """

    change: Change
    nodes: tuple[str, ...]
    domains: tuple[Domain, ...] = ()
    victims: tuple[Victims, ...] = ()
    number: int = 0
    of: int = 0
    gang: GangKey | None = None
    layer: str = ""
    end: GangKey | None = None
    at: int | None = None
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    raised: tuple[Raised, ...] = ()
    lowered: tuple[Lowered, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What a gang lacks beside that which the cycle names; `first`: more of it is missing."""

    refused: Refused
    first: bool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The decision on one gang, and all that explains it. A part that says nothing is None.

    `gang` and `group` are None where no member waits. `tried`: the group was worth a try.
    `nodes_taken` are the nodes that members get. `beside` is what it lacks besides.
    """

    key: GangKey
    verdict: Verdict
    gang: Gang | None = None
    group: GangGroup | None = None
    refused: Refused | None = None
    warnings: tuple[Problem, ...] = ()
    nodes_taken: tuple[str, ...] = ()
    position: Position | None = None
    start: Start | None = None
    quota: tuple[QuotaLine, ...] = ()
    where: Where | None = None
    nodes: tuple[ClassNodes, ...] = ()
    evictions: Evictions | None = None
    variants: tuple[Variant, ...] | None = None
    beside: Beside | None = None
