"""The document of `explain` about one gang, in any state."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec import structs

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.explaining import document_fields, first_sentence, history, needs
from gang_scheduler.inspection.explaining.document_fields import (
    ClaimedDevices,
    Document,
    Evictable,
    Members,
    NodeRanks,
    Running,
    Span,
    Warned,
)
from gang_scheduler.inspection.explaining.first_sentence import Names
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.listing import devices, gangs, waits
from gang_scheduler.model import refs, topology
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.consequences import Trait
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.queues import QueueSet
from gang_scheduler.model.reasons import Problem, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.wording import counted
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.messages import (
    REPLICAS_CHANGED,
    REPLICAS_FAILED,
    REPLICAS_STOPPED,
)
from gang_scheduler.report.words.text import text_of
from gang_scheduler.scheduler.explanation.explain import explain
from gang_scheduler.scheduler.explanation.findings import (
    Explanation,
    Moment,
    Surroundings,
    Verdict,
)
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.workloads import table

# Where a gang runs, since when, and which gangs could evict it.


def running_of(
    info: GangInfo,
    cluster: Cluster,
    bound_pods: BoundPods,
    events: Iterable[Happened] = (),
) -> Running | None:
    """Return where members run; None if no member has a node. Linear in pods of the cluster."""
    members = [pod for pod in info.observed.living if pod.node]
    if not members:
        return None
    cache = cluster.cache
    domain = cache.domain_of(phases.nodes_of(info), info.observed.wanted_topology)
    complete = max((int(pod.created_at) for pod in info.observed.living), default=0)
    since = max((pod.scheduled_at or pod.started_at for pod in members), default=0)
    degraded = cache.degraded.of(info.key, cluster.read_at)
    return Running(
        members=len(members),
        since=Moment(since) if since else None,
        waited_seconds=max(0, since - complete) if since and complete else None,
        domain=str(domain) if domain is not None else None,
        spans=tuple(_spans(members, cluster)),
        ranks=ranks_of(info, members),
        evictable=_evictable(info, cluster, bound_pods),
        elastic=messages.status_of(info),
        degraded=messages.degraded_words(degraded) if degraded is not None else None,
        replicas_stay=_replicas_stay(info, events),
        devices=tuple(
            ClaimedDevices(*each)
            for each in devices.of_members(info.observed.in_rank_order(members), cache)
        )
        or None,
    )


def _replicas_stay(info: GangInfo, events: Iterable[Happened]) -> str | None:
    """Return why the scheduler does not change the number of replicas, from the last Event on it.

    None if the scheduler changes the number, or no such Event is known.
    """
    elastic = info.observed.elastic
    if elastic is None or not elastic.by_replicas:
        return None
    said = ((max(each.at, each.last), *each.what.partition(": ")[::2]) for each in events)
    known = (REPLICAS_CHANGED, REPLICAS_FAILED, REPLICAS_STOPPED)
    _, reason, note = max((each for each in said if each[1] in known), default=(0, "", ""))
    return note if reason in known[1:] else None


def _spans(members: list[Pod], cluster: Cluster) -> list[Span]:
    """Return for each layer of the first tree how many domains have members."""
    specs = cluster.cache.topologies.tree_specs()
    nodes = cluster.cache.node_usage.table()
    if not specs or not len(nodes):
        return []
    tree = topology.build(specs[0], nodes)
    rows = [nodes.rows[pod.node] for pod in members if pod.node in nodes.rows]
    return [Span(tree.levels[depth].layer, number) for depth, number in _numbers(tree, rows)]


def _numbers(tree: Topology, rows: list[int]) -> list[tuple[int, int]]:
    places = tree.places[np.array(rows, dtype=np.int64)]
    inside = places[places >= 0]
    if not len(inside):
        return []
    depths = range(1, len(tree.levels))
    return [(depth, len(np.unique(tree.levels[depth].at(inside)))) for depth in depths]


def ranks_of(info: GangInfo, members: Iterable[Pod]) -> tuple[NodeRanks, ...]:
    """Return the ranks of members by node, ordered by the lowest rank."""
    in_order = info.observed.in_rank_order(members)
    by_node: dict[str, list[int]] = {}
    for rank, pod in enumerate(in_order):
        by_node.setdefault(pod.node, []).append(rank)
    return tuple(NodeRanks(node, tuple(ranks)) for node, ranks in by_node.items())


def _evictable(info: GangInfo, cluster: Cluster, bound_pods: BoundPods) -> Evictable:
    """Return how many members may be evicted, and the lowest priority that may evict them."""
    own = [each for each in bound_pods.pods if each.gang == info.key]
    may_go = sum(1 for each in own if each.evictable)
    least = cluster.policy.rules.preemption.min_priority_difference
    queue = cluster.cache.queue_of(info.key)
    return Evictable(
        pods=may_go,
        protected=len(own) - may_go,
        from_priority=max((each.priority for each in own), default=0) + least,
        queue=queue.name if queue is not None else None,
    )


UNREAD: Final = those_with(lambda rule: Trait.UNREAD in rule.traits)
OVER: Final = (Phase.FINISHED, Phase.FAILED)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question about a gang of a cluster, with the Events about it.

    History begins at `since`. `without_events`: why no Events are known; "" if they are.
    """

    cluster: Cluster
    events: tuple[Happened, ...] = ()
    since: int = 0
    without_events: str = ""


AWAITS_PODS: Final = "It was started, and its room is kept until its pods are there."
VOLUMES_LATER: Final = "The volumes of its pods are looked at only once these are there."


API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
KIND: Final = "Explanation"


def bare_document(cluster: Cluster, name: str, state: str, summary: str) -> Document:
    """Return a document with the origin of the answer, and no facts about a gang."""
    return Document(
        api_version=API_VERSION,
        kind=KIND,
        source=cluster.source,
        read_at=Moment(cluster.read_at),
        settings_of=cluster.settings_of or None,
        not_readable=cluster.unread or None,
        name=name,
        state=state,
        verdict=None,
        summary=summary,
    )


def document_of(key: GangKey, asked: Question) -> Document:
    """Return the document about a gang: why it waits, where it runs, or how it ended."""
    cluster = asked.cluster
    info = cluster.cache.gang_queue.infos[key]
    # A cycle updates records of gangs to fit their members.
    snapshot = cluster.snapshot()
    surroundings = _surroundings(cluster)
    found = explain(snapshot, cluster.profile, key, surroundings)
    found = _without_claims(info, cluster, found)
    names = Names(key.namespace, cluster.policy.rules.preemption.hide_foreign_names)
    phase = phases.phase_of(phases.counts_of(info))
    hint = ""
    if found.refused is not None and found.verdict is Verdict.WAITS:
        declared = snapshot.queues.declared if snapshot.queues is not None else QueueSet()
        hint = first_sentence.hint_of_refusal(found.refused, info, cluster.cache, declared, names)
    said = _summary(info, found, phase, cluster.cache, names), _of_volumes(info), hint
    made = structs.replace(
        header_of(info, asked, found, summary=" ".join(filter(None, said))),
        verdict=found.verdict,
        reason=found.refused.reason.value if found.refused is not None else None,
        warnings=tuple(map(_warning, found.warnings)),
        running=running_of(info, cluster, surroundings.running, asked.events),
    )
    return _with_parts(made, document_fields.hidden(_with_texts(found, cluster), names))


def _with_texts(found: Explanation, cluster: Cluster) -> Explanation:
    """Add the texts for people, and facts that a cycle does not know."""
    position, evictions, refused = found.position, found.evictions, found.refused
    if position is not None and found.gang is not None:
        # Incomplete gangs count, too; a cycle does not see them.
        numbers = gangs.waiting(cluster)
        of = numbers[found.gang.queue]
        position = structs.replace(position, of=of, of_cluster=numbers.total())
    if evictions is not None and refused is not None:
        message = first_sentence.of_preemption(refused) or None
        evictions = structs.replace(evictions, message=message)
    return replace(found, position=position, evictions=evictions)


def _with_parts(made: Document, found: Explanation) -> Document:
    """Return the document with all parts that are not empty."""
    waits = found.verdict is Verdict.WAITS
    return structs.replace(
        made,
        lacks=_lacks(found),
        nodes_taken=found.nodes_taken or None,
        position=found.position,
        start=found.start,
        quota=found.quota or None,
        where=found.room.where if found.room is not None else None,
        nodes=found.nodes or None,
        preemption=found.evictions if found.verdict is not Verdict.STARTS else None,
        needs=needs.of(found) or None if waits else None,
        would_start=found.variants,
    )


def _lacks(found: Explanation) -> tuple[str, ...] | None:
    if found.beside is None:
        return None
    return ("Room", "Quota") if found.beside.first else ("Quota", "Room")


def _without_claims(info: GangInfo, cluster: Cluster, found: Explanation) -> Explanation:
    """Return the explanation, corrected for a gang that has room but waits for its claims."""
    gang = found.gang
    if gang is None or found.verdict is not Verdict.STARTS:
        return found
    refused = waits.refusal_of(info, gang, cluster.cache)
    return replace(found, verdict=Verdict.WAITS, refused=refused) if refused else found


def _surroundings(cluster: Cluster) -> Surroundings:
    """Return the running pods with and without the minimum run times of their gangs."""
    cache, now = cluster.cache, cluster.read_at
    rules = cluster.policy.rules.preemption
    current = cache.running(now)
    asked = any(info.observed.min_runtime_seconds for info in cache.gang_queue.infos.values())
    if not (asked or rules.min_runtime_before_preemption_seconds):
        # A second reading of all pods is worth its cost only if there are minimum run times.
        return Surroundings(current, None, _protected_by(current, cache), rules.preemption)
    longest = max(rules.max_min_runtime_seconds, rules.min_runtime_before_preemption_seconds)
    rested = cache.running(now + longest)
    before = sum(1 for each in current.pods if each.evictable)
    after = sum(1 for each in rested.pods if each.evictable)
    more = rested if after > before else None
    return Surroundings(current, more, _protected_by(current, cache), rules.preemption)


def _protected_by(running: BoundPods, cache: Cache) -> dict[str, ProtectedBy]:
    """Return the protection of each pod that is not evictable, by uid."""
    spared = (each.pod.uid for each in running.pods if not each.evictable)
    return {uid: cache.evictable_pods.protected_by(uid) for uid in spared}


def header_of(
    info: GangInfo, asked: Question, found: Explanation | None = None, *, summary: str
) -> Document:
    """Return the document with the facts of a gang, its waiting time and its history."""
    cluster = asked.cluster
    living = info.observed.living
    queue = cluster.cache.queue_of(info.key)
    classes = Counter(pod.priority_class for pod in living if pod.priority_class)
    group = found.group if found is not None else None
    mates = [str(gang.key) for gang in group.gangs if gang.key != info.key] if group else []
    counts = phases.counts_of(info)
    refused = found.refused if found is not None else None
    unread = refused is not None and refused.reason in UNREAD
    happened = history.history_of(info, asked.events, asked.since)
    return structs.replace(
        bare_document(cluster, str(info.key), gangs.state_of(info), summary),
        workload=workload_of(info),
        group=tuple(mates),
        queue=queue.name if queue is not None and not unread else None,
        priority=info.observed.priority,
        priority_class=next(iter(classes), None) if len(classes) == 1 else None,
        members=Members(
            present=counts.members,
            needed=None if unread else counts.min_member,
            scheduled=sum(1 for pod in living if pod.node),
            succeeded=counts.succeeded,
            failed=counts.failed,
        ),
        waits_seconds=_waits(info, cluster.read_at),
        phase=phases.phase_of(counts).value,
        history=tuple(map(history.part_of, happened)),
        history_lacks=asked.without_events or None,
    )


def workload_of(info: GangInfo) -> str:
    """Return the kind of the workload of a gang."""
    spec = info.observed.spec
    if info.suspended is not None:
        return f"suspended {info.suspended.workload.kind}"
    if spec is not None and spec.made_for is not None:
        return spec.made_for.source
    source = info.key.source
    if source == refs.ANNOTATION.name:
        return "Gang"
    return table.BY_NAME[source].object_kind or source


def _waits(info: GangInfo, now: int) -> int | None:
    """Return for how many seconds a gang has waited: since its quorum existed, if that is known."""
    created = [int(pod.created_at) for pod in info.observed.living if not pod.node]
    if not created:
        return None
    written = info.observed.spec.quorum_since if info.observed.spec is not None else None
    since = written or max(created)
    return max(0, now - since) if since else None


def _summary(info: GangInfo, found: Explanation, phase: Phase, cache: Cache, names: Names) -> str:
    """Return the first sentence of the explanation."""
    if found.verdict is not None:
        said = first_sentence.first(found, names)
        return f"It runs, and {_others(info)}. {said}" if _has_started(info, found) else said
    members = [pod for pod in info.observed.living if pod.node]
    if phase in OVER or info.awaits_pods:
        return AWAITS_PODS if info.awaits_pods else ended(phase)
    if members:
        return _of_running(members, info)
    if not info.observed.members:
        return first_sentence.without_members(info, cache, names)
    gated = sum(1 for pod in info.observed.members.values() if pod.gated)
    if gated:
        return (
            f"It lacks members: {gated} of {len(info.observed.members)} pods have schedulingGates, "
            "and no scheduler looks at a pod before all of its gates are removed."
        )
    return "No member waits for a node."


def _of_volumes(info: GangInfo) -> str:
    """Return the note that volumes do not count yet, for a suspended gang with volumes."""
    if info.suspended is None or info.awaits_pods:
        return ""
    has_some = any(pod.volumes for pod in one_of_each(info.observed.living))
    return VOLUMES_LATER if has_some else ""


def _of_running(members: Collection[Pod], info: GangInfo) -> str:
    nodes, needed = counted(len({pod.node for pod in members}), "node"), info.observed.min_member
    if len(members) >= needed:
        return f"It runs: {counted(len(members), 'member')} on {nodes}."
    some = f"{len(members)} of {counted(needed, 'member')}"
    said = f"It runs with {some}, on {nodes}; no pod waits to replace the missing ones."
    return " ".join(filter(None, (said, first_sentence.missing_hints(info))))


def ended(phase: Phase) -> str:
    """Return how a gang has ended; "" if it has not."""
    if phase is Phase.FINISHED:
        return "It has finished: its members have succeeded."
    return "It has failed: it gets no quorum any more." if phase is Phase.FAILED else ""


def _has_started(info: GangInfo, found: Explanation) -> bool:
    return info.attempt.was_whole and found.verdict is Verdict.WAITS


def _others(info: GangInfo) -> str:
    number = sum(1 for pod in info.observed.living if not pod.node)
    return f"{number} more {'member waits' if number == 1 else 'members wait'}"


def _warning(problem: Problem) -> Warned:
    return Warned(problem.reason.value, text_of(problem.cause))
