"""Events on other topics than starts: lost nodes, leaders, left-out objects and more."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from gang_scheduler.api.kinds import DEPLOYMENTS, JOB_SETS, JOBS, RESOURCE_CLAIMS, STATEFUL_SETS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.leader_election import Predecessor, Sign
from gang_scheduler.client.port import Api, Body
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import fields, reader
from gang_scheduler.decode.events import LeftOut, LeftOutObjects
from gang_scheduler.decode.gangs.specs import MisplacedRequest
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.internal_errors import confined
from gang_scheduler.model import refs
from gang_scheduler.model.causes.gangs import NotLeading
from gang_scheduler.model.causes.queues import WorkloadChanged, WorkloadGone, state_text
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.provisioning import ProvisioningRequest, RequestState
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.model.suspended import Admission, ManagedWorkload, SuspendedFor, Suspension
from gang_scheduler.report import events
from gang_scheduler.report.events import About, Events, described
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.devices.foreign_claims import ForeignClaims
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.memory import Reported, pruned
from gang_scheduler.state.nodes import REFUSED_SECONDS, RefusedShapes
from gang_scheduler.tasks import every
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.wire.base import Identified
from gang_scheduler.workloads import misplaced_requests, table

# Events on gangs whose nodes have failed: the missing members, the stuck pods, and the recovery.
# Each is sent once, also for gangs that no PodGroup describes.

HEALED: Final = "DomainHealed"
STUCK: Final = "StuckPods"


class DegradedEvents:
    """Reports degraded gangs, and remembers what it reported.

    A healthy gang costs one look into a set.
    """

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events
        self._reported: Reported[GangKey, str] = Reported()
        self._stuck: dict[GangKey, frozenset[str]] = {}

    def look(self, info: GangInfo, now: int) -> int | None:
        """Report changes of a gang; return when to look again, in seconds since the epoch."""
        degraded = self._cache.degraded.of(info.key, now)
        if degraded is not None:
            found = messages.degraded_finding(degraded)
            if self._reported.is_news(info.key, found.reason):
                self._events.record(
                    About.of_gang(info), messages.DEGRADED_TYPE, found.message, warning=True
                )
        elif self._reported.forget(info.key) and any(info.observed.with_node()):
            note = "as many members as the gang needs are on healthy nodes again"
            self._events.record(About.of_gang(info), HEALED, note)
        return self._look_at_stuck(info, now)

    def forget(self, key: GangKey) -> None:
        """Forget the Events of a gang."""
        self._reported.forget(key)
        self._stuck.pop(key, None)

    def forget_the_gone(self) -> None:
        """Drop the records of deleted gangs once they outnumber the others."""
        infos = self._cache.gang_queue.infos
        self._reported.prune(infos)
        self._stuck = pruned(self._stuck, infos)

    def _look_at_stuck(self, info: GangInfo, now: int) -> int | None:
        """Report stuck pods by name, each of them once."""
        leaving = self._cache.degraded.leaving(info.key)
        pods = [pod for pod in leaving if now >= pod.gone_by]
        uids = frozenset(pod.uid for pod in pods)
        if uids - self._stuck.get(info.key, frozenset()):
            note = (
                f"{messages.stuck(pods)} should be gone, and the nodes have failed: only a "
                "kubelet, an administrator or forceDeleteStuckPodsSeconds ends these pods"
            )
            self._events.record(About.of_gang(info), STUCK, note, warning=True)
        if uids:
            self._stuck[info.key] = uids
        else:
            self._stuck.pop(info.key, None)
        return min((pod.gone_by for pod in leaving if now < pod.gone_by), default=None)


# Events on the Lease: which replica began or ended to lead, and how long the change took.

REASON: Final = "LeaderElection"
"""client-go's reason: other controllers send the same Event with it."""

log = Logger()


class LeaderEvents:
    """Events that wait neither for bindings nor for leadership, since they report its loss, too.

    `lease` returns the last written Lease, None if unknown.
    """

    def __init__(
        self,
        api: Api,
        identity: str,
        lease: Callable[[], Body | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._identity = identity
        self._lease = lease
        self._clock = clock

    async def began(self, predecessor: Predecessor | None, seconds: float) -> None:
        """Report that this replica schedules, and how long after the last sign of another one."""
        note = f"{self._identity} became leader"
        if predecessor is not None:
            how = (
                "released the Lease"
                if predecessor.ended is Sign.RELEASED
                else "was last seen to renew the Lease"
            )
            note += f" {seconds:.1f} s after {predecessor.identity} {how}"
        await self._tell(note)

    async def ended(self, *, released: bool) -> None:
        """Report that this replica leads no more."""
        how = "released the Lease" if released else "did not release the Lease: it has to run out"
        await self._tell(f"{self._identity} stopped leading, and {how}")

    async def _tell(self, note: str) -> None:
        lease = self._lease()
        if lease is None:
            return
        metadata = lease["metadata"]
        about = About(
            *("coordination.k8s.io/v1", "Lease", metadata["namespace"], metadata["name"]),
            uid=str(metadata.get("uid", "")),
        )
        event = events.event_of(about, REASON, note, self._clock(), warning=False)
        try:
            await events.create(self._api, about.namespace, event)
        except ApiError as error:
            log.warning("leader_event_not_written", note=note, error=str(error))


# Events on objects that were left out because they are unreadable, with the reason.

SCHEDULED: Final = frozenset({"Pod", "PodGroup", "Job", "JobSet"})
"""Kinds that this scheduler starts, or whose pods it places.

Events on other kinds only name the problem.
"""


class LeftOutEvents:
    """Reports each left-out object by an Event, and by a warning in the log.

    There is no Event on a pod of ours that waits because it is unreadable: its condition and the
    Event on its gang say more. `schedulers` are our own names.
    """

    def __init__(
        self, left_out: LeftOutObjects, events: Events, schedulers: Collection[str]
    ) -> None:
        self._left_out = left_out
        self._events = events
        self._schedulers = schedulers

    async def run(self) -> None:
        """Report every object that is left out, until cancelled."""
        while True:
            left_out = await self._left_out.next()
            with confined("report", left_out.kind):
                self.tell(left_out)

    def tell(self, left_out: LeftOut) -> None:
        """Report an object; without a name, only the log has it."""
        kind, obj, why, holds = left_out
        found = reader.identity(obj)
        names = {"namespace": found.namespace, "name": found.name}
        log.warning("object_left_out", kind=kind, **names, why=str(why))
        if not found.name or self._waits_with_problem(holds):
            return  # An Event needs an object with a name, or another Event says the same.
        version = str(obj.get("apiVersion", "v1"))
        about = About(version, kind, found.namespace, found.name, found.uid)
        reason = "FailedScheduling" if kind in SCHEDULED else Reason.INVALID_SPEC.value
        # An unreadable queue still exists, and so do the queues below it.
        what = "not active" if isinstance(holds, DeclaredQueue) else "left out"
        self._events.record(about, reason, f"{what}: {why}", warning=True)

    def _waits_with_problem(self, holds: object) -> bool:
        """Return whether an object is a waiting pod whose problem the scheduler reports anyway."""
        if not isinstance(holds, Pod) or holds.scheduler not in self._schedulers:
            return False
        return holds.problem is not None and holds.living and not holds.node


# Events on workloads that request a gang in a field from which their pods do not get it.

MISPLACED_REQUEST: Final = "InvalidGang"
_GVRS: Final = {
    refs.JOB.object_kind: JOBS,
    refs.JOB_SET.object_kind: JOB_SETS,
    misplaced_requests.STATEFUL_SET: STATEFUL_SETS,
}


class MisplacedRequestEvents:
    """Reports each workload with a misplaced request by one Event.

    It is sent as soon as the workload is seen, since its pods may be bound soon. `requests` are by
    uid of the workload, and change. Requests to schedulers other than `schedulers` are not ours to
    report.
    """

    def __init__(
        self,
        requests: Mapping[str, MisplacedRequest],
        schedulers: Collection[str],
        events: Events,
    ) -> None:
        self._requests = requests
        self._schedulers = schedulers
        self._events = events
        self._reported: Reported[str, str] = Reported()

    def tell(self) -> None:
        """Report the workloads that came since the last call. Costs nothing if there are none."""
        if not self._requests:
            return
        self._reported.keep(self._requests)
        for uid, request in sorted(self._requests.items()):
            is_ours = not request.schedulers.isdisjoint(self._schedulers)
            if is_ours and self._reported.is_news(uid, MISPLACED_REQUEST):
                kind, namespace, name = request.workload
                about = About(_GVRS[kind].api_version, kind, namespace, name, uid)
                self._events.record(
                    about, MISPLACED_REQUEST, text_of(request.problem.cause), warning=True
                )


# Events on requests for nodes, written on the objects of gangs, and counts of them.


class _Said(NamedTuple):
    """The reason of the Event about a request for nodes, and whether it is a warning."""

    reason: str
    warning: bool = False


EVENTS: Final = {
    RequestState.ASKED: _Said("ProvisioningRequested"),
    RequestState.PROVISIONED: _Said("Provisioned"),
    RequestState.FAILED: _Said("ProvisioningFailed", warning=True),
    RequestState.REVOKED: _Said("ProvisioningFailed", warning=True),
    RequestState.EXPIRED: _Said("ProvisioningFailed", warning=True),
    RequestState.REFUSED: _Said("ProvisioningFailed", warning=True),
}


class ProvisioningEvents:
    """Reports the outcome of each request for nodes once."""

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events

    def tell(self, request: ProvisioningRequest) -> None:
        """Report the outcome of a request, unless its gang is gone."""
        metrics.PROVISIONING_REQUESTS.labels(request.state.value).inc()
        said, info = EVENTS.get(request.state), self._cache.gang_queue.infos.get(request.gang)
        if said is None or info is None or not (info.observed.living or described(info)):
            return
        words = state_text(request.state, request.message)
        if request.state is RequestState.ASKED:
            words = f"nodes of class {request.class_name} are asked for"
        elif request.state is RequestState.PROVISIONED:
            words = request.message or "the nodes are there"
        note = f"ProvisioningRequest {request.name}: {words}"
        self._events.record(About.of_gang(info), said.reason, note, warning=said.warning)


# Events on suspended workloads: started, not started after all, suspended again.

UNTOLD: Final = (NotLeading, WorkloadChanged, WorkloadGone)
"""Causes without an Event: the workload is decided on again or gone, and users can do nothing."""
REASONS: Final = {
    SuspendedFor.PODS_MISSING: "its pods were not created in time; it waits, and is tried later",
    SuspendedFor.EVICTED: "it was evicted; it waits in its queue again",
}


class WorkloadEvents:
    """Events that show users which changes were written to a workload."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def admitted(self, admission: Admission) -> None:
        """Report that a workload was started, by which queue and on which flavors."""
        where = ", ".join(f"{resource} in {flavor}" for resource, flavor in admission.flavors)
        by = f" by queue {admission.queue}" if admission.queue else ""
        note = f"Admitted{by}{f': {where}' if where else ''}; its pods may be created"
        self._events.record(_about_workload(admission.workload), "Admitted", note)

    def not_admitted(self, admission: Admission, why: Cause) -> None:
        """Report that a workload could not be started, if users should know."""
        if not isinstance(why, UNTOLD):
            about = _about_workload(admission.workload)
            self._events.record(about, "AdmissionFailed", text_of(why), warning=True)

    def suspended(self, suspension: Suspension) -> None:
        """Report that a workload is suspended again, and why."""
        note = f"Suspended: {REASONS[suspension.why]}"
        warning = suspension.why is SuspendedFor.PODS_MISSING
        about = _about_workload(suspension.workload)
        self._events.record(about, "Suspended", note, warning=warning)


def _about_workload(workload: ManagedWorkload) -> About:
    kind, namespace, name, uid, *_ = workload
    version = table.SUSPENDABLE[kind].versions[0].api_version
    return About(version, kind, namespace, name, uid)


# Events on pods that a kubelet rejected.

KUBELET_REFUSED: Final = "KubeletRefused"


class RefusalEvents:
    """Reports each refused pod once, by an Event on its gang, or else on the pod."""

    def __init__(
        self,
        refused_shapes: RefusedShapes,
        events: Events,
        object_of: Callable[[GangKey, Pod], About],
    ) -> None:
        self._refused_shapes = refused_shapes
        self._events = events
        self._object_of = object_of

    def tell(self) -> None:
        """Report new refusals that are still in force."""
        news = self._refused_shapes.news
        while news:
            refusal = news.popleft()
            pod, gang = refusal
            if self._refused_shapes.is_in_force(refusal):
                note = (
                    f"The kubelet of node {pod.node} refused pod {pod.key} ({pod.refused}): no pod "
                    "with the same requests goes there until a pod leaves it, or for "
                    f"{REFUSED_SECONDS // 60} minutes"
                )
                self._events.record(self._object_of(gang, pod), KUBELET_REFUSED, note, warning=True)


# Events on claims that another scheduler has allocated on a pool that this one uses.

DEVICES_OF_TWO: Final = "DevicesOfTwoSchedulers"


class ForeignClaimEvents:
    """Reports each pool of devices once that another scheduler allocates from, too."""

    def __init__(self, foreign_claims: ForeignClaims, events: Events) -> None:
        self._foreign_claims = foreign_claims
        self._events = events

    def tell(self) -> None:
        """Report new claims, each by an Event on the claim."""
        news = self._foreign_claims.news
        while news:
            claim, driver, pool = news.popleft()
            note = (
                f"Another scheduler has allocated devices of driver {driver}, pool {pool}, where "
                "claims of py-gang-scheduler have devices, too: both may give the same device away"
            )
            kind = RESOURCE_CLAIMS
            about = About(kind.api_version, "ResourceClaim", claim.namespace, claim.name, claim.uid)
            self._events.record(about, DEVICES_OF_TWO, note, warning=True)


# Kinds that the scheduler may not read are reported to administrators by Events on its own
# Deployment. Users see their pods of such a kind wait, but the fault is in the ClusterRole, which
# administrators maintain.

LOOK_SECONDS: Final = 30.0
FORBIDDEN_KINDS_REASON: Final = "KindForbidden"


class ForbiddenKinds:
    """Reports forbidden kinds by one Event that lists all of them, as long as there are any.

    `forbidden` returns their names. The Deployment has the name of the Lease, as in the chart.
    """

    def __init__(
        self,
        api: Api,
        events: Events,
        *,
        forbidden: Callable[[], Collection[str]],
        namespace: str,
        name: str,
        writes: Writes,
    ) -> None:
        self._api = api
        self._events = events
        self._forbidden = forbidden
        self._namespace = namespace
        self._name = name
        self._writes = writes
        self._reported: tuple[str, ...] = ()

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        when = self._writes.allowed
        await every(LOOK_SECONDS, self.look, "report", "forbidden kinds", at_once=True, when=when)

    async def look(self) -> None:
        """Report the kinds that may not be listed, once for each set of kinds."""
        names = tuple(sorted(self._forbidden()))
        if names == self._reported:
            return
        if names:
            deployment = await self._deployment()
            if deployment is None:
                return
            note = f"may not list {', '.join(names)}: pods of these wait; update the ClusterRole"
            self._events.record(deployment, FORBIDDEN_KINDS_REASON, note, warning=True)
        self._reported = names

    async def _deployment(self) -> About | None:
        """Return the Deployment of this process; None if it cannot be read."""
        try:
            body = await self._api.get(DEPLOYMENTS, self._namespace, self._name)
            found = fields.read(body, Identified).metadata
        except (ApiError, InvalidField) as error:
            log.info("deployment_unread", deployment=self._name, error=str(error))
            return None
        return About(DEPLOYMENTS.api_version, "Deployment", self._namespace, self._name, found.uid)


# A single eviction may end some Jobs for good. Their gangs get a warning with the fields to set.

UNPROTECTED_JOB: Final = "UnprotectedJob"
RULE: Final = (
    "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: "
    '[{type: DisruptionTarget, status: "True"}]}, '
    "{action: Ignore, onExitCodes: {operator: In, values: [143]}}]}"
)
AT_ONCE: Final = "completionMode: Indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 0"


class UnprotectedJobs:
    """Reports each Job whose evicted pods count as failures, once, by an Event on it or its JobSet.

    The Event is sent when waiting pods of the Job are decided on, so after a restart it is repeated
    only for Jobs with waiting pods. A Job that is not known yet when its pods are placed is checked
    when it is seen.
    """

    def __init__(
        self,
        cache: Cache,
        events: Events,
        object_of: Callable[[GangKey, Pod], About],
    ) -> None:
        self._evictable_pods = cache.evictable_pods
        self._gang_queue = cache.gang_queue
        self._events = events
        self._object_of = object_of
        self._reported: Reported[str, str] = Reported()
        self._placed: dict[str, tuple[GangKey, Pod]] = {}

    def planned(self, plan: Plan) -> None:
        """Warn about Jobs of gangs that were decided on. Costs little if all are protected."""
        rules = self._evictable_pods.rules
        if not (rules.preemption and rules.preempt_unprotected_jobs):
            return
        jobs = self._evictable_pods.protections.unprotected_jobs
        if jobs:
            self._reported.keep(jobs)
            for key, pod in chain(self._placed.values(), _decided(plan)):
                self._tell(key, pod, jobs)
        self._note_placed(plan)

    def _tell(self, key: GangKey, pod: Pod, jobs: Mapping[str, JobFailures]) -> None:
        if pod.job_uid in jobs and self._reported.is_news(pod.job_uid, UNPROTECTED_JOB):
            about = self._about(key, pod)
            self._events.record(about, UNPROTECTED_JOB, _note(jobs[pod.job_uid]), warning=True)

    def _note_placed(self, plan: Plan) -> None:
        """Remember one placed pod for each still unknown Job, as long as its gang exists."""
        known, gangs = self._gang_queue.objects(JOBS.name), self._gang_queue.infos
        for key, pod in _pending(each.gang for each in plan.placed):
            if pod.job_uid:
                self._placed.setdefault(pod.job_uid, (key, pod))
        if self._placed:
            self._placed = {
                uid: (key, pod)
                for uid, (key, pod) in self._placed.items()
                if uid not in known and key in gangs
            }

    def _about(self, key: GangKey, pod: Pod) -> About:
        if key.source == refs.JOB_SET.name:
            return self._object_of(key, pod)  # Users cannot change its Jobs.
        return About(f"{JOBS.group}/{JOBS.version}", "Job", pod.namespace, pod.job, pod.job_uid)


def _decided(plan: Plan) -> Iterator[tuple[GangKey, Pod]]:
    """Yield the waiting members of gangs that were decided on."""
    placed, refused = (e.gang for e in plan.placed), (e.gang for e in plan.refused)
    return _pending(chain(placed, refused))


def _pending(gangs: Iterable[Gang]) -> Iterator[tuple[GangKey, Pod]]:
    """Yield the waiting members of gangs. Pods without a gang are left out."""
    for gang in gangs:
        if gang.key.source != refs.SINGLE.name:
            for pod in gang.pending:
                yield gang.key, pod


def _note(failures: JobFailures) -> str:
    pods, left = failures.at_once, failures.left or 0
    return (
        f"One eviction ends the Job for good: its {pods} pods fail together, and more than {left} "
        f"failures end it. Create it with {RULE} (which needs restartPolicy: Never), and with "
        f"{AT_ONCE}, so that its pods come again at once; "
        f"or raise its backoffLimit by {pods - left}"
    )
