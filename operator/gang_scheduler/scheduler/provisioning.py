"""Requests for nodes: which groups of a cycle wait for new nodes, and their requests.

A group makes a request when it lacks only room and evictions cannot help. It is judged when the
cycle tries it, so that the requests of a queue are counted in scheduling order.
"""

import enum
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass, replace
from typing import Final, NamedTuple

from gang_scheduler.model.causes.queues import (
    AskedAgain,
    MostOutstanding,
    NodesAwaited,
    NotProvisioned,
    RequestLeaves,
    TooManyPodSets,
)
from gang_scheduler.model.gangs import BlockCause, Gang, GangGroup
from gang_scheduler.model.plan import PreemptionVerdict, Refused
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.provisioning import (
    MOST_OUTSTANDING,
    MOST_POD_SETS,
    NodeRequest,
    Provisioning,
    ProvisioningRequest,
    RequestedPodSet,
)
from gang_scheduler.model.queues import NONE, Charge, ProvisioningRules, Queue, Retry
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit

# Decides whether a gang requests nodes now, waits for a request, or has made enough attempts.


class Step(enum.Enum):
    """The next action for a gang."""

    ASK = enum.auto()
    STAND = enum.auto()
    """A request exists: its nodes are on their way, or there."""
    WAIT = enum.auto()
    """No request exists, and another attempt is made later."""
    GIVE_UP = enum.auto()


class Judgement(NamedTuple):
    """The next action, and the cause why the gang waits meanwhile.

    `attempt` is the number of the new request, `request` the last one with the same pod sets.
    """

    step: Step
    cause: Cause | None = None
    attempt: int = 1
    request: ProvisioningRequest | None = None


def judge(
    gang: Gang, digest: str, known: Iterable[ProvisioningRequest], retry: Retry, now: int
) -> Judgement:
    """Return the next action for a gang that lacks room, from all its requests.

    One request is made at a time: none while another exists or is being deleted, even for other
    nodes. `now` is in seconds.
    """
    known = tuple(known)
    same = [each for each in known if (each.digest, each.gang_uid) == (digest, gang.object_uid)]
    last = max(same, key=lambda each: each.attempt, default=None)
    for other in known:
        if other is not last and (other.stands or other.deleting):
            return Judgement(Step.WAIT, RequestLeaves(other.name), request=last)
    if last is None:
        return Judgement(Step.ASK)
    if last.deleting:
        return Judgement(Step.WAIT, RequestLeaves(last.name), request=last)
    if last.stands:
        return Judgement(Step.STAND, awaited(last), last.attempt, last)
    return _after(last, retry, now)


def _after(last: ProvisioningRequest, retry: Retry, now: int) -> Judgement:
    """Return the next step after a request has failed."""
    number = last.attempt
    if number > retry.times:
        cause = NotProvisioned(number, last.state, last.message)
        return Judgement(Step.GIVE_UP, cause, number, last)
    until = last.since + retry.pause(number)
    if now < until:
        cause_of_wait = AskedAgain(number, last.state, last.message, until)
        return Judgement(Step.WAIT, cause_of_wait, number, last)
    return Judgement(Step.ASK, attempt=number + 1, request=last)


def awaited(request: ProvisioningRequest) -> NodesAwaited:
    """Return the cause of a gang that waits for the nodes of a request."""
    return NodesAwaited(request.name, request.class_name, request.state, request.message)


# A short digest of a request, equal in every process. A new leader must recognize a request that
# the previous one made, and Python's own hashes differ between processes.

LENGTH: Final = 16


def digest(*parts: object) -> str:
    """Return a digest of texts, numbers, tuples, sets, mappings and dataclasses of these."""
    return hashlib.sha256(_text(parts).encode()).hexdigest()[:LENGTH]


def _text(part: object) -> str:
    """Return a text that differs for different values.

    The elements of sets are sorted.
    """
    match part:
        case enum.Enum():
            text = repr(part.name)
        case Mapping():
            text = _joined(sorted(f"{_text(key)}:{_text(part[key])}" for key in part))
        case AbstractSet():
            text = _joined(sorted(map(_text, part)))
        case tuple() | list():
            text = _joined(map(_text, part))
        case _ if is_dataclass(part):
            text = _joined(_text(getattr(part, each.name)) for each in fields(part) if each.compare)
        case _:
            text = repr(part)
    return text


def _joined(texts: Iterable[str]) -> str:
    return f"({','.join(texts)})"


# Pod sets of a request: equal members, their number, and the labels that their nodes must have.

Labels = Mapping[str, tuple[tuple[str, str], ...]]
"""The labels that nodes of members must have because of their flavors, by the uids of pods."""


class _Kind(NamedTuple):
    """The properties that all members of one pod set have in common."""

    asks: tuple[object, ...]
    node_labels: tuple[tuple[str, str], ...]


def pod_sets_of(
    units: Sequence[PlacementUnit], rules: ProvisioningRules, labels: Labels
) -> tuple[RequestedPodSet, ...]:
    """Return the pod sets of the quorums, in an order that depends only on their requests.

    Members that request no managed resource are left out. More sets than a request can have are
    in the order of their first members: comparing what thousands of them ask for takes seconds.
    """
    found: dict[_Kind, list[Pod]] = {}
    for pod in quorum_of(units):
        if _is_managed(pod.pod_class, rules):
            kind = _Kind(_asks(pod.pod_class), labels.get(pod.uid, ()))
            found.setdefault(kind, []).append(pod)
    kinds = [*found] if len(found) > MOST_POD_SETS else sorted(found, key=digest)
    return tuple(
        RequestedPodSet(found[kind][0], len(found[kind]), kind.node_labels) for kind in kinds
    )


def quorum_of(units: Iterable[PlacementUnit]) -> list[Pod]:
    """Return the members that come before any surplus."""
    return [pod for unit in units for pod in unit.members if pod.uid in unit.required]


def digest_of(pod_sets: Sequence[RequestedPodSet], rules: ProvisioningRules) -> str:
    """Return a digest of the requests of all members; of the first ones if there are too many."""
    asked = tuple(
        (_asks(each.pod.pod_class), each.number, each.node_labels)
        for each in pod_sets[:MOST_POD_SETS]
    )
    return digest(rules.class_name, rules.parameters, asked)


def _asks(ask: PodClass) -> tuple[object, ...]:
    """Return a pod's own requirements on its node, without anything that other objects change."""
    return (
        *(ask.requests, ask.node_selector, ask.affinity, ask.tolerations),
        *(ask.host_ports, ask.preferred, ask.features),
    )


def _number_asked(pod_set: RequestedPodSet) -> int:
    """Return how many requirements pods of a set have on the labels of their nodes."""
    ask = pod_set.pod.pod_class
    return sum(map(len, ask.affinity or ())) + sum(len(term) for _, term in ask.preferred)


def _is_managed(ask: PodClass, rules: ProvisioningRules) -> bool:
    return not rules.managed or any(name in rules.managed for name, _ in ask.requests)


NO_LABELS: Final[Labels] = {}
Flavors = tuple[tuple[str, str], ...]
REQUIREMENTS_A_LOOK: Final = 6
"""This many requirements of pod sets are compared in the time of one look."""
NAME_PREFIX: Final = "pgs"


def rules_of(
    group: GangGroup, queue: Queue | None = None, flavors: frozenset[str] = frozenset()
) -> ProvisioningRules | None:
    """Return how nodes are requested for a group, by itself or its queue; None if they are not."""
    name = next((each.provisioning_class for each in group.waiting if each.provisioning_class), "")
    if name:
        return ProvisioningRules(name)
    declared = queue.provisioning if queue is not None else {}
    of_flavors = (declared[each] for each in sorted(flavors) if each in declared)
    return next(of_flavors, declared.get(""))


class NodeRequests:
    """The groups of one cycle for which nodes are requested; none if requests are off."""

    def __init__(self, snapshot: Snapshot, effort: Effort) -> None:
        self._effort = effort
        self._provisioning = snapshot.provisioning or Provisioning()
        self._now = snapshot.taken_at
        self._outstanding = Counter(self._provisioning.outstanding)
        self.is_on = snapshot.provisioning is not None
        self.found: dict[GangKey, NodeRequest] = {}

    def may_ask(self, group: GangGroup, queue: Queue | None = None) -> bool:
        """Return whether nodes may be requested for a group.

        Such a group makes a request of its own, even if an equal group has just failed.
        """
        if not self.is_on:
            return False
        return rules_of(group, queue) is not None or bool(queue and queue.provisioning)

    def known(self, group: GangGroup) -> tuple[ProvisioningRequest, ...]:
        """Return the existing requests for a group."""
        return self._provisioning.requests.get(group.waiting[0].key, ())

    @property
    def asking(self) -> Collection[GangKey]:
        """The gangs with a request for nodes."""
        return self._provisioning.requests.keys()

    def stands(self, group: GangGroup) -> bool:
        """Return whether nodes for a group are on their way, or there."""
        # This runs for every group of a full queue, and most clusters request no nodes.
        if not self._provisioning.requests:
            return False
        return any(each.stands and not each.deleting for each in self.known(group))

    def standing(self) -> Iterator[GangKey]:
        """Yield the gangs whose requested nodes are on their way, or there."""
        for key, known in self._provisioning.requests.items():
            if any(each.stands and not each.deleting for each in known):
                yield key

    def held(self, group: GangGroup) -> Charge:
        """Return the charge of a group for its present request for nodes."""
        return self._provisioning.held.get(group.waiting[0].key, {})

    def digest_of(
        self,
        units: Sequence[PlacementUnit],
        rules: ProvisioningRules,
        labels: Labels = NO_LABELS,
    ) -> str:
        """Return a digest of the requests of a group."""
        return digest_of(self._pod_sets_of(units, rules, labels), rules)

    def _pod_sets_of(
        self, units: Sequence[PlacementUnit], rules: ProvisioningRules, labels: Labels
    ) -> tuple[RequestedPodSet, ...]:
        """Return the pod sets, and count the work of comparing what they ask for."""
        found = pod_sets_of(units, rules, labels)
        asked = sum(map(_number_asked, found[:MOST_POD_SETS]))
        self._effort.count(asked / REQUIREMENTS_A_LOOK)
        return found

    def consider(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        rules: ProvisioningRules,
        *,
        labels: Labels = NO_LABELS,
        flavors_of: Callable[[Pod], Flavors] = lambda _: (),
    ) -> Judgement | None:
        """Judge a group that lacks room, and note the result; None if it can request no nodes.

        `labels` are the node labels that the flavors of members demand.
        """
        if any(pod.queue_request and pod.queue_request.consumes for pod in _pending(group)):
            return None  # Its user has requested nodes for it.
        asked = self._pod_sets_of(units, rules, labels)
        if not asked:
            return None
        lead, named = group.waiting[0], digest_of(asked, rules)
        retry = rules.retry or self._provisioning.retry
        judgement = judge(lead, named, self.known(group), retry, self._now)
        if judgement.step is Step.ASK:
            judgement = self._within_limits(group, asked, judgement)
        request, is_new = judgement.request, judgement.step is Step.ASK
        if is_new:
            self._outstanding[group.queue or NONE, lead.key.namespace] += 1
            request = _new(group, named, rules, judgement.attempt, self._now)
            judgement = judgement._replace(cause=awaited(request), request=request)
        stands = is_new or judgement.step is Step.STAND
        members = quorum_of(units) if stands else ()
        self.found[lead.key] = NodeRequest(
            *(lead, named, request),
            is_new=is_new,
            parameters=rules.parameters,
            pod_sets=asked if is_new else (),
            members=tuple((pod.uid, flavors_of(pod)) for pod in members),
        )
        return judgement

    def _within_limits(
        self, group: GangGroup, asked: Sequence[RequestedPodSet], judgement: Judgement
    ) -> Judgement:
        """Return the judgement, or one that says why a limit forbids a request now."""
        queue = group.queue or NONE
        if len(asked) > MOST_POD_SETS:
            cause: Cause = TooManyPodSets(len(asked), MOST_POD_SETS)
            return judgement._replace(step=Step.GIVE_UP, cause=cause)
        if self._outstanding[queue, group.waiting[0].key.namespace] >= MOST_OUTSTANDING:
            name = "" if queue == NONE else queue.name
            return judgement._replace(step=Step.WAIT, cause=MostOutstanding(name, MOST_OUTSTANDING))
        return judgement


def with_judgement(
    group: GangGroup, refused: Mapping[GangKey, Refused], judgement: Judgement
) -> dict[GangKey, Refused]:
    """Return why the gangs of a group wait, given the judgement of its request for nodes."""
    found = {}
    for gang in group.waiting:
        why = refused[gang.key]
        if judgement.step is Step.GIVE_UP:
            found[gang.key] = replace(why, cause=judgement.cause)
        else:
            reason = Reason.WAITING_FOR_PROVISIONING
            found[gang.key] = Refused(gang, reason, why.pods, cause=judgement.cause)
    return found


def lacks_only_room(group: GangGroup, refused: Mapping[GangKey, Refused]) -> bool:
    """Return whether more room would be enough for all gangs of a group."""
    whys = [refused.get(gang.key) for gang in group.waiting]
    return all(
        why is not None
        and why.reason is Reason.UNSCHEDULABLE
        and not why.left_over
        and (why.misfit is not None or why.with_group is not None)
        for why in whys
    )


def was_searched(group: GangGroup, refused: Mapping[GangKey, Refused]) -> bool:
    """Return whether it is certain that there is no room, and that evictions make none."""
    return not any(_is_open(refused[gang.key]) for gang in group.waiting)


def _is_open(why: Refused) -> bool:
    """Return whether another attempt may find room or victims even if nothing changes."""
    if why.misfit is not None and why.misfit.cut_off:
        return True
    outcome = why.preemption
    if outcome is None:
        return False
    under_way = outcome.block is not None and outcome.block.cause is BlockCause.UNDER_WAY
    return outcome.verdict is PreemptionVerdict.NONE_FOUND or under_way


def _new(
    group: GangGroup, named: str, rules: ProvisioningRules, attempt: int, now: int
) -> ProvisioningRequest:
    """Return a new request.

    Every process gives it the same name, so it is made once.
    """
    lead = group.waiting[0]
    name = digest(lead.key, lead.object_uid, named)
    return ProvisioningRequest(
        namespace=lead.key.namespace,
        name=f"{NAME_PREFIX}-{name}-{attempt}",
        gang=lead.key,
        gang_uid=lead.object_uid,
        digest=named,
        attempt=attempt,
        class_name=rules.class_name,
        since=now,
    )


def _pending(group: GangGroup) -> list[Pod]:
    return [pod for gang in group.waiting for pod in gang.pending]
