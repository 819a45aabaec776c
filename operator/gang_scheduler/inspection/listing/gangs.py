"""The list of gangs: waiting gangs in scheduling order, then running ones."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any, Final

import click

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode import fields
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import devices as listing_devices
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.listing import waits as listing_waits
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.inspection.listing.states_and_orders import (
    FAILED,
    FINISHED,
    ORDERS,
    RUNNING,
    STARTING,
    STATES,
    USER,
    WAITING,
)
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.inspection.listing.waits import Wait
from gang_scheduler.model.gangs import RoleCount
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.pods import Pod, numbers_by, one_of_each
from gang_scheduler.model.queues import NONE, Queue, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report.queues.status import share_of
from gang_scheduler.report.words import messages, text
from gang_scheduler.scheduler.turns import lines
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import POD_GROUP, in_line, is_ours, waits
from gang_scheduler.workloads import table

_STATES: Final[Mapping[Phase, str]] = {
    Phase.SCHEDULED: STARTING,
    Phase.RUNNING: RUNNING,
    Phase.FINISHED: FINISHED,
    Phase.FAILED: FAILED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A gang as a row of the list.

    `bound` of `members` have a node. `workers` are the present and the largest number of workers of
    an elastic gang. `since` is when the gang began to wait or to run, and `start` its promised
    start, in seconds since the epoch. `gpus` are the GPUs that all its members request, `devices`
    the devices that their claims have or ask for. `fair_share` is the share by which its queue is
    compared, `aging` the bonus in priority for waiting. `roles` says how many members of each role
    have a node.
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
    wait: Wait = listing_waits.UNKNOWN
    domain: Domain | None = None
    roles: tuple[RoleCount, ...] = ()
    fair_share: str = ""
    aging: int = 0
    evictions: int = 0
    in_line: bool = False
    devices: int = 0

    @property
    def name(self) -> str:
        """`namespace/name`."""
        return str(self.key)


def gang_rows(
    cluster: Cluster, decisions: Decisions, namespace: str = "", kept: "KeptRows | None" = None
) -> list[Row]:
    """Return the rows of a namespace, "" for all: waiting gangs first, in the order of turns."""
    return rows_of(listed(cluster, namespace), cluster, decisions, kept)


def rows_of(
    infos: Iterable[GangInfo],
    cluster: Cluster,
    decisions: Decisions,
    kept: "KeptRows | None" = None,
) -> list[Row]:
    """Return the rows of gangs: waiting gangs first, in the order of turns."""
    places = {key: place for place, key in enumerate(decisions.order)}
    making = _Rows(cluster, decisions)
    found = [*map(making.row, infos)] if kept is None else kept.rows(infos, making)
    by_state: dict[str, tuple[list[tuple[int, Row]], list[Row]]]
    by_state = {state: ([], []) for state in STATES}
    for row in found:
        in_turn, others = by_state[row.state]
        place = places.get(row.key)
        if place is None:
            others.append(row)
        else:
            in_turn.append((place, row))
    ordered: list[Row] = []
    for in_turn, others in by_state.values():
        ordered += (row for _, row in sorted(in_turn, key=itemgetter(0)))
        ordered += sorted(others, key=_by_age)
    return ordered


def listed(cluster: Cluster, namespace: str = "") -> Iterator[GangInfo]:
    """Yield the gangs of a namespace, "" for all, that belong to this scheduler."""
    for info in cluster.cache.described_gangs():
        if namespace in ("", info.key.namespace) and is_ours(info, cluster.cache):
            yield info


def _by_age(row: Row) -> tuple[int, int, str]:
    return (
        (-row.priority, row.since, row.name) if row.state == WAITING else (0, row.since, row.name)
    )


def state_of(info: GangInfo) -> str:
    """Return the state of a gang in one word, the same in all commands."""
    if info.awaits_pods:
        return STARTING  # Its room is kept, and its pods are being created.
    return _STATES.get(phases.phase_of(phases.counts_of(info)), WAITING)


class _Rows:
    """Makes the rows of the gangs of one cluster."""

    def __init__(self, cluster: Cluster, decisions: Decisions) -> None:
        self._cluster = cluster
        self._decisions = decisions
        self._gpus = frozenset(cluster.policy.rules.queues.gpu_resources)
        self._gpus_of: dict[object, int] = {}
        self._shares = {each.queue.ref: each.share for each in decisions.figures}
        self._queues = {each.queue.ref: each.queue for each in decisions.figures}
        devices = cluster.cache.devices
        self._any_claims = bool(devices.claims.uids or devices.templates.uids)
        self.network = cluster.cache.node_usage.table(), cluster.cache.topologies.tree_specs()

    def row(self, info: GangInfo) -> Row:
        """Return the row of a gang."""
        counts, observed = phases.counts_of(info), info.observed
        state = state_of(info)
        wait = listing_waits.UNKNOWN
        if state == WAITING:
            wait = listing_waits.of(info, counts, self._decisions, self._cluster)
        ref = self._cluster.cache.queue_of(info.key)
        nodes = tuple(sorted(phases.nodes_of(info)))
        domain = self._cluster.cache.domain_of(nodes, observed.wanted_topology) if nodes else None
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
            domain=domain,
            roles=tuple(
                RoleCount(each.role, each.scheduled, each.min_member) for each in counts.by_role
            ),
            fair_share=self._share(ref),
            aging=self._aging(info, ref) if state == WAITING else 0,
            evictions=self._cluster.cache.evictions.of(info.key).count,
            in_line=state == WAITING and in_line(info),
            devices=listing_devices.number_of(observed.living, self._cluster.cache),
        )

    def origin(self, info: GangInfo) -> tuple[object, ...]:
        """Return all that a row is made of: a gang with an equal origin has the same row.

        Much cheaper than the row. The domain of its nodes is not in it.
        """
        key, cache, decisions = info.key, self._cluster.cache, self._decisions
        refusal, observed = info.verdict.refusal, info.observed
        # Without figures there are no queues.
        ref = cache.queue_of(key) if decisions.figures else None
        # This runs for every gang after each change of the cluster. The version counts changes of
        # members, and of the size of an elastic gang.
        return (
            *(info, info.version.number, observed.spec, info.jobs_failed, info.awaits_pods),
            *(bool(info.preempted.by), refusal.reason if refusal is not None else None),
            *(ref, self._share(ref), self._aging(info, ref) if ref and in_line(info) else 0),
            *(decisions.refused.get(key), decisions.ahead.get(key), key in decisions.starting),
            *(decisions.starts.get(key), cache.evictions.of(key).count),
            listing_devices.number_of(observed.living, cache) if self._any_claims else 0,
        )

    def has_its_domain(self, row: Row, info: GangInfo) -> bool:
        """Return whether the domain of a row is still that of its nodes."""
        wanted = info.observed.wanted_topology
        found = self._cluster.cache.domain_of(row.nodes, wanted) if row.nodes else None
        return found == row.domain

    def _queue_name(self, info: GangInfo, ref: QueueRef | None) -> str:
        if ref is not None:
            return ref.name
        return str(listing_waits.queue_written(info).get("name") or "")

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
        written = listing_waits.queue_written(info).get("estimatedStart")
        return fields.timestamp_or_zero(written) or None

    def _share(self, ref: QueueRef | None) -> str:
        if ref is None or ref not in self._shares:
            return ""
        share: Fraction | None = self._shares[ref]
        return share_of(share) or table_layout.INFINITE

    def _aging(self, info: GangInfo, ref: QueueRef | None) -> int:
        """Return the bonus in priority that a gang has for waiting in its queue."""
        queue: Queue | None = self._queues.get(ref) if ref is not None else None
        if queue is None:
            return 0
        waited = self._cluster.read_at - _since(info, WAITING)
        return lines.added_by_waiting(queue, self._cluster.profile.rules.queues, waited)


class KeptRows:
    """Keeps rows of one cache between two lists: only the rows of changed gangs are made again."""

    def __init__(self) -> None:
        self._kept: dict[GangKey, tuple[tuple[object, ...], Row]] = {}
        self._network: tuple[object, object] = (None, None)
        self.made = 0
        """How many rows were made so far."""

    def rows(self, infos: Iterable[GangInfo], making: _Rows) -> list[Row]:
        """Return the rows of gangs, and forget those of all others."""
        kept, found = self._kept, dict[GangKey, tuple[tuple[object, ...], Row]]()
        pairs = zip(self._network, making.network, strict=True)
        moved = any(before is not now for before, now in pairs)
        for info in infos:
            origin, known = making.origin(info), kept.get(info.key)
            if known is not None and known[0] == origin:
                is_same = not moved or making.has_its_domain(known[1], info)
            else:
                is_same = False
            if known is None or not is_same:
                known = origin, making.row(info)
                self.made += 1
            found[info.key] = known
        self._kept, self._network = found, making.network
        return [row for _, row in found.values()]


def _kind(info: GangInfo) -> str:
    """Return the kind to show for a gang that no object describes."""
    return "Pod" if info.key.source == "Pod" else POD_GROUP


def _since(info: GangInfo, state: str) -> int:
    """Return when a gang began to wait, or to run, in seconds since the epoch."""
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
    """Return the labels of the oldest member."""
    oldest = min(
        info.observed.members.values(), key=lambda pod: (pod.created_at, pod.uid), default=None
    )
    return oldest.labels if oldest is not None else {}


def _workers(info: GangInfo) -> tuple[int, int] | None:
    found = messages.status_of(info)
    return (found["now"], found["max"]) if found is not None else None


def waiting(cluster: Cluster) -> Counter[QueueRef | None]:
    """Return how many gangs wait in each queue; gangs without a queue are under None.

    Linear in pods.
    """
    cache = cluster.cache
    found = (info for info in listed(cluster) if waits(info, cache))
    return Counter(cache.queue_of(info.key) for info in found)


# Gangs as a table, and as documents.

API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
_COLOURS: Final = {"Running": "green", "Starting": "cyan", WAITING: "yellow", "Failed": "red"}
_DEVICES: Final = "DEVICES"
_NUMBERS: Final = ("PRI", "GPU", _DEVICES, "MIN", "AGING", "EVICTIONS")
_HEADINGS: Final = (
    *("GANG", "QUEUE", "PRI", "STATE", "MEMBERS", "ROLES", "WORKERS"),
    *("GPU", _DEVICES, "TIME", "START"),
)
_DOMAIN: Final = "DOMAIN"
_WIDE: Final = ("KIND", "MIN", "DOMAIN", "FAIRSHARE", "AGING", "EVICTIONS")
_LAST: Final = "NODES(REASON)"
_START: Final = "START"
_IF_SAID: Final = ("QUEUE", "ROLES", "WORKERS", _DEVICES, _START)
"""Columns that are left out if they are empty in every row."""

_DROPS: Final = ("WORKERS", "ROLES", "PRI", "GPU", _DEVICES, "QUEUE", "TIME", "MEMBERS")
"""Columns that are dropped on a narrow terminal, in this order."""
_LONGEST_NODES: Final = 40
"""A longer list of node names is replaced by their number."""

Json = dict[str, Any]


def gang_table(
    rows: Sequence[Row],
    cluster: Cluster,
    page: Page,
    *,
    wide: bool = False,
    starts: bool = False,
    domains: bool = False,
) -> Iterator[str]:
    """Yield the lines of a table, one line per gang.

    `starts` adds a column with expected starts, `domains` one with short names of domains.
    """
    numbers = Counter(row.name for row in rows)
    cells = [
        _cells(row, cluster.read_at, wide=wide, starts=starts, alone=numbers[row.name] == 1)
        for row in rows
    ]
    headings = [*_HEADINGS, *(_WIDE if wide else ()), _LAST]
    if_said = [each for each in _IF_SAID if each != _START or not starts]
    if domains and not wide:
        headings.insert(-1, _DOMAIN)
        if_said.append(_DOMAIN)
        for row, name in zip(cells, _short_domains(rows), strict=True):
            row.insert(-1, name)
    shown = table_layout.without_silent(headings, cells, if_said)
    yield from table_layout.table_lines(*shown, page, _NUMBERS, _DROPS)


def painted_gangs(_: int, text: str) -> str:
    """Return a cell in the colour of the state that it names."""
    return click.style(text, fg=_COLOURS[text]) if text in _COLOURS else text


def _cells(row: Row, now: int, *, wide: bool, starts: bool, alone: bool) -> list[str]:
    # Gangs with the same name are distinguished by their sources.
    name = row.name if alone else f"{row.name} ({row.key.source})"
    cells = [name, _queue(row), str(row.priority), row.state]
    cells.append(f"{row.bound}/{row.members}")
    roles = (f"{each.role} {each.present}/{each.needed}" for each in row.roles)
    cells.append(", ".join(roles) or table_layout.NOTHING)
    cells.append("/".join(map(str, row.workers)) if row.workers else "-")
    start = _start(row, now, starts=starts)
    devices = str(row.devices) if row.devices else table_layout.NOTHING
    cells += [
        str(row.gpus),
        devices,
        table_layout.age(now - row.since) if row.since else "-",
        start,
    ]
    if wide:
        share = table_layout.short_share(row.fair_share) if row.fair_share else table_layout.NOTHING
        numbers = (str(row.aging), str(row.evictions))
        cells += [row.kind, str(row.min_member), str(row.domain or "-"), share, *numbers]
    return [*cells, _nodes_or_reason(row, wide=wide)]


def _short_domains(rows: Sequence[Row]) -> list[str]:
    """Return the short name of each gang's domain; a node is shown by its name."""
    names = messages.short_names(row.domain for row in rows if row.domain is not None)
    names |= {each: each.path[-1] for each in names if each.layer == NODE_LAYER}
    return [names[row.domain] if row.domain is not None else table_layout.NOTHING for row in rows]


def _start(row: Row, now: int, *, starts: bool) -> str:
    """Return the promised start; with `starts`, "now" or "unknown" for gangs without a promise."""
    if row.start is not None:
        return table_layout.moment(row.start, now)
    if starts and row.wait.reason == listing_waits.NEXT_CYCLE:
        return "now"
    return "unknown" if starts and row.in_line else table_layout.NOTHING


def _queue(row: Row) -> str:
    return row.queue if row.queue not in ("", NONE.name) else table_layout.NOTHING


def _nodes_or_reason(row: Row, *, wide: bool) -> str:
    if row.state != WAITING:
        return _nodes(row, wide=wide) or "-"
    said = row.wait.message if wide else row.wait.brief
    words = ": ".join(filter(None, (row.wait.reason, said)))
    return f"({words})" if words else "-"


def _nodes(row: Row, *, wide: bool) -> str:
    """Return the nodes of a gang without DNS domain; if they are many, their number and domain."""
    names = text.folded(row.nodes)
    if wide or len(names) <= _LONGEST_NODES:
        return names
    short = text.folded(text.without_domain(row.nodes))
    if len(short) <= _LONGEST_NODES:
        return short
    number = f"{len(set(row.nodes))} nodes"
    return f"{number} in {row.domain}" if row.domain else f"{number}: {short}"


def gang_document(rows: Sequence[Row], cluster: Cluster) -> Json:
    """Return gangs as a document of kind GangList."""
    return {
        "apiVersion": API_VERSION,
        "kind": "GangList",
        **inspection_cluster.origin_document(cluster),
        "items": [_item(row) for row in rows],
    }


def _item(row: Row) -> Json:
    item: Json = {
        "namespace": row.key.namespace,
        "name": row.key.name,
        "kind": row.kind,
        "source": row.key.source,
        "state": row.state,
        "queue": row.queue or None,
        "priority": row.priority,
        "members": row.members,
        "minMember": row.min_member,
        "scheduled": row.bound,
        "gpus": row.gpus,
        "devices": row.devices,
        "since": rfc3339(row.since) if row.since else None,
        "start": None if row.start is None else rfc3339(row.start),
        "reason": row.wait.reason or None,
        "message": row.wait.message or None,
        "nodes": list(row.nodes),
        "domain": str(row.domain) if row.domain is not None else None,
        "fairShare": row.fair_share or None,
        "aging": row.aging,
        "evictions": row.evictions,
    }
    if row.workers is not None:
        now, most = row.workers
        item["workers"] = {"now": now, "max": most}
    return item


# Label selectors as kubectl writes them: `app=a,tier!=b,x in (y,z),!w`.

Labels = Mapping[str, str]
Matches = Callable[[Labels], bool]

_PART: Final = re.compile(
    r"\s*(?:(?P<key>[\w./-]+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<left>[\w./-]+)\s*(?P<is>==|=|!=)\s*(?P<right>[\w.-]*)"
    r"|(?P<no>!?)\s*(?P<name>[\w./-]+))\s*(?:,|$)"
)


def parsed_labels(selector: str) -> Matches:
    """Return a function that tests labels. Raises ValueError if the text is no selector."""
    tests: list[Matches] = []
    place = 0
    while place < len(selector):
        part = _PART.match(selector, place)
        if part is None:
            raise ValueError(f"no label selector: {selector[place:]!r}")
        tests.append(_test(part))
        place = part.end()
    return lambda labels: all(test(labels) for test in tests)


def _test(part: "re.Match[str]") -> Matches:
    if key := part["key"]:
        values = {each.strip() for each in part["values"].split(",")}
        return _in(key, values, wanted=part["op"] == "in")
    if key := part["left"]:
        return _in(key, {part["right"]}, wanted=part["is"] != "!=")
    name, wanted = part["name"], not part["no"]
    return lambda labels: (name in labels) is wanted


def _in(key: str, values: set[str], *, wanted: bool) -> Matches:
    if wanted:
        return lambda labels: key in labels and labels[key] in values
    return lambda labels: labels.get(key) not in values


# The selection of gangs that a user asks for, and their order in the list.


def _anything(_: Mapping[str, str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Selection:
    """The gangs to list; an empty field selects all. Case does not matter."""

    states: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    selector: str = ""
    matches: Matches = _anything
    user: str = ""
    only_waiting: bool = False
    order: str = ""

    @property
    def is_of_all(self) -> bool:
        """Whether every gang is selected."""
        asked = (self.states, self.queues, self.reasons, self.user, self.selector)
        return not (any(asked) or self.only_waiting)


def selected(rows: Iterable[Row], selection: Selection) -> list[Row]:
    """Return the selected rows."""
    found = [row for row in rows if _is_asked_for(row, selection)]
    return sorted(found, key=ORDERS[selection.order]) if selection.order else found


def _is_asked_for(row: Row, selection: Selection) -> bool:
    return (
        (not selection.only_waiting or row.state == WAITING)
        and _is_one(row.state, selection.states)
        and _is_one(row.queue, selection.queues)
        and _is_one(row.wait.reason, selection.reasons)
        and selection.matches(row.labels)
        and (not selection.user or row.labels.get(USER) == selection.user)
    )


def _is_one(word: str, of: frozenset[str]) -> bool:
    return not of or word.lower() in of


def words(given: Sequence[str]) -> frozenset[str]:
    """Return the words of an option that is repeated, or has commas, in lower case."""
    return frozenset(
        each.strip().lower() for part in given for each in part.split(",") if each.strip()
    )
