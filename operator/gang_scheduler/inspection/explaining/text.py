"""The document for people: the first sentence, the parts, and where the answer comes from."""

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from gang_scheduler.inspection.explaining import (
    eviction_lines,
    lines,
    quota_lines,
    running_lines,
    variant_lines,
)
from gang_scheduler.inspection.explaining.lines import Line, Part, View
from gang_scheduler.inspection.explaining.wording import duration
from gang_scheduler.model.queues import NONE
from gang_scheduler.report.texts.plurals import counted

Json = dict[str, Any]
LABEL: Final = 12
"""How many columns the names of parts have."""


def render(document: Json, view: View, origin: str) -> str:
    """Return the text of a document, no wider than the view; `origin` is its last line."""
    printed = [*_header(document, view), *_parts(document, view), "", origin]
    return "".join(f"{line.rstrip()}\n" for line in printed)


def _header(document: Json, view: View) -> Iterator[str]:
    """Yield what the gang is, and the first sentence."""
    yield from textwrap.wrap("   ".join(_facts(document)), view.width, break_on_hyphens=False)
    yield from _wrapped(document["summary"], view.width, "")
    for each in document.get("warnings", []):
        yield from _wrapped(f"Beside that: {each['message']}.", view.width, "")


def _facts(document: Json) -> Iterator[str]:
    yield document["name"]
    if "members" not in document:
        return
    yield document["workload"]
    if document["queue"]:
        yield "no queue" if document["queue"] == NONE.name else f"queue {document['queue']}"
    named = f" ({document['priorityClass']})" if document["priorityClass"] else ""
    yield f"priority {document['priority']}{named}"
    present, needed = document["members"]["present"], document["members"]["needed"]
    if needed is None:
        yield counted(present, "member")
    elif present > needed:
        yield f"{counted(present, 'member')}, {needed} needed"
    elif document["workload"] != "Pod":
        yield f"{present} of {counted(needed, 'member')}"
    if document["waitsSeconds"] is not None:
        yield f"waits {duration(document['waitsSeconds'])}"
    if document["group"]:
        yield f"starts with {', '.join(document['group'])}"


def _parts(document: Json, view: View) -> Iterator[str]:
    """Yield the parts, an empty line between those of the gang, of the room and of what helps."""
    for block in BLOCKS:
        made = [
            line
            for label, key, part in block
            for line in _part(label, _said_of(document, key, part, view), view)
        ]
        if made:
            yield ""
            yield from made


def _part(label: str, said: list[Line], view: View) -> Iterator[str]:
    """Yield the lines of a part: its name, and what it says."""
    for place, line in enumerate(said):
        head = label if place == 0 else ""
        if line.under:
            if place == 0:
                yield head
            yield from _wrapped(f"  {line.text}", view.width, line.hanging * " ")
        else:
            head = f"{head}  " if len(head) >= LABEL else f"{head:<{LABEL}}"
            yield from _wrapped(f"{head}{line.text}", view.width, LABEL * " ")


def _wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _said_of(document: Json, key: str, part: Part, view: View) -> list[Line]:
    """Return what a part says; of one that would need more rights, that it is not known."""
    if key in document.get("notKnown", []):
        is_asked = document["verdict"] == "Waits" and (key != "quota" or document["queue"])
        return [Line(lines.NOT_KNOWN)] if is_asked else []
    return part(document, view)


BLOCKS: Final[tuple[tuple[tuple[str, str, Part], ...], ...]] = (
    (
        ("RUNNING", "running", running_lines.running),
        ("EVICTION", "running", running_lines.evictable),
    ),
    (
        ("POSITION", "position", lines.position),
        ("START", "start", lines.start),
        ("QUOTA", "quota", quota_lines.quota),
    ),
    (
        ("WHERE", "where", lines.where),
        ("NODES", "nodes", lines.nodes),
        ("PREEMPTION", "preemption", eviction_lines.preemption),
    ),
    (
        ("IT NEEDS", "needs", variant_lines.needs),
        ("IT WOULD START NOW WITH", "wouldStart", variant_lines.would_start),
        ("HISTORY", "history", lines.history),
    ),
)
"""The parts by name, with their keys in the document; an empty line is between blocks."""
