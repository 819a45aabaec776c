"""The text of `explain`: which sections it has, in which order, and how lines are wrapped."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from gang_scheduler.inspection.explaining import section_lines
from gang_scheduler.inspection.explaining.document_fields import Document
from gang_scheduler.inspection.explaining.first_sentence import duration, joined_with_and, listed
from gang_scheduler.inspection.explaining.needs import Need
from gang_scheduler.inspection.explaining.section_lines import Line, Part, View, short, work
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.wording import counted
from gang_scheduler.scheduler.explanation.findings import (
    Change,
    LessAsked,
    MoreQuota,
    Variant,
    Verdict,
)

LABEL: Final = 12
"""The width of the column with the names of sections."""


# The lines on changes with which a gang would start now, and on its needs until then.
#
# The changes are found by `scheduler/explanation/possible_changes`.


WIDEST: Final = 45
"""The most columns for the names of changes."""


def would_start(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines with the changes with which the gang would start now."""
    found = document.would_start
    if found is None:
        return []
    if not found:
        return [] if document.needs else [Line(_nothing(document))]
    names = [_change(each, document) for each in found]
    width = min(max(map(len, names)), WIDEST)
    return [
        Line(
            f"{name:<{width}}   {_outcome(each, document)}{_by(each)}",
            under=True,
            hanging=width + 5,
        )
        for name, each in zip(names, found, strict=True)
    ]


def _nothing(document: Document) -> str:
    """Return the text for a gang that no tried change helps."""
    if document.lacks is not None:
        return "no single change: it lacks both room and quota"
    return "no single change that was tried: fewer members, less asked, a higher priority"


def _by(each: Variant) -> str:
    return f" ({each.by})" if each.by else ""


def _change(each: Variant, document: Document) -> str:
    return _CHANGES[each.change](each, document)


def _ended(each: Variant, document: Document) -> str:
    left = (each.at or document.read_at) - document.read_at
    return f"{each.after} ended, in {duration(left)}"


def _of_group(each: Variant, document: Document) -> str:
    """Return the name of the gang that a change is about, if the gang is in a group."""
    return f" of {each.gang}" if document.group else ""


def _labels(labels: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items())


def _quota(one: MoreQuota) -> str:
    """Return which field of a queue must be raised to which amount."""
    amount = f"{one.amount} {one.resource} instead of {one.instead_of}"
    return f"{one.kind} {one.queue}: {amount} ({joined_with_and(one.fields)})"


def _asked(one: LessAsked) -> str:
    return f"{one.amount} {one.resource} instead of {one.instead_of} a member"


_CHANGES: Final[Mapping[Change, Callable[[Variant, Document], str]]] = {
    Change.FEWER_MEMBERS: lambda it, said: f"minMember {it.number} of {it.of}{_of_group(it, said)}",
    Change.SOFTER_LAYER: lambda it, _: f"PreferGather instead of Must in {it.layer}",
    Change.HIGHER_PRIORITY: lambda it, said: f"priority {it.number} instead of {said.priority}",
    Change.RUN_TIMES_OVER: lambda *_: "minimum run times over",
    Change.OTHER_FLAVOR: lambda it, _: _labels(it.labels),
    Change.NEXT_END: _ended,
    Change.MORE_QUOTA: lambda it, _: joined_with_and([_quota(one) for one in it.quotas]),
    Change.LESS_ASKED: lambda it, _: joined_with_and([_asked(one) for one in it.requests]),
    Change.TAINTS_TOLERATED: lambda it, _: f"toleration of {joined_with_and(it.taints)}",
    Change.SELECTOR_REMOVED: lambda it, _: f"no nodeSelector {_labels(it.labels)}",
}


def _outcome(each: Variant, document: Document) -> str:
    where = f"in {joined_with_and([short(name) for name in each.domains])}" if each.domains else ""
    where = where or f"on {listed(each.nodes)}"
    if not each.victims:
        return where
    number = sum(one.number for one in each.victims)
    pods = listed([name for one in each.victims for name in one.pods])
    return f"would evict {counted(number, 'pod')}: {pods}{work(each.victims, document)}"


def needs_lines(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on objects that must be created or fixed before the gang can start."""
    return [Line(_need(each), under=True) for each in document.needs or ()]


def _need(each: Need) -> str:
    named = f"{each.object}, {each.field}" if each.field else each.object
    return f"{named}: {each.value} ({each.by})"


# The text.


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
        ("IT NEEDS", "needs", needs_lines),
        ("IT WOULD START NOW WITH", "wouldStart", would_start),
        ("HISTORY", "history", section_lines.history),
    ),
)
"""The names of the sections, with their keys in the document. An empty line separates blocks."""
