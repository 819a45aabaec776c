"""A line a gang: of every source and kind, what waits in the order of turns and then what runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode.workloads import table
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.listing import shares, waits
from gang_scheduler.inspection.listing.decisions import Decisions
from gang_scheduler.inspection.listing.vocabulary import (
    FAILED,
    FINISHED,
    RUNNING,
    STARTING,
    STATES,
    WAITING,
)
from gang_scheduler.inspection.listing.waits import Wait
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Queue, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.virtual_pods import numbers_by, one_of_each
from gang_scheduler.report.queues.queue_status import share_of
from gang_scheduler.report.texts import elastic_texts
from gang_scheduler.scheduler.turns import lines
from gang_scheduler.simulation.described import described
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.waiting import POD_GROUP, in_line, is_ours

_STATES: Final[Mapping[Phase, str]] = {
    Phase.SCHEDULED: STARTING,
    Phase.RUNNING: RUNNING,
    Phase.FINISHED: FINISHED,
    Phase.FAILED: FAILED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A gang as it is listed.

    `bound` of `members` have a node; `workers` are (now, most) of an elastic gang. `since` is when
    it began to wait or to run, and `start` when it is promised a start, in seconds. `gpus` are
    those that all of its members ask for. `fair_share` is the figure by which its queue is
    compared, `aging` what waiting adds to its priority.
    """

    key: GangKey
    kind: str
    queue: str
    priority: int
    state: str
    bound: int
    members: int
    min_member: int
    gpus: int
    since: int
    labels: Mapping[str, str]
    workers: tuple[int, int] | None = None
    start: int | None = None
    nodes: tuple[str, ...] = ()
    wait: Wait = waits.UNKNOWN
    domain: str = ""
    fair_share: str = ""
    aging: int = 0
    evictions: int = 0
    in_line: bool = False

    @property
    def name(self) -> str:
        """`namespace/name`."""
        return str(self.key)


def rows(cluster: Cluster, decisions: Decisions, namespace: str = "") -> list[Row]:
    """Return all gangs of a namespace, or of all: those that wait first, in the order of turns."""
    places = {key: place for place, key in enumerate(decisions.order)}
    making = _Rows(cluster, decisions)
    found = [making.row(info) for info in listed(cluster, namespace)]
    last = len(places)
    return sorted(
        found,
        key=lambda row: (STATES.index(row.state), places.get(row.key, last), _by_age(row)),
    )


def listed(cluster: Cluster, namespace: str = "") -> Iterator[GangInfo]:
    """Yield what is known of the gangs that are listed."""
    for info in described(cluster.cache):
        if namespace in ("", info.key.namespace) and is_ours(info, cluster.cache):
            yield info


def _by_age(row: Row) -> tuple[int, int, str]:
    return (
        (-row.priority, row.since, row.name) if row.state == WAITING else (0, row.since, row.name)
    )


def state_of(info: GangInfo) -> str:
    """Return the state of a gang in one word, the same wherever it is told."""
    if info.awaits_pods:
        return STARTING  # Its room is kept, and its pods are being created.
    return _STATES.get(phases.phase_of(phases.counts_of(info)), WAITING)


class _Rows:
    """Makes rows of one cluster."""

    def __init__(self, cluster: Cluster, decisions: Decisions) -> None:
        self._cluster = cluster
        self._decisions = decisions
        self._gpus = frozenset(cluster.policy.gpu_resources)
        self._gpus_of: dict[object, int] = {}
        self._shares = {each.queue.ref: each.share for each in decisions.figures}
        self._queues = {each.queue.ref: each.queue for each in decisions.figures}

    def row(self, info: GangInfo) -> Row:
        """Return the row of a gang."""
        counts, observed = phases.counts_of(info), info.observed
        state = state_of(info)
        wait = waits.UNKNOWN
        if state == WAITING:
            wait = waits.of(info, counts, self._decisions, self._cluster)
        ref = self._cluster.cache.queue_of(info.key)
        nodes = tuple(sorted(phases.nodes_of(info)))
        domain = self._cluster.cache.domain_of(nodes, observed.asks) if nodes else None
        return Row(
            key=info.key,
            kind=table.BY_NAME[info.key.source].object_kind or _kind(info),
            queue=self._queue_name(info, ref),
            priority=observed.priority,
            state=state,
            bound=counts.scheduled,
            members=max(counts.members + counts.succeeded, counts.min_member),
            min_member=counts.min_member,
            gpus=sum(
                asked * number
                for asked, number in numbers_by(observed.living, self._gpus_asked).items()
            ),
            since=_since(info, state),
            labels=_labels(info),
            workers=_workers(info),
            start=self._start(info) if state == WAITING else None,
            nodes=nodes,
            wait=wait,
            domain=str(domain) if domain is not None else "",
            fair_share=self._share(ref),
            aging=self._aging(info, ref) if state == WAITING else 0,
            evictions=self._cluster.cache.evictions.of(info.key).count,
            in_line=state == WAITING and in_line(info),
        )

    def _queue_name(self, info: GangInfo, ref: QueueRef | None) -> str:
        if ref is not None:
            return ref.name
        return str(waits.queue_written(info).get("name") or "")

    def _gpus_asked(self, pod: Pod) -> int:
        requests = pod.pod_class.requests
        known = self._gpus_of.get(requests)
        if known is None:
            known = sum(amount for name, amount in requests if name in self._gpus)
            self._gpus_of[requests] = known
        return known

    def _start(self, info: GangInfo) -> int | None:
        start = self._decisions.starts.get(info.key)
        if start is not None or self._decisions.order:
            return start
        text = waits.queue_written(info).get("estimatedStart")
        return int(datetime.fromisoformat(str(text)).timestamp()) if text else None

    def _share(self, ref: QueueRef | None) -> str:
        if ref is None or ref not in self._shares:
            return ""
        share: Fraction | None = self._shares[ref]
        return share_of(share) or shares.INFINITE

    def _aging(self, info: GangInfo, ref: QueueRef | None) -> int:
        """Return what waiting adds to the priority of a gang in its queue."""
        queue: Queue | None = self._queues.get(ref) if ref is not None else None
        if queue is None:
            return 0
        waited = self._cluster.read_at - _since(info, WAITING)
        return lines.added_by_waiting(queue, self._cluster.profile.queues.aging, waited)


def _kind(info: GangInfo) -> str:
    """Return the kind of a gang that no object describes."""
    return "Pod" if info.key.source == "Pod" else POD_GROUP


def _since(info: GangInfo, state: str) -> int:
    """Return since when a gang waits, or when it began to run."""
    members = one_of_each(info.observed.living) or tuple(info.observed.members.values())
    if state != WAITING:
        began = [pod.started_at or pod.scheduled_at for pod in members]
        found = min(filter(None, began), default=0)
        if found:
            return found
    spec = info.observed.spec
    own = [spec.created_at] if spec is not None and spec.created_at else []
    return int(min((*own, *(pod.created_at for pod in members)), default=0))


def _labels(info: GangInfo) -> Mapping[str, str]:
    """Return the labels of the first member."""
    oldest = min(
        info.observed.members.values(), key=lambda pod: (pod.created_at, pod.uid), default=None
    )
    return oldest.labels if oldest is not None else {}


def _workers(info: GangInfo) -> tuple[int, int] | None:
    found = elastic_texts.status_of(info)
    return (found["now"], found["max"]) if found is not None else None
