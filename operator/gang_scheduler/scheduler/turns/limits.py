"""Limits of a queue that hold even if quota is free: stop policy, jobs, size, priority, checks."""

import itertools
from collections.abc import Iterable

from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.causes.queues import (
    AdmissionLimit,
    AwaitsEvicted,
    JobLimit,
    LimitMissed,
    QueueOnHold,
)
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import GPU, Queue, QueueSet
from gang_scheduler.model.reasons import Problem, Reason


def stop_problem(queue: Queue) -> Problem | None:
    """Return a problem if the queue admits no new gangs."""
    if queue.stop is StopPolicy.NONE:
        return None
    return Problem(Reason.QUEUE_STOPPED, QueueOnHold(queue.ref.name, queue.stop))


def admission_problem(queue: Queue, group: GangGroup, declared: QueueSet) -> Problem | None:
    """Return why a queue does not admit a gang that holds no quota yet, if it does not."""
    limits, name = queue.limits, queue.ref.name
    missed = None
    if limits.gpus_per_job is not None:
        gpus = _gpus(group, declared)
        if gpus > limits.gpus_per_job:
            missed = LimitMissed(name, AdmissionLimit.GPUS_PER_JOB, gpus, limits.gpus_per_job)
    lowest, highest = limits.lowest_priority, limits.highest_priority
    if lowest is not None and group.priority < lowest:
        missed = LimitMissed(name, AdmissionLimit.LOWEST_PRIORITY, group.priority, lowest)
    if highest is not None and group.priority > highest:
        missed = LimitMissed(name, AdmissionLimit.HIGHEST_PRIORITY, group.priority, highest)
    return Problem(Reason.ADMISSION_DENIED, missed) if missed else None


def job_limit_problem(queue: Queue, running: int) -> Problem | None:
    """Return a problem if the queue's limit on running groups is reached."""
    most = queue.limits.jobs
    if most is None or running < most:
        return None
    return Problem(Reason.JOB_LIMIT_REACHED, JobLimit(queue.ref.name, most))


def turn_problem(queue: Queue) -> Problem:
    """Return the problem of a group that waits for evicted groups to leave a full queue."""
    return Problem(Reason.WAITING_FOR_TURN, AwaitsEvicted(queue.ref.name, queue.limits.jobs or 0))


def admission_checks(queue: Queue, names: Iterable[str]) -> tuple[str, ...]:
    """Return the admission checks that a gang on these flavors must pass."""
    of_flavors = (check for name in names for check in queue.flavor_checks.get(name, ()))
    return tuple(dict.fromkeys((*queue.checks, *of_flavors)))


def _gpus(group: GangGroup, declared: QueueSet) -> int:
    """Return the GPUs of all possible members, surplus included."""
    present = ((pod.pod_class, 1) for gang in group.waiting for pod in gang.pending)
    absent = (each for gang in group.waiting for each in gang.absent)
    members = itertools.chain(present, absent)
    return sum(declared.charged(each.charged).get(GPU, 0) * number for each, number in members)
