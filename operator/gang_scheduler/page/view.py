"""The view: all data that the screens show of one reading of a cluster, the same for every client.

The answers are those of the commands `list`, `queues`, `cluster` and `explain`. Nothing is decided
here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection import past_events
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.explaining import history, name_lookup
from gang_scheduler.inspection.explaining.answers import Answer, answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.listing import decisions_now, domains, gangs, nodes, queues
from gang_scheduler.inspection.listing import devices as listing_devices
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.inspection.listing.domains import Shape, TreeView
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json, KeptRows, Row
from gang_scheduler.inspection.listing.nodes import Gpus
from gang_scheduler.inspection.listing.queues import QueueLine
from gang_scheduler.inspection.listing.states_and_orders import RUNNING, STARTING, WAITING
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.page import node_map, timeline
from gang_scheduler.page.gpu_history import Use
from gang_scheduler.page.history import NOTHING, Known
from gang_scheduler.page.node_map import NodeMap
from gang_scheduler.page.timeline import Timeline
from gang_scheduler.scheduler.devices.inventory import ClassCount

PAGE_SIZE: Final = 50


class Heartbeat(NamedTuple):
    """The Lease of the scheduler; `problem` says why it is unknown, "" if it is known.

    `renewed` is in seconds since the epoch, and `seconds` is how long a renewal lasts.
    """

    holder: str = ""
    renewed: int = 0
    seconds: int = 0
    problem: str = ""


class Reading(NamedTuple):
    """A cluster as it was read, the Events of its scheduler, and the scheduler's Lease.

    `events` is None if Events are unknown, `heartbeat` is None for files. With a `namespace`, only
    the gangs of that namespace are shown. `problem` says which changes may be missing; "" if none.
    """

    cluster: Cluster
    namespace: str = ""
    events: Sequence[SchedulerEvent] | None = None
    heartbeat: Heartbeat | None = None
    problem: str = ""


class Wanted(NamedTuple):
    """The gangs to list; "" or an empty set selects all."""

    states: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    text: str = ""
    order: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A reading with the answers about it. Only the thread that made it may use its methods.

    `events` are Events by gang, newest first. `origin` is the last line of every screen, on the
    source of the answers. Two views with the same `fingerprint` show the same, except for ages.
    `known` is what the page remembers of earlier readings. `devices` are those of each DeviceClass.
    `by_gang` are the Events of the reading, without those that are only remembered, and `kept` the
    rows for the next view. `row_hashes` has a hash of what is shown of each row. `inhabited` are
    the namespaces of its gangs and those that are known.
    """

    reading: Reading
    events: tuple[SchedulerEvent, ...]
    decided: Decisions
    rows: tuple[Row, ...]
    queues: tuple[QueueLine, ...]
    gpus: Gpus | None
    trees: tuple[TreeView, ...]
    origin: str = ""
    fingerprint: int = 0
    known: Known = NOTHING
    devices: tuple[ClassCount, ...] = ()
    by_gang: tuple[SchedulerEvent, ...] = ()
    kept: KeptRows = field(default_factory=KeptRows)
    row_hashes: Mapping[Row, int] = field(default_factory=dict)
    inhabited: frozenset[str] = frozenset()
    _explained: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _maps: dict[str, NodeMap | None] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        """The cluster that was read."""
        return self.reading.cluster

    @property
    def whole(self) -> "View":
        """The view without anything hidden from its user."""
        return self

    @property
    def sees_nodes(self) -> bool:
        """Whether nodes are known."""
        return self.cluster.source is not Source.WRITTEN

    @property
    def sees_map(self) -> bool:
        """Whether the map is shown."""
        return self.sees_nodes

    @property
    def namespaces(self) -> list[str]:
        """The namespaces that a job can be tried in."""
        return sorted(self.cluster.namespaces or {row.key.namespace for row in self.rows})

    @property
    def others(self) -> Counter[str]:
        """How many gangs there are in each state that are not shown."""
        return Counter()

    @property
    def read_at(self) -> int:
        """When it was read, in seconds since the epoch."""
        return self.cluster.read_at

    @property
    def waiting(self) -> list[Row]:
        """The gangs that wait, in the order of turns."""
        return [row for row in self.rows if row.state == WAITING]

    @property
    def counts(self) -> Counter[str]:
        """How many gangs there are in each state."""
        return Counter(row.state for row in self.rows)

    @property
    def idle_while_waiting(self) -> int:
        """How many GPUs are free while a gang in line requests some; 0 if no gang does."""
        asked = any(row.in_line and row.gpus for row in self.waiting)
        return self.gpus.free if self.gpus is not None and asked else 0

    @property
    def use(self) -> Use | None:
        """The GPUs that are there, used, and asked for by gangs that wait; None if not known."""
        if self.gpus is None:
            return None
        asked = sum(row.gpus for row in self.waiting)
        return Use(self.read_at, self.gpus.all, self.gpus.used, asked)

    @property
    def without_events(self) -> str:
        """Why no Events are known; "" if they are."""
        if self.reading.events is not None:
            return ""
        if self.cluster.source is not Source.FILES:
            return history.MAY_NOT_BE_LISTED
        return history.IN_NO_SNAPSHOT if self.cluster.of_snapshot else ""

    @property
    def known_since(self) -> int:
        """Since when decisions are known, in seconds since the epoch; 0 if there are none."""
        return self.known.since or min((each.first for each in self.events), default=0)

    def node_map(self, topology: str = "") -> NodeMap | None:
        """Return the map of nodes by a tree, "" for the first; None if it is not known."""
        if not self.sees_nodes:
            return None
        if topology not in self._maps:
            self._maps[topology] = node_map.of_cluster(self.cluster, self.rows, topology)
        return self._maps[topology]

    def shows(self, namespace: str) -> bool:
        """Return whether objects of a namespace are shown."""
        return self.reading.namespace in ("", namespace)

    def cleaned(self, found: Answer) -> Answer:
        """Return the answer about a tried job, as this view may show it."""
        return found

    def may_say(self, _text: str) -> bool:
        """Return whether a text may be shown."""
        return True

    def explained(self, name: str, namespace: str) -> Answer:
        """Return the answer of `explain`. The first call for a NAME costs about ten cycles."""
        found = self._explained.get((name, namespace))
        if found is None:
            found = answer_for(name, namespace, self._question(name, namespace))
            self._explained[name, namespace] = found
        return found

    def timeline(self, name: str, namespace: str) -> Timeline | None:
        """Return the timeline of the gang that NAME means; None if there is none."""
        wanted = name_lookup.wanted(name, namespace)
        found = [each.gang for each in name_lookup.find(self.cluster.cache, wanted)]
        row = next((row for row in self.rows if found == [row.key]), None)
        if row is None:
            return None
        asked = self._question(name, namespace)
        seen = self.known.states_of(row.key)
        return timeline.of_gang(self.cluster, row, seen, asked.events, asked.without_events)

    def _question(self, name: str, namespace: str) -> Question:
        about = name_lookup.objects_about(self.cluster.cache, name, namespace)
        if about is None or self.reading.events is None:
            return Question(self.cluster, (), 0, self.without_events)
        events = (*self.reading.events, *self.known.older)
        oldest_first = sorted(events, key=lambda each: (each.first, each.last))
        return Question(self.cluster, history.of_snapshot(oldest_first, *about))


def of_reading(reading: Reading, last: View | None = None) -> View:
    """Return the view of a reading. It costs as much as `list`, `queues` and `cluster`.

    If `last` is the view of an earlier reading of the same cache, only what has changed since is
    worked out: nothing, or the rows of changed gangs, or decisions with all that follows from them.
    """
    cluster = reading.cluster
    if last is None or last.cluster.cache is not cluster.cache:
        return _with_fingerprint(_decided(reading, _by_gang(reading), KeptRows()))
    has_same_events = last.reading.events is reading.events
    by_gang = last.by_gang if has_same_events else _by_gang(reading)
    if last.cluster.decision != cluster.decision:
        return _with_fingerprint(_decided(reading, by_gang, last.kept, last.row_hashes))
    origin = inspection_cluster.origin_line(cluster)
    found = replace(last, reading=reading, events=by_gang, by_gang=by_gang, origin=origin)
    if last.cluster.revision != cluster.revision:
        rows = gangs.gang_rows(cluster, last.decided, reading.namespace, last.kept)
        found = replace(
            found, rows=tuple(rows), inhabited=_inhabited(cluster), _explained={}, _maps={}
        )
    elif has_same_events and last.reading.heartbeat == reading.heartbeat:
        return found
    else:
        # An explanation has the history of its gang.
        found = replace(found, _explained={})
    return _with_fingerprint(found)


def _with_fingerprint(seen: View) -> View:
    # A row that is still the same has the same hash.
    hashes = {row: seen.row_hashes.get(row) or hash(_OF_ROW(row)) for row in seen.rows}
    seen = replace(seen, row_hashes=hashes)
    return replace(seen, fingerprint=_fingerprint(seen))


def _decided(
    reading: Reading,
    by_gang: tuple[SchedulerEvent, ...],
    kept: KeptRows,
    row_hashes: Mapping[Row, int] = MappingProxyType({}),
) -> View:
    """Return the view of new decisions, without a fingerprint."""
    cluster = reading.cluster
    all_known = cluster.source is not Source.WRITTEN
    trees = tuple(_trees(cluster)) if all_known else ()
    decided = decisions_now.decide(cluster)
    return View(
        reading,
        by_gang,
        decided,
        tuple(gangs.gang_rows(cluster, decided, reading.namespace, kept)),
        tuple(queues.lines_of_queues(cluster, decided)),
        nodes.gpus(cluster) if all_known else None,
        trees,
        inspection_cluster.origin_line(cluster),
        devices=listing_devices.of_cluster(cluster) if all_known else (),
        by_gang=by_gang,
        kept=kept,
        row_hashes=row_hashes,
        inhabited=_inhabited(cluster),
    )


def _inhabited(cluster: Cluster) -> frozenset[str]:
    cache = cluster.cache
    found = {key.namespace for key in cache.gang_queue.infos}
    return frozenset(found.union(cache.selector_matches.namespaces.names, cluster.namespaces))


def _by_gang(reading: Reading) -> tuple[SchedulerEvent, ...]:
    """Return the Events of a reading by gang, newest first."""
    found = _merged(reading.events or (), reading.cluster)
    return tuple(sorted(found, key=lambda each: (-_last(each), each.name)))


def remembered(seen: View, known: Known) -> View:
    """Return the view with everything that the page remembers."""
    events = known.events if seen.reading.events is not None else ()
    return replace(seen, events=events, known=known)


_OF_ROW: Final = attrgetter(
    *("name", "queue", "priority", "state", "bound", "members", "gpus", "since", "start", "nodes"),
    *("wait.reason", "wait.brief", "wait.message", "in_line", "evictions", "devices"),
)
_OF_EVENT: Final = attrgetter("namespace", "name", "reason", "note", "first", "last", "times")


def _fingerprint(seen: View) -> int:
    """Return a number that changes with all that screens show, except for ages."""
    usage, beat = seen.cluster.cache.node_usage, seen.reading.heartbeat
    table = usage.table()
    states = (table.ready, table.unschedulable, usage.free())
    return hash(
        (
            tuple(seen.row_hashes.values()),
            tuple(map(_OF_EVENT, seen.events)),
            tuple(map(repr, seen.queues)),
            tuple((each.name, each.lines, each.outside) for each in seen.trees),
            beat and (beat.holder, beat.problem),
            tuple(node.name for node in table.nodes),
            tuple(each.tobytes() for each in states),
            seen.devices,
        )
    )


def _last(each: SchedulerEvent) -> int:
    return max(each.first, each.last)


def _merged(events: Sequence[SchedulerEvent], cluster: Cluster) -> Iterator[SchedulerEvent]:
    """Yield Events by gang: the Events of its members count as one, unless it has its own."""
    gang_of = {
        (pod.namespace, pod.name): info.key.name.partition("/")[0]
        for info in cluster.cache.gang_queue.infos.values()
        for pod in info.observed.members.values()
    }
    # A pod that is gone is a member of the gang that its Event names.
    of_members = [past_events.gang_of_member(each) for each in events]
    for each, named in zip(events, of_members, strict=True):
        if named:
            gang_of.setdefault((each.namespace, each.name), named)
    own, whole = set[tuple[str, str, str]](), set[tuple[str, str, str]]()
    found: list[tuple[str, str, SchedulerEvent]] = []
    for each, named in zip(events, of_members, strict=True):
        gang = gang_of.get((each.namespace, each.name), each.name)
        found.append((gang, named, each))
        subject = each.namespace, gang, each.reason
        if gang == each.name:
            own.add(subject)
        elif not named:
            whole.add(subject)
    merged: dict[tuple[str, str, str, str], list[SchedulerEvent]] = {}
    for gang, named, each in found:
        subject = each.namespace, gang, each.reason
        if gang == each.name:
            yield each
        elif subject not in own and not (named and subject in whole):
            # Members that are placed have notes of their own: each names its node.
            merged.setdefault((*subject, "" if named else each.note), []).append(each)
    for (_, gang, *_rest), some in merged.items():
        first, last = min(each.first for each in some), max(map(_last, some))
        yield msgspec.structs.replace(some[0], name=gang, first=first, last=last)


def _trees(cluster: Cluster) -> list[TreeView]:
    most: Shape | None = domains.commonest(cluster)
    shapes = [most] if most is not None else []
    return domains.trees(cluster, cluster.snapshot(), shapes)


# Selections of a view.


def selected(view: View, wanted: Wanted) -> list[Row]:
    """Return the selected gangs in the selected order."""
    chosen = gangs.Selection(
        states=wanted.states, queues=wanted.queues, reasons=wanted.reasons, order=wanted.order
    )
    text = wanted.text.lower()
    return [
        row
        for row in gangs.selected(view.rows, chosen)
        if (not wanted.namespaces or row.key.namespace.lower() in wanted.namespaces)
        and (not wanted.kinds or row.kind.lower() in wanted.kinds)
        and (not text or text in _searched(row))
    ]


def _searched(row: Row) -> str:
    return " ".join((row.name, row.queue, row.wait.reason, row.wait.message, *row.nodes)).lower()


def events_of(view: View, wanted: Wanted) -> list[SchedulerEvent]:
    """Return the selected Events by namespace, reason and text, newest first."""
    text = wanted.text.lower()
    return [
        each
        for each in view.events
        if view.shows(each.namespace)
        and (not wanted.namespaces or each.namespace.lower() in wanted.namespaces)
        and (not wanted.reasons or each.reason.lower() in wanted.reasons)
        and (not text or text in f"{each.namespace}/{each.name} {each.reason} {each.note}".lower())
    ]


def events_about(view: View, namespace: str, name: str) -> list[SchedulerEvent]:
    """Return the decisions about a gang that is no longer there, newest first."""
    plain = name.rpartition("/")[2]
    return [
        each
        for each in events_of(view, Wanted())
        if (each.namespace, each.name) == (namespace, plain)
    ]


def of_queue(view: View, name: str) -> tuple[list[QueueLine], list[Row]]:
    """Return a queue with the queues below it, and their gangs; nothing for an unknown one."""
    lines = queues.below(view.queues, name)
    known = {each.name for each in lines}
    return lines, [row for row in view.rows if row.queue in known]


# Documents of kinds that no command prints.


def decision_document(view: View, found: Sequence[SchedulerEvent]) -> Json:
    """Return Events of the scheduler as a document of kind DecisionList."""
    since = view.known_since
    return {
        "apiVersion": API_VERSION,
        "kind": "DecisionList",
        **inspection_cluster.origin_document(view.cluster),
        "lacks": view.without_events or None,
        "knownSince": rfc3339(since) if since else None,
        "notKnown": [
            {"from": rfc3339(begins), "until": rfc3339(ends)} for begins, ends in view.known.gaps
        ],
        "items": [
            {
                "namespace": each.namespace,
                "name": each.name,
                "reason": each.reason,
                "message": each.note,
                "first": rfc3339(each.first),
                "last": rfc3339(max(each.first, each.last)),
                "times": each.times,
            }
            for each in found
        ],
    }


def overview_document(view: View) -> Json:
    """Return the figures of the first screen as a document of kind Overview."""
    counts, gpus, beat = view.counts, view.gpus, view.reading.heartbeat
    return {
        "apiVersion": API_VERSION,
        "kind": "Overview",
        **inspection_cluster.origin_document(view.cluster),
        "gangs": {
            "waiting": counts[WAITING],
            "starting": counts[STARTING],
            "running": counts[RUNNING],
        },
        "gpus": None
        if gpus is None
        else {**gpus._asdict(), "idleWhileWaiting": view.idle_while_waiting},
        "scheduler": None
        if beat is None
        else {
            "holder": beat.holder or None,
            "renewed": rfc3339(beat.renewed) if beat.renewed else None,
            "problem": beat.problem or None,
        },
    }


def queue_title(name: str) -> str:
    """Return the displayed name of a queue."""
    return "no queue" if name in ("", NONE.name) else name
