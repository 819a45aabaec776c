"""The lines on changes: with which one a gang would start now, and which role can make it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gang_scheduler.inspection.explaining.lines import Json, Line, View, seconds_of, short, work
from gang_scheduler.inspection.explaining.wording import between, duration, listed
from gang_scheduler.report.texts.plurals import counted

WIDEST: Final = 45
"""How wide the column of changes is at most."""


def would_start(document: Json, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return with which changes the gang would start now."""
    found = document.get("wouldStart")
    if found is None:
        return []
    if not found:
        return [] if document.get("needs") else [Line(_nothing(document))]
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


def _nothing(document: Json) -> str:
    """Return that no change helps that was tried."""
    if "Room" in document.get("lacks", ()):
        return "no single change: it lacks both room and quota"
    return "no single change that was tried: fewer members, less asked, a higher priority"


def _by(each: Json) -> str:
    return f" ({each['by']})" if each["by"] else ""


def _change(each: Json, document: Json) -> str:
    return _CHANGES[each["change"]](each, document)


def _ended(each: Json, document: Json) -> str:
    left = seconds_of(each["at"]) - seconds_of(document["readAt"])
    return f"{each['after']} ended, in {duration(left)}"


def _of_group(each: Json, document: Json) -> str:
    """Return which gang of a group a change is about."""
    return f" of {each['gang']}" if document["group"] else ""


def _labels(labels: Json) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items())


def _quota(one: Json) -> str:
    """Return which object gets how much quota, in which field."""
    amount = f"{one['amount']} {one['resource']} instead of {one['insteadOf']}"
    return f"{one['kind']} {one['queue']}: {amount} ({between(one['fields'])})"


def _asked(one: Json) -> str:
    return f"{one['amount']} {one['resource']} instead of {one['insteadOf']} a member"


_CHANGES: Final[Mapping[str, Callable[[Json, Json], str]]] = {
    "FewerMembers": lambda it, said: f"minMember {it['number']} of {it['of']}{_of_group(it, said)}",
    "SofterLayer": lambda it, _: f"PreferGather instead of Must in {it['layer']}",
    "HigherPriority": lambda it, said: f"priority {it['number']} instead of {said['priority']}",
    "RunTimesOver": lambda *_: "minimum run times over",
    "OtherFlavor": lambda it, _: _labels(it["labels"]),
    "NextEnd": _ended,
    "MoreQuota": lambda it, _: between([_quota(one) for one in it["quotas"]]),
    "LessAsked": lambda it, _: between([_asked(one) for one in it["requests"]]),
    "TaintsTolerated": lambda it, _: f"toleration of {between(it['taints'])}",
    "SelectorRemoved": lambda it, _: f"no nodeSelector {_labels(it['labels'])}",
}


def _outcome(each: Json, document: Json) -> str:
    where = f"in {between([short(name) for name in each['domains']])}" if each["domains"] else ""
    where = where or f"on {listed(each['nodes'])}"
    if not each["victims"]:
        return where
    number = sum(one["number"] for one in each["victims"])
    pods = listed([name for one in each["victims"] for name in one["pods"]])
    return f"{counted(number, 'pod')} would go: {pods}{work(each['victims'], document)}"


def needs(document: Json, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return what is to be created or mended before the gang can start."""
    return [Line(_need(each), under=True) for each in document.get("needs", ())]


def _need(each: Json) -> str:
    named: Sequence[str] = [each["object"], *([each["field"]] if each["field"] else [])]
    return f"{', '.join(named)}: {each['value']} ({each['by']})"
