"""What the gangs of one group ask of the network together, and where they contradict each other."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from gang_scheduler.model.causes.topology import (
    GangsRequestsDiffer,
    PodRequestBesideGang,
    PodsetsDiffer,
)
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.network.topology_request import PodSet, TopologyRequest
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.state.gangs.gang_info import GangInfo


def common(
    whole: Iterable[GangInfo], starting: Collection[GangKey]
) -> TopologyRequest | Problem | None:
    """Return the one request of a whole group; a gang without any inherits it.

    What gangs ask that have started holds for those that are `starting`. But a gang that has lost
    members and starts again alone asks for itself: its request need not agree with the others'.
    """
    asking = [
        (each, found) for each in whole if (found := each.observed.topology_request) is not None
    ]
    alone = [each for each in asking if each[0].attempt.was_whole and each[0].key in starting]
    asked = {record.key: topology_request for record, topology_request in alone or asking}
    first = next(iter(asked), None)
    for key, topology_request in asked.items():
        if first is not None and topology_request != asked[first]:
            return _contradiction(first, key, asked)
    return None if first is None else asked[first]


def shared(gangs: Iterable[Gang]) -> bool:
    """Return whether any waiting member shares its domain with those of other gangs."""
    podsets = (pod.podset for gang in gangs for pod in one_of_each(gang.pending))
    return any(podset.group for podset in podsets if podset is not None)


def started(whole: Iterable[GangInfo], starting: Collection[GangKey]) -> tuple[Pod, ...]:
    """Return the bound members of those gangs that do not start now, in rank order in each."""
    others = (each for each in whole if each.key not in starting)
    return tuple(pod for each in others for pod in each.observed.bound())


def checked(gang: Gang, topology_request: TopologyRequest | None) -> Gang:
    """Return the gang, with a problem where a member asks for one thing and its group for another.

    The problem that a gang has already stays.
    """
    asking = (pod for pod in one_of_each(gang.pending) if pod.podset and _asks(pod.podset))
    pod = next(asking, None) if topology_request is not None and gang.problem is None else None
    if pod is None or pod.podset is None or topology_request is None:
        return gang
    own = pod.podset.topology_request.where
    cause = PodRequestBesideGang(pod.key, own, topology_request.where)
    return replace(gang, problem=Problem(Reason.INVALID_SPEC, cause))


def podset_problem(gangs: Iterable[Gang]) -> Problem | None:
    """Return which members are to share a domain, by the name of their podset group, and cannot."""
    first: dict[str, tuple[Pod, PodSet]] = {}
    for pod in (pod for gang in gangs for pod in one_of_each(gang.pending)):
        if pod.podset is None or not pod.podset.group:
            continue
        other, podset = first.setdefault(pod.podset.group, (pod, pod.podset))
        if (
            pod.podset is not podset
            and pod.podset.topology_request.shared != podset.topology_request.shared
        ):
            cause = PodsetsDiffer((other.key, pod.key), podset.group)
            return Problem(Reason.INVALID_SPEC, cause)
    return None


def _asks(podset: PodSet) -> bool:
    return podset.topology_request.asks or bool(podset.group)


def _contradiction(
    gang: GangKey, other: GangKey, asked: Mapping[GangKey, TopologyRequest]
) -> Problem:
    fields = asked[gang].where, asked[other].where
    return Problem(Reason.INVALID_SPEC, GangsRequestsDiffer((gang, other), fields))
