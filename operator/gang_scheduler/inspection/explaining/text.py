"""The text of `explain`: which sections it has, in which order, and how lines are wrapped."""

import textwrap
from collections.abc import Iterator
from typing import Final, NamedTuple

from gang_scheduler.inspection.explaining import section_lines, would_start
from gang_scheduler.inspection.explaining.document_fields import Document
from gang_scheduler.inspection.explaining.first_sentence import duration
from gang_scheduler.inspection.explaining.section_lines import Line, Part, View
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.wording import counted
from gang_scheduler.scheduler.explanation.findings import Verdict

LABEL: Final = 12
"""The width of the column with the names of sections."""


def render(document: Document, view: View, origin: str) -> str:
    """Return the text of a document, no wider than the view; `origin` is its end."""
    last = _wrapped(origin, view.width, "")
    printed = [*_header(document, view), *_parts(document, view), "", *last]
    return "".join(f"{line.rstrip()}\n" for line in printed)


def _header(document: Document, view: View) -> Iterator[str]:
    """Yield the facts of the gang, and the first sentence."""
    yield from textwrap.wrap("   ".join(facts(document)), view.width, break_on_hyphens=False)
    yield from _wrapped(document.summary, view.width, "")
    for each in document.warnings or ():
        yield from _wrapped(f"Beside that: {each.message}.", view.width, "")


def facts(document: Document) -> Iterator[str]:
    """Yield the facts of a gang in short, its name first."""
    yield document.name
    if document.members is None or document.workload is None:
        return
    yield document.workload
    if document.queue:
        yield "no queue" if document.queue == NONE.name else f"queue {document.queue}"
    named = f" ({document.priority_class})" if document.priority_class else ""
    yield f"priority {document.priority}{named}"
    present, needed = document.members.present, document.members.needed
    if needed is None:
        yield counted(present, "member")
    elif present > needed:
        yield f"{counted(present, 'member')}, {needed} needed"
    elif document.workload != "Pod":
        yield f"{present} of {counted(needed, 'member')}"
    if isinstance(document.waits_seconds, int):
        yield f"waits {duration(document.waits_seconds)}"
    if document.group:
        yield f"starts with {', '.join(document.group)}"


class Section(NamedTuple):
    """A section that is not empty: its name, and its lines."""

    label: str
    lines: list[Line]


def sections(document: Document, view: View) -> list[list[Section]]:
    """Return the sections that are not empty, block by block."""
    return [
        [
            Section(label, said)
            for label, key, part in block
            if (said := _said_of(document, key, part, view))
        ]
        for block in BLOCKS
    ]


def _parts(document: Document, view: View) -> Iterator[str]:
    """Yield the lines of all sections, with an empty line between blocks."""
    for block in sections(document, view):
        made = [line for each in block for line in _part(each.label, each.lines, view)]
        if made:
            yield ""
            yield from made


def _part(label: str, said: list[Line], view: View) -> Iterator[str]:
    """Yield the lines of a section: its name, then its text."""
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


def _said_of(document: Document, key: str, part: Part, view: View) -> list[Line]:
    """Return the lines of a section; if it needs more rights, a line that it is not known."""
    if key in (document.not_known or ()):
        is_asked = document.verdict is Verdict.WAITS and (key != "quota" or document.queue)
        return [Line(section_lines.NOT_KNOWN)] if is_asked else []
    return part(document, view)


BLOCKS: Final[tuple[tuple[tuple[str, str, Part], ...], ...]] = (
    (
        ("RUNNING", "running", section_lines.running_lines),
        ("EVICTION", "running", section_lines.evictable_lines),
    ),
    (
        ("POSITION", "position", section_lines.position),
        ("START", "start", section_lines.start),
        ("QUOTA", "quota", section_lines.quota_lines),
    ),
    (
        ("WHERE", "where", section_lines.where),
        ("NODES", "nodes", section_lines.nodes),
        ("PREEMPTION", "preemption", section_lines.preemption_lines),
    ),
    (
        ("IT NEEDS", "needs", would_start.needs_lines),
        ("IT WOULD START NOW WITH", "wouldStart", would_start.would_start),
        ("HISTORY", "history", section_lines.history),
    ),
)
"""The names of the sections, with their keys in the document. An empty line separates blocks."""
