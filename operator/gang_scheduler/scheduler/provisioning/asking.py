"""Which groups of a cycle wait for nodes that are bought, and by which requests.

A group asks when nothing but room is lacking, and eviction was found to be no way. It is judged at
its turn, so that the requests of a queue are counted in the order of turns.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.causes.provisioning import MostOutstanding, TooManyPodSets
from gang_scheduler.model.gangs import BlockCause, GangGroup
from gang_scheduler.model.plan import PreemptionVerdict, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Cause, Reason
from gang_scheduler.model.provisioning import (
    MOST_OUTSTANDING,
    MOST_POD_SETS,
    AskedPodSet,
    Asking,
    Provisioning,
    ProvisioningRequest,
)
from gang_scheduler.model.provisioning_rules import ProvisioningRules
from gang_scheduler.model.queues import NONE, Charge, Queue
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.provisioning import judging, pod_sets
from gang_scheduler.scheduler.provisioning.digests import digest
from gang_scheduler.scheduler.provisioning.judging import Judgement, Step
from gang_scheduler.scheduler.units.placement_units import PlacementUnit

NO_LABELS: Final[pod_sets.Labels] = {}
Flavors = tuple[tuple[str, str], ...]
NAME_PREFIX: Final = "pgs"


def rules_of(
    group: GangGroup, queue: Queue | None = None, flavors: frozenset[str] = frozenset()
) -> ProvisioningRules | None:
    """Return how nodes are bought for a group: as it says itself, else its queue; None: not."""
    name = next((each.provisioning_class for each in group.waiting if each.provisioning_class), "")
    if name:
        return ProvisioningRules(name)
    declared = queue.provisioning if queue is not None else {}
    of_flavors = (declared[each] for each in sorted(flavors) if each in declared)
    return next(of_flavors, declared.get(""))


class AskingGroups:
    """The groups of one cycle that nodes are bought for. None where none can be bought."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._provisioning = snapshot.provisioning or Provisioning()
        self._now = snapshot.taken_at
        self._outstanding = Counter(self._provisioning.outstanding)
        self.is_on = snapshot.provisioning is not None
        self.found: dict[GangKey, Asking] = {}

    def may_ask(self, group: GangGroup, queue: Queue | None = None) -> bool:
        """Return whether nodes may be bought for a group: then it is like no other group."""
        if not self.is_on:
            return False
        return rules_of(group, queue) is not None or bool(queue and queue.provisioning)

    def known(self, group: GangGroup) -> tuple[ProvisioningRequest, ...]:
        """Return the requests that there are for a group."""
        return self._provisioning.requests.get(group.waiting[0].key, ())

    def stands(self, group: GangGroup) -> bool:
        """Return whether nodes are being bought for a group, or are there."""
        # Asked of every group of a full queue, and most clusters buy no nodes.
        if not self._provisioning.requests:
            return False
        return any(each.stands and not each.deleting for each in self.known(group))

    def standing(self) -> Iterator[GangKey]:
        """Yield the gangs that nodes are being bought for, or are there for."""
        for key, known in self._provisioning.requests.items():
            if any(each.stands and not each.deleting for each in known):
                yield key

    def held(self, group: GangGroup) -> Charge:
        """Return what a group is charged for a request that stands."""
        return self._provisioning.held.get(group.waiting[0].key, {})

    def digest_of(
        self,
        units: Sequence[PlacementUnit],
        rules: ProvisioningRules,
        labels: pod_sets.Labels = NO_LABELS,
    ) -> str:
        """Return what stands for what a group would ask for."""
        return pod_sets.digest_of(pod_sets.of(units, rules, labels), rules)

    def consider(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        rules: ProvisioningRules,
        *,
        labels: pod_sets.Labels = NO_LABELS,
        flavors_of: Callable[[Pod], Flavors] = lambda _: (),
    ) -> Judgement | None:
        """Judge a group that lacks room, and note what is found; None: it can ask for nothing.

        `labels` are those that the flavors of members demand of nodes.
        """
        if any(pod.queue_request and pod.queue_request.consumes for pod in _pending(group)):
            return None  # Nodes are bought for it by a request of its user.
        asked = pod_sets.of(units, rules, labels)
        if not asked:
            return None
        lead, named = group.waiting[0], pod_sets.digest_of(asked, rules)
        retry = rules.retry or self._provisioning.retry
        judgement = judging.judge(lead, named, self.known(group), retry, self._now)
        if judgement.step is Step.ASK:
            judgement = self._within_limits(group, asked, judgement)
        request, is_new = judgement.request, judgement.step is Step.ASK
        if is_new:
            self._outstanding[group.queue or NONE, lead.key.namespace] += 1
            request = _new(group, named, rules, judgement.attempt, self._now)
            judgement = judgement._replace(cause=judging.awaited(request), request=request)
        stands = is_new or judgement.step is Step.STAND
        members = pod_sets.quorum_of(units) if stands else ()
        self.found[lead.key] = Asking(
            *(lead, named, request),
            is_new=is_new,
            parameters=rules.parameters,
            pod_sets=asked if is_new else (),
            members=tuple((pod.uid, flavors_of(pod)) for pod in members),
        )
        return judgement

    def _within_limits(
        self, group: GangGroup, asked: Sequence[AskedPodSet], judgement: Judgement
    ) -> Judgement:
        """Return whether a group may ask now, with the reason why it may not."""
        queue = group.queue or NONE
        if len(asked) > MOST_POD_SETS:
            cause: Cause = TooManyPodSets(len(asked), MOST_POD_SETS)
            return judgement._replace(step=Step.GIVE_UP, cause=cause)
        if self._outstanding[queue, group.waiting[0].key.namespace] >= MOST_OUTSTANDING:
            name = "" if queue == NONE else queue.name
            return judgement._replace(step=Step.WAIT, cause=MostOutstanding(name, MOST_OUTSTANDING))
        return judgement


def retold(
    group: GangGroup, refused: Mapping[GangKey, Refused], judgement: Judgement
) -> dict[GangKey, Refused]:
    """Return why the gangs of a group wait, in the light of nodes that are bought for it."""
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
    """Return whether more room would give all gangs of a group their places."""
    whys = [refused.get(gang.key) for gang in group.waiting]
    return all(
        why is not None
        and why.reason is Reason.UNSCHEDULABLE
        and not why.left_over
        and (why.misfit is not None or why.with_group is not None)
        for why in whys
    )


def was_searched(group: GangGroup, refused: Mapping[GangKey, Refused]) -> bool:
    """Return whether it is sure that there is no room, and that evictions make none."""
    return not any(_is_open(refused[gang.key]) for gang in group.waiting)


def _is_open(why: Refused) -> bool:
    """Return whether another try may find room, or victims, with nothing else changed."""
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
    """Return a new request. Its name is the same for all that would make it, so it is made once."""
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
