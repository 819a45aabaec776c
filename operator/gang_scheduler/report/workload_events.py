"""Events on workloads: suspended, misread, ended by one eviction, or waiting for new nodes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from gang_scheduler.api.kinds import JOB_SETS, JOBS, STATEFUL_SETS
from gang_scheduler.decode.gangs.specs import MisplacedRequest
from gang_scheduler.model import refs
from gang_scheduler.model.causes.gangs import NotLeading
from gang_scheduler.model.causes.queues import WorkloadChanged, WorkloadGone, state_text
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.provisioning import ProvisioningRequest, RequestState
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.model.suspended import Admission, ManagedWorkload, SuspendedFor, Suspension
from gang_scheduler.report.events import About, Events, described
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.pruning import Reported
from gang_scheduler.telemetry import metrics
from gang_scheduler.workloads import misplaced_requests, table

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
