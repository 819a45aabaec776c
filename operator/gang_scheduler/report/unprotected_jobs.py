"""Warns of gangs of Jobs that one eviction would end for good, and says what to write instead."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from gang_scheduler.api.kinds import JOBS
from gang_scheduler.model import gang_sources
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.evictable_pods import EvictablePods

REASON: Final = "UnprotectedJob"
RULE: Final = (
    "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: "
    '[{type: DisruptionTarget, status: "True"}]}]}'
)


class UnprotectedJobs:
    """An Event on each Job, or on its JobSet, once: when waiting pods of it are decided on.

    So a restart repeats it only for Jobs whose pods wait then.
    """

    def __init__(
        self,
        evictable_pods: EvictablePods,
        events: Events,
        object_of: Callable[[GangKey, Pod], About],
    ) -> None:
        self._evictable_pods = evictable_pods
        self._events = events
        self._object_of = object_of
        self._told: set[str] = set()

    def planned(self, plan: Plan) -> None:
        """Warn of the Jobs of gangs that were decided on. Costs nothing if all are protected."""
        jobs, rules = self._evictable_pods.unprotected_jobs, self._evictable_pods.rules
        if not jobs or not (rules.preemption and rules.unprotected_jobs):
            return
        self._told &= jobs.keys()
        for gang, pod in _decided(plan):
            if pod.job_uid in jobs and pod.job_uid not in self._told:
                self._told.add(pod.job_uid)
                about = self._about(gang.key, pod)
                self._events.record(about, REASON, _note(jobs[pod.job_uid]), warning=True)

    def _about(self, key: GangKey, pod: Pod) -> About:
        if key.source == gang_sources.JOB_SET.name:
            return self._object_of(key, pod)  # Its Jobs are not for users to change.
        return About(f"{JOBS.group}/{JOBS.version}", "Job", pod.namespace, pod.job, pod.job_uid)


def _decided(plan: Plan) -> Iterator[tuple[Gang, Pod]]:
    """Yield the waiting members of gangs that were decided on. Pods without a gang are left out."""
    placed, refused = (e.gang for e in plan.placed), (e.gang for e in plan.refused)
    for gang in chain(placed, refused):
        if gang.key.source != gang_sources.SINGLE.name:
            for pod in gang.pending:
                yield gang, pod


def _note(failures: JobFailures) -> str:
    pods, left = failures.at_once, failures.left or 0
    return (
        f"One eviction ends the Job for good: its {pods} pods fail together, and more than {left} "
        f"failures end it. Create it with {RULE} (which needs restartPolicy: Never), or raise its "
        f"backoffLimit by {pods - left}"
    )
