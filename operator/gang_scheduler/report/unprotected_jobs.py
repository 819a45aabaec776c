"""Warns of gangs of Jobs that one eviction would end for good, and says what to write instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from gang_scheduler.api.kinds import JOBS
from gang_scheduler.model import gang_sources
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.cache import Cache

REASON: Final = "UnprotectedJob"
RULE: Final = (
    "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: "
    '[{type: DisruptionTarget, status: "True"}]}, '
    "{action: Ignore, onExitCodes: {operator: In, values: [143]}}]}"
)
AT_ONCE: Final = "completionMode: Indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 0"


class UnprotectedJobs:
    """An Event on each Job, or on its JobSet, once: when waiting pods of it are decided on.

    So a restart repeats it only for Jobs whose pods wait then. A Job that is not known yet when its
    pods are placed is looked at when it comes.
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
        self._told: set[str] = set()
        self._placed: dict[str, tuple[GangKey, Pod]] = {}

    def planned(self, plan: Plan) -> None:
        """Warn of the Jobs of gangs that were decided on. Costs little if all are protected."""
        rules = self._evictable_pods.rules
        if not (rules.preemption and rules.unprotected_jobs):
            return
        jobs = self._evictable_pods.unprotected_jobs
        if jobs:
            self._told &= jobs.keys()
            for key, pod in chain(self._placed.values(), _decided(plan)):
                self._tell(key, pod, jobs)
        self._note_placed(plan)

    def _tell(self, key: GangKey, pod: Pod, jobs: Mapping[str, JobFailures]) -> None:
        if pod.job_uid in jobs and pod.job_uid not in self._told:
            self._told.add(pod.job_uid)
            about = self._about(key, pod)
            self._events.record(about, REASON, _note(jobs[pod.job_uid]), warning=True)

    def _note_placed(self, plan: Plan) -> None:
        """Keep one placed pod of each Job that is still to come, for as long as its gang exists."""
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
        if key.source == gang_sources.JOB_SET.name:
            return self._object_of(key, pod)  # Its Jobs are not for users to change.
        return About(f"{JOBS.group}/{JOBS.version}", "Job", pod.namespace, pod.job, pod.job_uid)


def _decided(plan: Plan) -> Iterator[tuple[GangKey, Pod]]:
    """Yield the waiting members of gangs that were decided on."""
    placed, refused = (e.gang for e in plan.placed), (e.gang for e in plan.refused)
    return _pending(chain(placed, refused))


def _pending(gangs: Iterable[Gang]) -> Iterator[tuple[GangKey, Pod]]:
    """Yield the waiting members of gangs. Pods without a gang are left out."""
    for gang in gangs:
        if gang.key.source != gang_sources.SINGLE.name:
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
