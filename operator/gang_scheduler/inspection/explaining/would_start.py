"""The lines on changes with which a gang would start now, and on its needs until then.

The changes are found by `scheduler/explanation/changes`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gang_scheduler.inspection.explaining.document_fields import Document
from gang_scheduler.inspection.explaining.first_sentence import duration, joined_with_and, listed
from gang_scheduler.inspection.explaining.needs import Need
from gang_scheduler.inspection.explaining.section_lines import Line, View, short, work
from gang_scheduler.model.wording import counted
from gang_scheduler.scheduler.explanation.findings import Change, LessAsked, MoreQuota, Variant

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
    return f"{counted(number, 'pod')} would go: {pods}{work(each.victims, document)}"


def needs_lines(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on objects that must be created or fixed before the gang can start."""
    return [Line(_need(each), under=True) for each in document.needs or ()]


def _need(each: Need) -> str:
    named = f"{each.object}, {each.field}" if each.field else each.object
    return f"{named}: {each.value} ({each.by})"
