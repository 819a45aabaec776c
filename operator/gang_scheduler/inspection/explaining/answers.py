"""The answer of `explain` for a NAME: a document, or other names that may be meant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import structs

from gang_scheduler.api import annotations
from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode import fields
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.explaining import document, first_sentence, name_lookup
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.document_fields import Document, Running
from gang_scheduler.inspection.explaining.first_sentence import Names, uncapital, with_end
from gang_scheduler.inspection.explaining.name_lookup import Match
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import RULES, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import counted
from gang_scheduler.report.words.text import foreign_members, ours
from gang_scheduler.scheduler.explanation.findings import (
    Moment,
    Position,
    Start,
    StartBasis,
    Verdict,
)
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo

# Pods, PodGroups and Jobs that are not gangs of ours, and how to make them gangs.


def sentence_of(match: Match, cache: Cache) -> str:
    """Return why the object is not a gang; "" if it is one."""
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
            f"node: explain pod/{waiting[0]} says why. "
        )
    return (
        f"{said}Not a gang: each pod of this {key.source} starts by itself. Label its template "
        f'{annotations.JOB_GANG_LABEL}: "true" to start {number} together.'
    )


def _of_gang(key: GangKey, cache: Cache) -> str:
    """Return why a PodGroup is not ours: all of its members belong to another scheduler."""
    foreign = cache.foreign_members.of(key)
    info = cache.gang_queue.infos.get(key)
    if not foreign or (info is not None and info.observed.members):
        return ""
    return f"Not ours: {foreign_members(foreign, cache.schedulers)}."


# The answer for users with rights in one namespace only: the texts that the scheduler wrote there.
# Nothing is computed, because nodes and pods of other namespaces are not known.

NOT_KNOWN: Final = ("quota", "where", "nodes", "preemption", "wouldStart")
"""The parts that need the whole cluster."""
NOT_A_GANG: Final = "NotAGang"
NOTHING_WRITTEN: Final = "The scheduler has written nothing about it yet."


def document_of(key: GangKey, asked: Question) -> Document:
    """Return the status that the scheduler wrote for a gang, and the parts that are not known."""
    cluster = asked.cluster
    info = cluster.cache.gang_queue.infos[key]
    # A cycle updates records of gangs to fit their members.
    cluster.snapshot()
    phase = phases.phase_of(phases.counts_of(info))
    reason, message = _why(info)
    summary = _summary(info, phase, cluster.cache, (reason, message))
    return structs.replace(
        document.header_of(info, asked, summary=summary),
        verdict=Verdict.WAITS if _waits(info, phase) else None,
        reason=reason or None,
        position=_position(info),
        start=_start(info),
        running=_nodes(info),
        not_known=NOT_KNOWN,
    )


def _waits(info: GangInfo, phase: Phase) -> bool:
    """Return whether a member still waits for a node."""
    return phase not in document.OVER and not all(pod.node for pod in info.observed.living)


def _summary(info: GangInfo, phase: Phase, cache: Cache, why: tuple[str, str]) -> str:
    if _waits(info, phase):
        said = _sentence(*why) if why[0] else NOTHING_WRITTEN
        return f"{said} {first_sentence.alike_hint(info, cache)}".rstrip()
    if not info.observed.members and phase not in document.OVER and not info.awaits_pods:
        return first_sentence.without_members(info, cache, Names(info.key.namespace))
    ended = document.ended(phase)
    if ended:
        return ended
    number = len(info.observed.living)
    return f"It runs: {counted(number, 'member')}." if number else "No member waits for a node."


def _sentence(reason: str, message: str) -> str:
    """Return the lead of a reason (its first words), then the first sentence of the message."""
    lead = RULES[Reason(reason)].lead if reason in set(Reason) else reason
    said = message.partition(". ")[0].removesuffix(".")
    return with_end(f"{lead}: {uncapital(said)}" if said else lead)


def _why(info: GangInfo) -> tuple[str, str]:
    """Return the reason and message of the condition Scheduled, else of a member's condition."""
    for each in _status(info).get("conditions") or []:
        if each.get("type") == "Scheduled" and each.get("status") == "False":
            return str(each.get("reason", "")), str(each.get("message", ""))
    said = (pod.unscheduled for pod in info.observed.living if pod.unscheduled is not None)
    return next(said, ("", ""))


def _position(info: GangInfo) -> Position | None:
    """Return the place in the queue from the status of the gang."""
    found = _in_queue(info)
    if found is None:
        return None
    return Position(
        queue=found.get("name"),
        place=found["position"],
        of=found.get("pending", found["position"]),
        place_in_cluster=None,
        of_cluster=None,
        ahead={},
        never_start=0,
    )


def _start(info: GangInfo) -> Start | None:
    """Return the promised start from the status of the gang."""
    found = _in_queue(info)
    at = fields.timestamp_or_zero(found.get("estimatedStart")) if found is not None else 0
    return Start(StartBasis.RESERVED, Moment(at)) if at else None


def _in_queue(info: GangInfo) -> Mapping[str, Any] | None:
    found = _status(info).get("queue")
    return found if isinstance(found, Mapping) and found.get("position") else None


def _nodes(info: GangInfo) -> Running | None:
    """Return the nodes of members, by rank."""
    members = [pod for pod in info.observed.living if pod.node]
    if not members:
        return None
    since = max(pod.scheduled_at or pod.started_at for pod in members)
    return Running(
        members=len(members),
        since=Moment(since) if since else None,
        waited_seconds=None,
        domain=_status(info).get("domain"),
        spans=(),
        ranks=document.ranks_of(info, members),
        evictable=None,
    )


def _status(info: GangInfo) -> Mapping[str, Any]:
    spec = info.observed.spec
    return spec.status if spec is not None else {}


@dataclass(frozen=True, slots=True)
class Answer:
    """The `document` for a NAME; or `several` objects that it fits, or similar names in `near`."""

    document: Document | None = None
    several: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def answer_for(name: str, namespace: str, asked: Question) -> Answer:
    """Return the answer for a NAME in a namespace, "" for any namespace. Costs about ten cycles."""
    cache = asked.cluster.cache
    wanted = name_lookup.wanted(name, namespace)
    found = name_lookup.find(cache, wanted)
    if not found:
        return Answer(near=name_lookup.near(cache, wanted))
    if len(found) > 1:
        return Answer(several=tuple(str(each) for each in found))
    return Answer(_document(found[0], asked))


def _document(match: Match, asked: Question) -> Document:
    cluster = asked.cluster
    stranger = sentence_of(match, cluster.cache)
    if stranger or match.gang is None:
        return document.bare_document(cluster, _name(match), NOT_A_GANG, stranger)
    if cluster.source is Source.WRITTEN:
        return document_of(match.gang, asked)
    return document.document_of(match.gang, asked)


def _name(match: Match) -> str:
    return str(match).partition("/")[2]
