"""The part of a view that a user with rights in some namespaces sees.

Gangs there are shown in full, with position and start. For all other gangs, only numbers are shown.
A text with a name that is hidden from the user is left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import msgspec
from msgspec import UNSET, structs

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.explaining import document_fields, name_lookup
from gang_scheduler.inspection.explaining.answers import Answer, answer_for
from gang_scheduler.inspection.explaining.document_fields import Document, Running
from gang_scheduler.inspection.explaining.history import Transition
from gang_scheduler.inspection.listing.domains import TreeView
from gang_scheduler.inspection.listing.gangs import Row
from gang_scheduler.inspection.listing.waits import Wait
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.reasons import RULES, Reason
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.model.wording import counted
from gang_scheduler.page import node_map
from gang_scheduler.page.node_map import NodeMap
from gang_scheduler.page.timeline import Timeline
from gang_scheduler.page.view import View
from gang_scheduler.page.withheld_names import NUMERIC, TOKEN, Names
from gang_scheduler.scheduler.explanation.findings import (
    ClassNodes,
    DomainRoom,
    DomainSlots,
    Evictions,
    QuotaLine,
    Variant,
    Victims,
    Where,
)

A_NODE: Final = "a node"
WITHHELD: Final = "The rest names what you have no right to see."
_CHECKED: Final = (
    *("group", "warnings", "nodes_taken", "position", "start", "quota", "where", "nodes"),
    *("preemption", "needs", "would_start", "running"),
)
"""The parts of an explanation that are left out if they have a hidden name."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """What a user may list: pods of `namespaces` (None: of all), nodes, and queues.

    With `map`, a user that may not list nodes sees the map without their names.
    """

    namespaces: frozenset[str] | None = None
    nodes: bool = True
    queues: bool = True
    map: bool = True

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden from the user."""
        return self.namespaces is None and self.nodes and self.queues


EVERYTHING: Final = Viewer()


def namespaces_of(seen: View) -> frozenset[str]:
    """Return the namespaces of everything in a view. For any thread."""
    return seen.inhabited | {each.namespace for each in seen.events}


def note(names: Names, seen: View) -> None:
    """Take in the names of a view that was just made."""
    # The line of all gangs without a queue is no queue: its name is a word.
    queues = [line.name for line in seen.queues if line.name != NONE.name]
    names.note(seen.cluster, seen.events, queues, namespaces_of(seen))


class Shown:
    """Tells whether a viewer may read a text of a view."""

    def __init__(self, viewer: Viewer, names: Names, queues: frozenset[str]) -> None:
        self.viewer = viewer
        self.queues = queues
        self._names = names

    def namespace(self, name: str) -> bool:
        """Return whether gangs of a namespace are shown."""
        return self.viewer.namespaces is None or name in self.viewer.namespaces

    def text(self, text: str) -> bool:
        """Return whether a text has no hidden name."""
        rest = text
        for each in self._names.amounts:
            if "/" in each:
                rest = rest.replace(each, "")
        return not any(map(self._hides, TOKEN.findall(rest)))

    def value(self, value: object) -> bool:
        """Return whether no text in a JSON value has a hidden name."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return all(map(self.value, value.values()))
        return not isinstance(value, Sequence) or all(map(self.value, value))

    def _hides(self, token: str) -> bool:
        """Return whether a token is a name of something that the viewer may not see."""
        names = self._names
        # An amount says nothing about the object that has it as its name.
        if NUMERIC.fullmatch(token) or token in names.amounts:
            return False
        if token in names.namespaces:
            return not self.namespace(token)
        if token in self.queues:
            return False
        # If a pod of the viewer has the name of a node, this does not reveal the node.
        is_hidden = (token in names.queues and not self.viewer.queues) or (
            token in names.nodes and not self.viewer.nodes
        )
        owners = names.owners(token)
        return is_hidden or (bool(owners) and not any(map(self.namespace, owners)))


@dataclass(frozen=True, slots=True, eq=False)
class PartialView(View):
    """A view without anything that is hidden from a viewer. `whole` is the full view."""

    whole: View = field(kw_only=True)
    shown: Shown = field(kw_only=True)
    others: Counter[str] = field(kw_only=True)

    @property
    def sees_nodes(self) -> bool:
        """Whether nodes and their names are shown."""
        return self.shown.viewer.nodes and self.whole.sees_nodes

    @property
    def sees_map(self) -> bool:
        """Whether the map is shown, with or without names of nodes."""
        return self.sees_nodes or (self.shown.viewer.map and self.whole.sees_nodes)

    @property
    def namespaces(self) -> list[str]:
        """The namespaces that a job can be tried in."""
        own = self.shown.viewer.namespaces
        return self.whole.namespaces if own is None else sorted(own)

    @property
    def idle_while_waiting(self) -> int:
        """How many GPUs are free while any gang in line requests some."""
        return self.whole.idle_while_waiting

    def shows(self, namespace: str) -> bool:
        """Return whether objects of a namespace are shown."""
        return self.shown.namespace(namespace) and self.whole.shows(namespace)

    def node_map(self, topology: str = "") -> NodeMap | None:
        """Return the map, with hidden gangs as other pods; None if the viewer may not see it."""
        if not self.sees_map:
            return None
        if topology not in self._maps:
            found = node_map.of_cluster(self.cluster, self.rows, topology)
            if found is not None and not self.sees_nodes:
                found = node_map.without_names(found, self.shown.text)
            self._maps[topology] = found
        return self._maps[topology]

    def explained(self, name: str, namespace: str) -> Answer:
        """Return the answer of `explain` without hidden names."""
        if not self._may_mean(name, namespace):
            return Answer()
        found = self._explained.get((name, namespace))
        if found is None:
            asked = self._question(name, namespace)
            hiding = replace(asked, cluster=_hiding(self.cluster))
            found = self.cleaned(answer_for(name, namespace, hiding))
            self._explained[name, namespace] = found
        return found

    def timeline(self, name: str, namespace: str) -> Timeline | None:
        """Return the timeline of a gang without hidden names."""
        if not self._may_mean(name, namespace):
            return None
        # Called by name: `super()` is not known in a dataclass with slots.
        found = View.timeline(self, name, namespace)
        if found is None:
            return None
        return found._replace(
            spans=tuple(each._replace(words=self._said(each.words)) for each in found.spans),
            moments=tuple(each._replace(what=self._said(each.what)) for each in found.moments),
        )

    def cleaned(self, found: Answer) -> Answer:
        """Return an answer without hidden names."""
        document = found.document
        return Answer(
            _document(document, self.shown) if document is not None else None,
            tuple(each for each in found.several if self.shown.text(each)),
            tuple(each for each in found.near if self.shown.text(each)),
        )

    def may_say(self, text: str) -> bool:
        """Return whether a text has no hidden name."""
        return self.shown.text(text)

    def _may_mean(self, name: str, namespace: str) -> bool:
        # A NAME may have a namespace in it, which wins.
        return self.shows(namespace) and self.shows(name_lookup.wanted(name, namespace).namespace)

    def _said(self, text: str) -> str:
        return text if self.shown.text(text) else _head(text, self.shown)


def partial(seen: View, viewer: Viewer, names: Names) -> PartialView:
    """Return the part of a view that a viewer sees. Linear in gangs and decisions."""
    own_namespaces = viewer.namespaces
    rows = [
        row for row in seen.rows if own_namespaces is None or row.key.namespace in own_namespaces
    ]
    all_queues = {line.name for line in seen.queues}
    queues = frozenset(all_queues if viewer.queues else (row.queue for row in rows if row.queue))
    shown = Shown(viewer, names, queues)
    given: dict[str, Any] = {each.name: getattr(seen, each.name) for each in fields(View)}
    own = {row.key for row in rows}
    given |= {
        "events": tuple(
            _event(each, shown) for each in seen.events if shown.namespace(each.namespace)
        ),
        "rows": tuple(_row(row, shown) for row in rows),
        "queues": tuple(
            replace(
                line,
                parent=line.parent if line.parent in queues else "",
                gangs=tuple(key for key in line.gangs if key in own),
            )
            for line in seen.queues
            if line.name in queues
        ),
        "trees": tuple(_tree(tree, shown) for tree in seen.trees),
        "origin": f"{seen.origin}; {_scope(viewer)}",
        "row_hashes": {},
        "_explained": {},
        "_maps": {},
    }
    others = Counter(row.state for row in seen.rows if row.key not in own)
    return PartialView(**given, whole=seen, shown=shown, others=others)


def _scope(viewer: Viewer) -> str:
    if viewer.namespaces is None:
        return "not known with your rights: " + ("queues" if viewer.nodes else "names of nodes")
    names = ", ".join(sorted(viewer.namespaces)[:5])
    more = len(viewer.namespaces) - 5
    listed = f"{names} and {more} more" if more > 0 else names
    return f"gangs of {listed}; of all others only numbers are shown to you"


def _hiding(cluster: Cluster) -> Cluster:
    """Return the cluster with the setting that hides names of other namespaces."""
    return replace(cluster, policy=cluster.policy.model_copy(update={"hide_foreign_names": True}))


def _lead(reason: str) -> str:
    return RULES[Reason(reason)].lead if reason in set(Reason) else reason


def _head(text: str, shown: Shown) -> str:
    """Return the reason at the beginning of a text, if that has no hidden name."""
    head = text.partition(":")[0]
    return head if shown.text(head) else ""


def _row(row: Row, shown: Shown) -> Row:
    wait = row.wait
    if not shown.text(wait.message):
        wait = Wait(wait.reason, _lead(wait.reason))
    if not shown.text(wait.few_words):
        wait = wait._replace(few_words="")
    domain = row.domain if row.domain is not None and shown.text(str(row.domain)) else None
    nodes = row.nodes if shown.viewer.nodes else ()
    return replace(row, wait=wait, domain=domain, nodes=nodes)


def _event(each: SchedulerEvent, shown: Shown) -> SchedulerEvent:
    return each if shown.text(each.note) else msgspec.structs.replace(each, note=WITHHELD)


def _tree(tree: TreeView, shown: Shown) -> TreeView:
    if shown.viewer.nodes:
        return tree
    lines = [line for line in tree.lines if shown.value(list(line.domain.path))]
    return replace(tree, lines=tuple(lines), outside=())


# The explanation.


def _document(found: Document, shown: Shown) -> Document:
    """Return the document without hidden names. A part with a hidden name is left out."""
    if not shown.viewer.nodes:
        found = _without_nodes(found)
    if found.quota is not None:
        found = structs.replace(found, quota=tuple(_quota(found.quota, shown)) or None)
    hidden = [each for each in _CHECKED if not _shows(getattr(found, each), shown)]
    summary = found.summary
    if not shown.text(summary):
        reason = found.reason if isinstance(found.reason, str) else ""
        summary = f"{_lead(reason) or found.state}. {WITHHELD}"
    return structs.replace(
        found,
        summary=summary,
        history=tuple(_happened(each, shown) for each in found.history or ()) or None,
        not_known=(*(found.not_known or ()), *map(_camel, hidden)) or None,
        **dict.fromkeys(hidden),
    )


def _shows(part: Any, shown: Shown) -> bool:  # noqa: ANN401 - a part of the document.
    if part is None or part is UNSET:
        return True
    parts = part if isinstance(part, tuple) else (part,)
    as_json = document_fields.as_json
    return all(shown.value(each if isinstance(each, str) else as_json(each)) for each in parts)


def _happened(each: Transition, shown: Shown) -> Transition:
    if shown.text(each.what):
        return each
    return structs.replace(each, what=_head(each.what, shown) or WITHHELD)


def _quota(found: Iterable[QuotaLine], shown: Shown) -> Iterator[QuotaLine]:
    """Yield the quota of queues that are shown, with those of their borrowers that are."""
    for line in found:
        if shown.text(line.queue):
            held = tuple(each for each in line.held_by if shown.text(each.queue))
            yield structs.replace(line, held_by=held)


def _camel(name: str) -> str:
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def _without_nodes(found: Document) -> Document:
    """Return the document without the fields that are for names of nodes."""
    evictions, variants = found.preemption, found.would_start
    return structs.replace(
        found,
        nodes_taken=None,
        where=_where(found.where) if found.where is not None else None,
        nodes=None if found.nodes is None else tuple(map(_class_nodes, found.nodes)),
        preemption=None if evictions is None else _evictions(evictions),
        would_start=None if variants is None else tuple(map(_variant, variants)),
        running=None if found.running is None else _running(found.running),
    )


def _where(found: Where) -> Where:
    return structs.replace(found, domains=tuple(map(_domain, found.domains)))


def _domain(found: DomainSlots) -> DomainSlots:
    if not isinstance(found, DomainRoom) or found.nearest is None:
        return found
    return structs.replace(found, nearest=structs.replace(found.nearest, node=A_NODE))


def _class_nodes(found: ClassNodes) -> ClassNodes:
    return structs.replace(
        found, reasons=tuple(structs.replace(each, some=()) for each in found.reasons)
    )


def _evictions(found: Evictions) -> Evictions:
    return structs.replace(found, victims=_victims(found.victims))


def _victims(found: tuple[Victims, ...]) -> tuple[Victims, ...]:
    return tuple(structs.replace(each, nodes=()) for each in found)


def _variant(found: Variant) -> Variant:
    number = (counted(len(found.nodes), "node"),) if found.nodes else ()
    return structs.replace(found, nodes=number, victims=_victims(found.victims))


def _running(found: Running) -> Running:
    return structs.replace(found, ranks=())


# Views of viewers: the same for all users with the same rights.


class PartialViews:
    """Keeps what viewers see of the last view, and the names of all views for a while.

    The cluster of a view changes with the next one. So the names are noted when a view is made: a
    request that waited meanwhile still hides those of the earlier one.
    """

    def __init__(self) -> None:
        self._of: View | None = None
        self._noted: View | None = None
        self._names = Names()
        self._made: dict[Viewer, PartialView] = {}

    def note(self, seen: View) -> None:
        """Take in the names of a view that was just made."""
        self._noted = seen
        note(self._names, seen)

    def of(self, seen: View, viewer: Viewer) -> View:
        """Return the part of a view that a viewer sees."""
        if viewer.sees_all:
            return seen
        if self._noted is None:
            self.note(seen)
        if self._of is not seen:
            self._of, self._made = seen, {}
        found = self._made.get(viewer)
        if found is None:
            found = self._made[viewer] = partial(seen, viewer, self._names)
        return found
