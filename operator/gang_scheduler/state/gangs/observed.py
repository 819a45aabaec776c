"""Observations of one gang: its members, the objects that describe it, and their version."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.decode.gangs import specs
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import hold, place_of
from gang_scheduler.model.pods import Elastic, Pod, VirtualPods, one_of_each, rank_key
from gang_scheduler.model.refs import GangKey, QueueRequest
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.workloads import table

# The summary of the living members of a gang, made in one walk over them.


class Summary(NamedTuple):
    """Facts about the members that every snapshot needs.

    `bound` members have a node; `oldest` is the first by creation and uid, None without members.
    `earliest` is the first creation in seconds since the epoch, 0 if a member has no such time.
    `lowest` and `highest` are their priorities. The flags say whether any member has a property:
    only then the members are walked again. `never_preempts`: it may not evict. `queue_requests` are
    their distinct requests.
    """

    bound: int = 0
    oldest: Pod | None = None
    earliest: float = 0
    lowest: int = 0
    highest: int = 0
    of_gang: bool = False
    nominated: bool = False
    never_preempts: bool = False
    of_jobs: bool = False
    with_problem: bool = False
    with_role: bool = False
    with_podset: bool = False
    with_gang_request: bool = False
    queue_requests: tuple[QueueRequest, ...] = ()


NO_MEMBERS: Final = Summary()


def summary_of(members: Sequence[Pod]) -> Summary:
    """Return the summary of members. Linear in members."""
    if not members:
        return NO_MEMBERS
    bound, oldest = 0, members[0]
    earliest, lowest, highest = oldest.created_at, oldest.priority, oldest.priority
    for pod in members:
        if pod.node:
            bound += 1
        at, priority = pod.created_at, pod.priority
        if at < oldest.created_at or (at == oldest.created_at and pod.uid < oldest.uid):
            oldest = pod
        if not pod.has_creation_time or at < earliest:
            earliest = at if pod.has_creation_time else 0
        if not lowest <= priority <= highest:
            lowest, highest = min(lowest, priority), max(highest, priority)
    requests = [pod.queue_request for pod in members if pod.queue_request is not None]
    found = Summary(
        *(bound, oldest, earliest, lowest, highest),
        queue_requests=tuple(dict.fromkeys(requests)),
    )
    special = [*filter(_is_special, members)]
    if not special:
        return found
    return found._replace(
        of_gang=any(pod.gang_annotations is not None for pod in special),
        nominated=any(pod.nominated for pod in special),
        never_preempts=not all(pod.preempts for pod in special),
        of_jobs=any(pod.job_uid for pod in special),
        with_problem=any(pod.problem is not None for pod in special),
        with_role=any(pod.role for pod in special),
        with_podset=any(pod.podset is not None for pod in special),
        with_gang_request=any(pod.gang_request is not None for pod in special),
    )


def _is_special(pod: Pod) -> bool:
    """Return whether a pod has any rare property, which members of most gangs lack."""
    return bool(
        pod.gang_annotations
        or pod.nominated
        or not pod.preempts
        or pod.job_uid
        or pod.problem
        or pod.role
        or pod.podset
        or pod.gang_request
    )


# A version of a gang, to know whether a kept result is still valid.


class Version:
    """Counts the changes of one gang that can matter to the scheduler.

    The records of the gang share one version, and each counts its own changes. A result that was
    computed from the gang is true as long as `number` is the same. A result that was computed only
    from its members, its objects and its workloads is true as long as `seen` is the same.
    """

    __slots__ = ("number", "seen")

    def __init__(self) -> None:
        self.number = 0
        self.seen = 0

    def changed(self) -> None:
        """Count a change of a record of the gang."""
        self.number += 1

    def content_changed(self) -> None:
        """Count a change of the members, of objects that describe them, or of related objects."""
        self.number += 1
        self.seen += 1


NO_SPEC = GangSpec(GangKey("", "", ""), "")


class Observed:
    """The members and specs of a gang, with derived values, each computed once.

    `members` are all its pods by uid, ended pods included. A member has a node, too, if its binding
    is only assumed. `specs` are the objects that describe the gang, by uid. `virtual` are members
    that are not created yet, since their workload is suspended.
    """

    __slots__ = (
        *("key", "members", "specs", "_version", "_living", "_priorities", "_ranks_apart"),
        *("_spec", "_spec_is_known", "_elastic", "_elastic_is_known", "_workload", "virtual"),
        *("_assumed", "_summary", "_all_live"),
    )

    def __init__(self, key: GangKey, version: Version) -> None:
        self.key = key
        self.members: dict[str, Pod] = {}
        self.specs: dict[str, GangSpec] = {}
        self._version = version
        self._living: Sequence[Pod] | None = None
        self._all_live = True
        self._summary: Summary | None = None
        self._assumed: set[str] = set()
        self._priorities: set[int] = set()
        self._ranks_apart: bool | None = None
        self._spec: GangSpec | None = None
        self._spec_is_known = False
        self._elastic: Elastic | None = None
        self._elastic_is_known = False
        self._workload: GangSpec | None = None
        self.virtual: VirtualPods | None = None

    def upsert_member(self, pod: Pod) -> None:
        """Add or replace a member."""
        self.members[pod.uid] = pod
        self._priorities.add(pod.priority)
        if pod.assumed and pod.living:
            self._assumed.add(pod.uid)
        else:
            self._assumed.discard(pod.uid)
        self._members_changed()

    def delete_member(self, uid: str) -> Pod | None:
        """Forget a member; return it, if it was one."""
        pod = self.members.pop(uid, None)
        if pod is not None:
            self._assumed.discard(uid)
            self._members_changed()
        return pod

    def set_virtual(self, pods: VirtualPods | None) -> None:
        """Note the members that a suspended workload would have; None for none."""
        self.virtual = pods
        self._priorities.update(pod.priority for pod in one_of_each(pods or ()))
        self._members_changed()

    def upsert_spec(self, gang_spec: GangSpec) -> GangSpec | None:
        """Add or replace the spec that an object has for the gang; return the spec before.

        A new status of the object is taken over, and counts as no change of the gang.
        """
        before = self.specs.get(gang_spec.uid)
        self.specs[gang_spec.uid] = gang_spec
        self._spec_is_known, self._ranks_apart = False, None
        if before != gang_spec:
            self._version.content_changed()
        return before

    def delete_spec(self, uid: str) -> bool:
        """Forget an object; return whether it described the gang."""
        described = self.specs.pop(uid, None) is not None
        if described:
            self._spec_is_known, self._ranks_apart = False, None
            self._version.content_changed()
        return described

    def made_for(self, workload: GangSpec | None) -> bool:
        """Note the spec of the workload that the object was made for; return whether it changed."""
        if workload == self._workload:
            return False
        self._workload = workload
        self._spec_is_known, self._ranks_apart = False, None
        self._version.content_changed()
        return True

    @property
    def missing_workload(self) -> GangKey | None:
        """The workload for which the object was made, if its roles are needed and not yet known."""
        workload = None if self.spec is None else self.spec.made_for
        if workload is None or workload.source not in table.WITH_ROLES:
            return None
        return workload if self._workload is None and not (self.spec or NO_SPEC).roles else None

    @property
    def spec(self) -> GangSpec | None:
        """The spec of the gang; of several, the youngest object of the first API group counts."""
        if not self._spec_is_known:
            self._spec, self._spec_is_known = self._find_spec(), True
            self._elastic_is_known = False
        return self._spec

    @property
    def elastic(self) -> Elastic | None:
        """The way in which the gang grows and shrinks, by its spec or else by its oldest member."""
        spec = self.spec
        if not self._elastic_is_known:
            said = spec.elastic or self._elastic_of_members() if spec is not None else None
            self._elastic, self._elastic_is_known = said, True
        return self._elastic

    @property
    def object_uid(self) -> str:
        """The uid of the object that describes the gang; "" if its members describe it."""
        return (self.spec or NO_SPEC).uid

    @property
    def min_member(self) -> int:
        """The declared quorum; 1 for a gang without an object that declares one."""
        return (self.spec or NO_SPEC).min_member

    def has_quorum(self, members: Collection[Pod]) -> bool:
        """Return whether these members reach the declared quorum."""
        roles = (self.spec or NO_SPEC).roles
        return hold(members, roles) if roles else len(members) >= self.min_member

    @property
    def wanted_topology(self) -> TopologyRequest | None:
        """The topology request of the gang, or else of the first member that has one."""
        if self.living and not self.summary.with_podset:
            return self.topology_request
        podsets = (pod.podset for pod in one_of_each(self.describing_members) if pod.podset)
        own = (each.topology_request for each in podsets if each.topology_request.is_set)
        return self.topology_request or next(own, None)

    @property
    def topology_request(self) -> TopologyRequest | None:
        """The topology request of the gang as a whole."""
        return (self.spec or NO_SPEC).topology_request

    @property
    def min_runtime_seconds(self) -> int:
        """The run time during which the gang asks not to be evicted; 0 without such a request."""
        return (self.spec or NO_SPEC).options.min_runtime_seconds

    @property
    def priority(self) -> int:
        """The lowest priority of the living members, and at most the priority of the PodGroup.

        A ResourceQuota limits only the priority classes of pods. So a PodGroup never lifts pods
        above their own.
        """
        own = (self.spec or NO_SPEC).priority
        if not self.living:
            return own or 0
        lowest = self.summary.lowest
        return lowest if own is None else min(own, lowest)

    @property
    def differs(self) -> Pod | None:
        """The first member, in rank order, whose priority differs from the PodGroup's."""
        own = (self.spec or NO_SPEC).priority
        if own is None:
            return None
        others = (pod for pod in one_of_each(self.living) if pod.priority != own)
        return min(others, key=rank_key, default=None)

    @property
    def may_rank_apart(self) -> bool:
        """Whether members may have different priorities: a quick test, and certain if False."""
        own = any(each.priority is not None for each in self.specs.values())
        return own or len(self._priorities) > 1

    @property
    def ranks_apart(self) -> bool:
        """Whether a living member has another priority than the gang."""
        if self._ranks_apart is None:
            priority = self.priority
            summary = self.summary
            self._ranks_apart = bool(self.living) and not (
                summary.lowest == priority == summary.highest
            )
        return self._ranks_apart

    @property
    def empty(self) -> bool:
        """Whether the gang has no members and no objects any more."""
        return not self.members and not self.specs and self.virtual is None

    @property
    def living(self) -> Sequence[Pod]:
        """The members that count: they have not ended, and are neither being deleted nor gated."""
        return self._find_living() if self._living is None else self._living

    @property
    def all_live(self) -> bool:
        """Whether no member has ended, is being deleted or is gated."""
        if self._living is None:
            self._find_living()
        return self._all_live

    @property
    def summary(self) -> Summary:
        """A summary of the living members; of equal virtual members, each kind counts once."""
        if self._summary is None:
            self._summary = summary_of(one_of_each(self.living))
        return self._summary

    @property
    def describing_members(self) -> Sequence[Pod]:
        """The members that describe the gang: the living ones, or else the gated ones.

        A pod that has ended or is being deleted may belong to an earlier run of the same name. It
        counts only if no other pod is left.
        """
        if self.living:
            return self.living
        members = tuple(self.members.values())
        return tuple(pod for pod in members if not (pod.terminal or pod.deleting)) or members

    @property
    def is_being_bound(self) -> bool:
        """Whether a living member has a node that the API server has not confirmed yet."""
        # This runs at every confirmation: a look at all members would be quadratic in a large
        # gang.
        return bool(self._assumed)

    def with_node(self) -> Iterator[Pod]:
        """Return the living members that have a node."""
        return (pod for pod in one_of_each(self.living) if pod.node)

    def bound(self) -> tuple[Pod, ...]:
        """Return the living members that have a node, in rank order."""
        return tuple(self.in_rank_order(self.with_node()))

    def in_rank_order(self, pods: Iterable[Pod]) -> Sequence[Pod]:
        """Return members by the order of their roles, then by rank."""
        if type(pods) is VirtualPods:
            return self._virtual_in_rank_order(pods)
        roles = (self.spec or NO_SPEC).roles
        if not roles:
            return tuple(sorted(pods, key=rank_key))
        return tuple(sorted(pods, key=lambda pod: (place_of(pod, roles), rank_key(pod))))

    def _find_living(self) -> Sequence[Pod]:
        present = tuple([pod for pod in self.members.values() if pod.living])
        self._all_live = len(present) == len(self.members)
        if self.virtual is None:
            self._living = present
        else:
            self._living = (*present, *self.virtual) if present else self.virtual
        return self._living

    def _members_changed(self) -> None:
        """Drop everything that is derived from the members."""
        self._version.content_changed()
        self._living = self._summary = self._ranks_apart = None
        # A spec that comes from an object does not depend on the members.
        self._spec_is_known &= self.key.source not in table.BY_MEMBERS
        self._elastic_is_known = False

    def _elastic_of_members(self) -> Elastic | None:
        if self.living and not self.summary.of_gang:
            return None
        members = ((pod, pod.gang_annotations) for pod in one_of_each(self.describing_members))
        telling = [(pod, said) for pod, said in members if said is not None and said.has_elastic]
        if not telling:
            return None
        _, oldest = min(telling, key=lambda each: (each[0].created_at, each[0].uid))
        return oldest.elastic

    def _find_spec(self) -> GangSpec | None:
        described = next(iter(self.specs.values()), None)
        if len(self.specs) > 1:
            described = min(self.specs.values(), key=_first_of)
        if described is not None and self._workload is not None:
            described = specs.with_roles_of(described, self._workload)
        by_members = table.BY_MEMBERS.get(self.key.source)
        if by_members is None:
            return described
        return by_members(self.key, self.describing_members, described)

    def _virtual_in_rank_order(self, pods: VirtualPods) -> VirtualPods:
        roles = (self.spec or NO_SPEC).roles
        places = [place_of(pod, roles) for pod in pods.prototypes]
        if places == sorted(places) or not roles:
            return pods
        return pods.sorted_by(places)


def _first_of(gang_spec: GangSpec) -> tuple[object, ...]:
    return gang_spec.gvr or ("",), -gang_spec.created_at, gang_spec.uid
