"""The changes of a cluster in order; a watch can begin at any version that is not too old."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import anyio
import msgspec

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.fake.cluster import Change as Verb
from gang_scheduler.client.fake.cluster import Document, FakeCluster
from gang_scheduler.embedded.refusals import Refused
from gang_scheduler.embedded.selection import Selection

REMEMBERED: Final = 20_000
"""At least this many changes of a kind are kept for watches that resume."""
BOOKMARK_SECONDS: Final = 60.0
INITIAL_END: Final = "k8s.io/initial-events-end"


class Form(NamedTuple):
    """The version and encoding in which a client gets objects.

    Forms of the same name make the same lines.
    """

    name: str
    show: Callable[[Document], Document]


@dataclass(slots=True)
class Changed:
    """A change of one object. `before` is its earlier state, None for a new object."""

    version: int
    verb: Verb
    document: Document
    before: Document | None
    lines: dict[str, bytes] = field(default_factory=dict)


class _OfKind:
    """The changes of one kind; `first` is the number of the oldest change that is kept."""

    def __init__(self, floor: int) -> None:
        self.changes: list[Changed] = []
        self.first = 0
        # A watch from an older version than this one has missed something.
        self.floor = floor
        self.waiting: set[asyncio.Event] = set()
        self.known: dict[tuple[str, str], Document] = {}
        self.is_served = True

    @property
    def end(self) -> int:
        """The number that the next change gets."""
        return self.first + len(self.changes)

    def note(self, verb: Verb, document: Document) -> None:
        metadata = document["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        version = int(metadata["resourceVersion"])
        self.changes.append(Changed(version, verb, document, self.known.get(key)))
        if verb == "DELETED":
            self.known.pop(key, None)
        else:
            self.known[key] = document
        if len(self.changes) > 2 * REMEMBERED:
            self.floor = self.changes[REMEMBERED - 1].version
            del self.changes[:REMEMBERED]
            self.first += REMEMBERED
        self.wake()

    def wake(self) -> None:
        for each in self.waiting:
            each.set()

    def after(self, version: int) -> int:
        """Return the number of the first change after a resourceVersion."""
        low, high = 0, len(self.changes)
        while low < high:
            middle = (low + high) // 2
            if self.changes[middle].version <= version:
                low = middle + 1
            else:
                high = middle
        return self.first + low


class Changes:
    """The changes of all kinds of a cluster since this object was created."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._first = cluster.version
        self._kinds: dict[GVR, _OfKind] = {}
        cluster.watchers.append(self._note)

    def end(self, gvr: GVR) -> None:
        """End all watches of a kind, which is no longer served."""
        found = self._kinds.pop(gvr, None)
        if found is not None:
            found.is_served = False
            found.wake()

    def compact(self) -> None:
        """Forget all changes, as an API server does after some minutes."""
        for each in self._kinds.values():
            each.floor = self._cluster.version
            each.first = each.end
            each.changes.clear()

    async def watch(
        self, gvr: GVR, selection: Selection, form: Form, version: int, *, bookmarks: bool
    ) -> AsyncIterator[bytes]:
        """Yield the changes after a version as lines; one item has all lines that are available."""
        kind = self._of(gvr)
        if version < kind.floor:
            yield _line("ERROR", too_old(version, kind.floor).body)
            return
        at, woken = kind.after(version), asyncio.Event()
        kind.waiting.add(woken)
        try:
            while kind.is_served or at < kind.end:
                if at < kind.first:
                    yield _line("ERROR", too_old(version, kind.floor).body)
                    return
                woken.clear()
                chosen = kind.changes[at - kind.first :]
                at = kind.end
                if lines := b"".join(_line_for(each, selection, form) for each in chosen):
                    yield lines
                elif kind.is_served and not await _within(BOOKMARK_SECONDS, woken) and bookmarks:
                    yield self.bookmark(form)
        finally:
            kind.waiting.discard(woken)

    def bookmark(self, form: Form, **annotations: str) -> bytes:
        """Return a bookmark: an event that only says up to which version all changes were sent."""
        told = {"annotations": annotations} if annotations else {}
        metadata = {"resourceVersion": str(self._cluster.version), **told}
        return _line("BOOKMARK", form.show({"metadata": metadata}))

    def _note(self, gvr: GVR, verb: Verb, document: Document) -> None:
        self._of(gvr).note(verb, document)

    def _of(self, gvr: GVR) -> _OfKind:
        if gvr not in self._kinds:
            self._kinds[gvr] = _OfKind(self._first)
        return self._kinds[gvr]


def added(document: Document) -> bytes:
    """Return the line of an object that existed when a watch began."""
    return _line("ADDED", document)


def too_old(version: int, floor: int) -> Refused:
    """Return the refusal for a watch that would miss changes."""
    return Refused(410, f"too old resource version: {version} ({floor})")


def _line_for(changed: Changed, selection: Selection, form: Form) -> bytes:
    """Return the line of a change for a watch; b"" if its selectors match neither state."""
    if selection.is_all:
        namespace = changed.document["metadata"].get("namespace")
        if selection.namespace and namespace != selection.namespace:
            return b""
        # A line is encoded once, and reused for all watches of the same form.
        if form.name not in changed.lines:
            changed.lines[form.name] = _line(changed.verb, form.show(changed.document))
        return changed.lines[form.name]
    is_in = changed.verb != "DELETED" and selection.has(changed.document)
    was_in = changed.before is not None and selection.has(changed.before)
    if not is_in and not was_in:
        return b""
    verb = "DELETED" if not is_in else "MODIFIED" if was_in else "ADDED"
    return _line(verb, form.show(changed.document))


def _line(verb: str, document: Any) -> bytes:  # noqa: ANN401 - any JSON.
    return msgspec.json.encode({"type": verb, "object": document}) + b"\n"


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Return whether an event is set within the time limit."""
    with anyio.move_on_after(seconds):
        await event.wait()
    return event.is_set()
