"""Pods, PodGroups and Jobs that are no gang of ours, and what would make them one."""

from gang_scheduler.api import annotations
from gang_scheduler.inspection.explaining.names import Match
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.texts.foreign_members import foreign_members, ours
from gang_scheduler.state.cache import Cache


def sentence_of(match: Match, cache: Cache) -> str:
    """Return why what was found is no gang; "" if it is one."""
    if match.pod is not None:
        return _of_pod(match.pod, cache)
    if match.workload is not None:
        return _of_workload(match.workload, cache)
    if match.gang is not None:
        return _of_gang(match.gang, cache)
    return ""


def _of_pod(pod: Pod, cache: Cache) -> str:
    if pod.scheduler not in cache.schedulers:
        its = pod.scheduler or "not named"
        return f"Not a gang: its scheduler is {its}; {ours(cache.schedulers)}."
    if pod.gated:
        return (
            "It is gated: no scheduler looks at a pod before all of its spec.schedulingGates are "
            "removed."
        )
    return ""


def _of_workload(key: GangKey, cache: Cache) -> str:
    pods = [pod for pod in cache.pods() if (pod.namespace, pod.job) == (key.namespace, key.name)]
    number = "both" if len(pods) == 2 else f"all {len(pods)}"
    waiting = sorted(pod.name for pod in pods if not pod.node and not pod.terminal)
    said = ""
    if waiting:
        said = (
            f"{len(waiting)} of {len(pods)} pods {'waits' if len(waiting) == 1 else 'wait'} for a "
            f"node, of which explain pod/{waiting[0]} says more. "
        )
    return (
        f"{said}Not a gang: each pod of this {key.source} starts by itself. Label its template "
        f'{annotations.JOB_GANG_LABEL}: "true" to start {number} together.'
    )


def _of_gang(key: GangKey, cache: Cache) -> str:
    """Return why a PodGroup is none of ours: all of its members are another scheduler's."""
    foreign = cache.foreign_members.of(key)
    info = cache.gang_queue.infos.get(key)
    if not foreign or (info is not None and info.observed.members):
        return ""
    return f"Not ours: {foreign_members(foreign, cache.schedulers)}."
