"""The result of a cycle: commands for the cluster, and a reason for every gang that waits."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.device_needs import ClaimAllocation
from gang_scheduler.model.devices import DeviceId
from gang_scheduler.model.evictions import Backfilled, EvictionClass, Forgotten
from gang_scheduler.model.gangs import Gang, GangGroup, PreemptionBlock
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.provisioning import NodeRequest
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.reasons import Cause, Problem, Reason
from gang_scheduler.model.records import record
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.topology import Domain


@dataclass(frozen=True, slots=True)
class Bind:
    """The binding of one pod to one node.

    `volumes` are the names of the volumes that its claims get, one for each need of its storage; ""
    for a volume that will be created. `flavors` are pairs of a resource and the flavor in which it
    is charged, by resource; empty without queues. `claims` are its claims of devices in the order
    of the pod, with what each gets or has.
    """

    pod: Pod
    node: str
    volumes: tuple[str, ...] = ()
    flavors: tuple[tuple[str, str], ...] = ()
    claims: tuple[ClaimAllocation, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """Members of a gang that go to nodes together, in rank order.

    `together` are the keys of all gangs that start with the gang, its own included; empty for a
    gang that starts by itself. `borrows`: with the gang, its queue uses more than its own quota.
    `backfilled` names the gang that this one may pass only because it declares its end.
    """

    gang: Gang
    binds: tuple[Bind, ...]
    together: tuple[GangKey, ...] = ()
    borrows: bool = False
    backfilled: Backfilled | None = None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A rule of a filter that keeps a pod from a node, and the words about such a node.

    The name is shown in the log. A node that `is_out` may come back. If the obstacle `is_room`, the
    pod must request less, or nodes must be added. If it `is_quoted`, the filter's reasons in
    kube-scheduler's words say more than these words.
    """

    name: str
    one: str = field(compare=False)
    several: str = field(compare=False)
    is_out: bool = field(default=False, compare=False)
    is_room: bool = field(default=False, compare=False)
    is_quoted: bool = field(default=False, compare=False)

    def words(self, nodes: int) -> str:
        """Return the obstacle in words, for one node or for several."""
        return self.one if nodes == 1 else self.several


@dataclass(frozen=True, slots=True)
class Oversized:
    """A member requests more of this resource than any usable node has, even when empty.

    `largest` is the most that one of these nodes can allocate, and `anywhere` the most of any node.
    `near` is a similar known resource, if no node has this one. `device_class` is the DeviceClass
    that offers the resource, if nodes offer it as devices, or no node has it. `as_devices`: devices
    of nodes count, so these are missing.
    """

    resource: str
    asked: int
    largest: int = 0
    anywhere: int = 0
    near: str = ""
    device_class: str = ""
    as_devices: bool = False


class Unmatched(NamedTuple):
    """A label in a nodeSelector that no node has; `near` is a similar label."""

    key: str
    value: str
    near: str = ""


class DevicesMissing(NamedTuple):
    """The devices that a request lacks on the node that has most of them.

    The request needs `needed` devices of a class that satisfy `conditions`, in words. On that node
    `there` devices do, and `free` of these can be had. `resource` is the extended resource for
    which the class stands, "" for a claim.
    """

    device_class: str
    conditions: str
    needed: int
    there: int
    free: int
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The shortage of the next member, once the others that fit have a place.

    The obstacle keeps the member from `nodes` nodes. If some nodes lack only resources, the
    obstacle is RESOURCES, and `lacking` is the shortage of the nearest of them: with this much more
    there, one more member would fit. Otherwise the obstacle is the one that keeps the member from
    most nodes. `out` is how many nodes are cordoned or not ready. `oversized` are resources that no
    node has enough of, so the member can never fit as it is. `asked` are the member's requests that
    exceed the free resources of each of these nodes; empty if rules about other pods keep it from
    nodes, too. `one_a_node`: no node holds two members. `ruled_out` counts, by obstacle, the nodes
    that have enough free and from which the obstacle keeps the member. `unmatched` are labels of
    its nodeSelector that no node has, if that is the obstacle. `devices` are the missing devices,
    if these are the obstacle.
    """

    obstacle: Obstacle
    nodes: int
    lacking: tuple[tuple[str, int], ...] = ()
    out: int = 0
    oversized: tuple[Oversized, ...] = ()
    asked: tuple[tuple[str, int], ...] = ()
    one_a_node: bool = False
    ruled_out: tuple[tuple[Obstacle, int], ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    devices: DevicesMissing | None = None


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """A layer whose labels are on no node: its label keys, and a similar key that nodes have."""

    label_keys: tuple[str, ...]
    near: str = ""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why members found no place.

    `rejections` are (reason in kube-scheduler's words, number of nodes), most nodes first. `fits`
    of `needs` members found room before the next one did not; `at_most`: `fits` is an upper bound,
    so fewer may fit. `shortage` is the shortage of the next member; None if every node has room for
    it, or there is no node. `cut_off`: the search ended early, so there may be a place that was not
    found. `unlabelled` is a layer that must hold all members together, but whose label is on no
    node.
    """

    nodes: int
    fits: int
    needs: int
    rejections: tuple[tuple[str, int], ...]
    offers: "Offers | None" = None
    cut_off: bool = False
    shortage: Shortage | None = None
    at_most: bool = False
    unlabelled: Unlabelled | None = None


class IfEmpty(enum.Enum):
    """Whether a group would fit the empty cluster, which `scheduler.empty_cluster` describes."""

    FITS = enum.auto()
    TOO_LARGE = enum.auto()
    """It waits for ever, unless the nodes or its requests change."""
    NOT_SEARCHED = enum.auto()
    """The search was cut off, or other gangs had used up the effort of the cycle."""


class EmptyFlavor(NamedTuple):
    """A flavor without any node, ready or not, and the labels that its nodes would have."""

    name: str
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Offers:
    """How many members of a group fit now in each domain that is large enough for all of them.

    `best` are at most ten domains, each with the number of members that fit, the largest number
    first. `more` is how many other domains there are. `multiples` are the layers and sizes of the
    slices of the members.
    """

    best: tuple[tuple[Domain, int], ...]
    more: int = 0
    multiples: tuple[tuple[str, int], ...] = ()


class PreemptionVerdict(enum.StrEnum):
    """The outcome of a group's preemption."""

    NO_VICTIMS = "NoVictims"
    """No pod may be evicted: the group lacks only surplus, or no pod has a lower priority."""
    BLOCKED = "Blocked"
    """A gang of the group may not evict pods."""
    NOT_HELPFUL = "NotHelpful"
    """The group does not fit even without all potential victims."""
    NONE_FOUND = "NoneFound"
    """The search was cut off before it found victims."""
    TOO_MANY_VICTIMS = "TooManyVictims"
    """The group needs more victims than the limit allows."""
    PROMISED = "Promised"
    """A gang that was promised a start would start later."""
    TERMINATING = "Terminating"
    """The group waits for pods that are terminating already."""
    EVICTING = "Evicting"
    """The group waits for victims that are evicted for it."""


@dataclass(frozen=True, slots=True)
class PreemptionOutcome:
    """The result of an attempt to preempt, with the facts for its message.

    `victims` is how many victims there are or would have to be, `limit` how many are allowed.
    `cut_off`: the search ended early, so there may be cheaper victims. `offers` is how many members
    fit in each domain without any potential victim, if one domain must hold the group.
    `attempted_by` is the gang of the group that attempted the preemption, for the other gangs of
    the group.
    """

    verdict: PreemptionVerdict
    block: PreemptionBlock | None = None
    victims: int = 0
    limit: int = 0
    cut_off: bool = False
    offers: "Offers | None" = None
    attempted_by: GangKey | None = None

    @property
    def waits(self) -> bool:
        """Whether the group waits for pods to leave."""
        return self.verdict in (PreemptionVerdict.TERMINATING, PreemptionVerdict.EVICTING)


@record
class Refused:
    """A gang that stays pending, wholly or (`left_over`) with members beyond its quorum.

    `misfit` is why its members found no place, and `if_empty` whether the group would fit the empty
    cluster; None if that is unknown. `empty_flavors` are flavors without any node. `cause` is
    another reason why the gang waits. `preemption` is the outcome of its preemption; None if none
    was attempted. `with_group` is the misfit of another gang of its group, if the gang waits
    because of that one.
    """

    gang: Gang
    reason: Reason
    pods: Sequence[Pod]
    misfit: Misfit | None = None
    cause: Cause | None = None
    left_over: bool = False
    preemption: PreemptionOutcome | None = None
    with_group: "GroupRejection | None" = None
    if_empty: IfEmpty | None = None
    empty_flavors: tuple[EmptyFlavor, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupRejection:
    """The first member of a group that found no place, and the refusal of its gang."""

    group: str
    pod: str
    refused: Refused


@dataclass(frozen=True, slots=True)
class Warned:
    """A problem of a gang that does not keep it waiting, but that users should know."""

    gang: Gang
    problem: Problem


@dataclass(frozen=True, slots=True)
class Preemption:
    """Room that is made for a group: the nodes of its members, and the victims on them.

    `nominations` are in rank order within each gang. `victims` are empty if terminating pods
    already make enough room. `displaced` are waiting pods of lower priority whose own nominations
    end. `domain` is where the members will be; None is the whole cluster. `classes` is the right by
    which each gang with victims is evicted; empty without queues. `forgotten` are remembered
    evictions that these evictions void. `backfilled` is the gang that this group may start ahead
    of, and the time by which it must have ended. `drained` is the queue that the victims must
    leave, if room is made for no gang. `to_start_anew`: the victims are the gang's own members, and
    no room is needed. `frees` are the devices of claims that become free with the victims, by the
    uid of each victim that uses them.
    """

    gangs: tuple[Gang, ...]
    nominations: tuple[Bind, ...]
    victims: tuple[BoundPod, ...] = ()
    displaced: tuple[Pod, ...] = ()
    domain: Domain | None = None
    classes: Mapping[GangKey, EvictionClass] = field(default_factory=dict)
    forgotten: tuple[Forgotten, ...] = ()
    backfilled: Backfilled | None = None
    to_start_anew: bool = False
    drained: QueueRef | None = None
    frees: Mapping[str, tuple[DeviceId, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A group whose decision raised an error."""

    group: GangGroup
    error: Exception


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room and quota that gangs of one group will have, once others have ended.

    `after` is the gang that must end last; None if pods that leave already make enough room, or if
    its name is hidden. `start` is when it will have ended, in seconds, None if unknown. `flavors`
    are pairs of a resource and a flavor.
    """

    gangs: tuple[Gang, ...]
    start: int | None = None
    after: GangKey | None = None
    flavors: tuple[tuple[str, str], ...] = ()


class DeviceSearches(NamedTuple):
    """The searches for devices in a cycle: their steps, and how many ended without an answer."""

    steps: int = 0
    cut: int = 0


NO_SEARCHES: Final = DeviceSearches()


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions in the order in which they were made.

    A plan has all of a quorum or none of it. Some gangs are listed twice, because they are
    `refused`, too: gangs of a group that failed, gangs with `reservations`, gangs whose search was
    cut off (`unsearched`), and gangs for which nodes are requested (`node_requests`, by groups).
    So are gangs without a start that could be promised (`without_start`), by first gangs of groups,
    and gangs that may evict none, whichever gangs start below other children of the root of queues
    (`without_right`).
    The `untried` gangs were not tried, or not completely, because the cycle had done its share of
    work: the next cycle tries them.
    """

    placed: tuple[Placed, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    refused: tuple[Refused, ...] = ()
    warned: tuple[Warned, ...] = ()
    failures: tuple[Failure, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    without_start: frozenset[GangKey] = frozenset()
    without_right: frozenset[GangKey] = frozenset()
    unsearched: frozenset[GangKey] = frozenset()
    node_requests: tuple[NodeRequest, ...] = ()
    untried: frozenset[GangKey] = frozenset()
    device_searches: DeviceSearches = field(default=NO_SEARCHES, compare=False)

    @property
    def admissions(self) -> tuple[tuple[Placed, ...], ...]:
        """The suspended workloads that may start, each with its placed gangs."""
        found: dict[str, list[Placed]] = {}
        for each in self.placed:
            if each.gang.suspended is not None:
                found.setdefault(each.gang.suspended.workload.uid, []).append(each)
        return tuple(map(tuple, found.values()))
