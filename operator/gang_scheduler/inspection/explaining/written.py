"""The answer for those with the right to one namespace alone: what the scheduler wrote there.

Nothing is computed: no node is known, and no pod of another namespace.
"""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.inspection.explaining import gangs, hints
from gang_scheduler.inspection.explaining.gangs import Question
from gang_scheduler.inspection.explaining.sentences import LEADS
from gang_scheduler.inspection.explaining.wording import Names, uncapital, with_end
from gang_scheduler.inspection.listing import rows
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.texts.plurals import counted
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo

Json = dict[str, Any]
NOT_KNOWN: Final = ("quota", "where", "nodes", "preemption", "wouldStart")
"""The parts that need the whole cluster."""
NOTHING_WRITTEN: Final = "The scheduler has written nothing about it yet."


def document_of(key: GangKey, asked: Question) -> Json:
    """Return what is written of a gang, and which parts are not known."""
    cluster = asked.cluster
    info = cluster.cache.gang_queue.infos[key]
    # The cycle brings what is remembered of gangs in line with their members.
    cluster.snapshot()
    phase = phases.phase_of(phases.counts_of(info))
    reason, message = _why(info)
    return {
        "name": str(key),
        **gangs.header_of(info, cluster),
        "phase": phase.value,
        "state": rows.state_of(info),
        "verdict": "Waits" if _waits(info, phase) else None,
        "reason": reason or None,
        "summary": _summary(info, phase, cluster.cache, (reason, message)),
        **_in_queue(info),
        **_nodes(info),
        "notKnown": list(NOT_KNOWN),
        **asked.history_of(info),
    }


def _waits(info: GangInfo, phase: Phase) -> bool:
    """Return whether a member waits for a node."""
    return phase not in gangs.OVER and not all(pod.node for pod in info.observed.living)


def _summary(info: GangInfo, phase: Phase, cache: Cache, why: tuple[str, str]) -> str:
    if _waits(info, phase):
        said = _sentence(*why) if why[0] else NOTHING_WRITTEN
        return f"{said} {hints.alike(info, cache)}".rstrip()
    if not info.observed.members and phase not in gangs.OVER and not info.awaits_pods:
        return hints.without_members(info, cache, Names(info.key.namespace))
    ended = gangs.ended(phase)
    if ended:
        return ended
    number = len(info.observed.living)
    return f"It runs: {counted(number, 'member')}." if number else "No member waits for a node."


def _sentence(reason: str, message: str) -> str:
    """Return what a reason comes to, and the first sentence of the message."""
    lead = LEADS[Reason(reason)] if reason in set(Reason) else reason
    said = message.partition(". ")[0].removesuffix(".")
    return with_end(f"{lead}: {uncapital(said)}" if said else lead)


def _why(info: GangInfo) -> tuple[str, str]:
    """Return the reason and message of the condition Scheduled, else of a member's condition."""
    for each in _status(info).get("conditions") or []:
        if each.get("type") == "Scheduled" and each.get("status") == "False":
            return str(each.get("reason", "")), str(each.get("message", ""))
    said = (pod.unscheduled for pod in info.observed.living if pod.unscheduled is not None)
    return next(said, ("", ""))


def _in_queue(info: GangInfo) -> Json:
    """Return the place in the queue and the start that are written."""
    found = _status(info).get("queue")
    if not isinstance(found, Mapping) or not found.get("position"):
        return {}
    place = {
        "queue": found.get("name"),
        "place": found["position"],
        "of": found.get("pending", found["position"]),
        "placeInCluster": None,
        "ofCluster": None,
        "ahead": {},
        "neverStart": 0,
    }
    at = found.get("estimatedStart")
    start = {"start": {"basis": "Reserved", "at": at, "after": None}} if at else {}
    return {"position": place, **start}


def _nodes(info: GangInfo) -> Json:
    """Return the nodes of members, by rank."""
    members = info.observed.in_rank_order(pod for pod in info.observed.living if pod.node)
    by_node: dict[str, list[int]] = {}
    for rank, pod in enumerate(members):
        by_node.setdefault(pod.node, []).append(rank)
    if not by_node:
        return {}
    since = max((pod.scheduled_at or pod.started_at for pod in members), default=0)
    return {
        "running": {
            "members": len(members),
            "since": gangs.moment(since),
            "waitedSeconds": None,
            "domain": _status(info).get("domain"),
            "spans": [],
            "ranks": [{"node": node, "ranks": ranks} for node, ranks in by_node.items()],
            "evictable": None,
        }
    }


def _status(info: GangInfo) -> Mapping[str, Any]:
    spec = info.observed.spec
    return spec.status if spec is not None else {}
