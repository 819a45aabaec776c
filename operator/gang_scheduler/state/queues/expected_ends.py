"""When the gangs on nodes will have ended.

Linear in pods on nodes, so it is worked out only where a gang may be promised a start by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state import terminating
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.pod_store import PodStore
from gang_scheduler.state.queues.gang_queues import GangQueues


class Gangs(Protocol):
    """What is known of gangs."""

    @property
    def infos(self) -> Mapping[GangKey, GangInfo]:
        """All gangs."""

    @property
    def queues(self) -> GangQueues:
        """What gangs are declared to be, beside their specs."""


def all_bound(pods: PodStore) -> BoundPods:
    """Return the pods on nodes where none may be evicted. Linear in pods."""
    counted = (pods.counted(uid) for uid in pods.uids())
    there = [each for each in counted if each is not None and each.node]
    bound = tuple(
        replace(terminating.bound_pod(each.pod, each.gang), evictable=False)
        for each in there
        if not each.pod.deleting
    )
    leaving = (terminating.bound_pod(each.pod, each.gang) for each in there if each.pod.deleting)
    return BoundPods(bound, leaving=tuple(leaving))


def added(bound_pods: BoundPods, gangs: Gangs, now: int) -> BoundPods:
    """Return bound pods with the ends of their gangs, as known at a time in seconds."""
    members: dict[GangKey, list[Pod]] = {}
    for each in bound_pods.pods:
        members.setdefault(each.gang, []).append(each.pod)
    known = {
        key: _with_end(bound_pods.gangs.get(key, RunningGang()), key, pods, gangs, now)
        for key, pods in members.items()
    }
    return replace(bound_pods, gangs={**bound_pods.gangs, **known})


def _with_end(
    running: RunningGang, key: GangKey, pods: Sequence[Pod], gangs: Gangs, now: int
) -> RunningGang:
    info = gangs.infos.get(key)
    spec = info.observed.spec if info is not None else None
    ends_at = gangs.queues.run_times.ends_at(pods, spec.run_time if spec else None, now)
    return running if ends_at is None else replace(running, ends_at=ends_at)
