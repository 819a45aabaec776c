"""The parts of an explanation, as JSON values. A part that says nothing is left out."""

from collections.abc import Iterable
from typing import Any, Final

from gang_scheduler.inspection.explaining import needs, sentences
from gang_scheduler.inspection.explaining.sentences import Names, taint_text
from gang_scheduler.model.queues import QueueKind
from gang_scheduler.model.reasons import Turn
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.scheduler.explanation.findings import (
    Change,
    ClassNodes,
    DomainRoom,
    Evictions,
    Explanation,
    NearestNode,
    Position,
    Protection,
    QueueRights,
    QuotaLine,
    Raised,
    Start,
    StartBasis,
    Variant,
    Verdict,
    Victims,
    Where,
)

Json = dict[str, Any]

VERDICTS: Final = {
    Verdict.NOTHING_WAITS: None,
    Verdict.STARTS: "Starts",
    Verdict.MAKES_ROOM: "MakesRoom",
    Verdict.WAITS: "Waits",
}
BASES: Final = {
    StartBasis.RESERVED: "Reserved",
    StartBasis.ENDS: "Ends",
    StartBasis.NEVER: "Never",
}
CHANGES: Final = {
    Change.FEWER_MEMBERS: "FewerMembers",
    Change.SOFTER_LAYER: "SofterLayer",
    Change.HIGHER_PRIORITY: "HigherPriority",
    Change.RUN_TIMES_OVER: "RunTimesOver",
    Change.OTHER_FLAVOR: "OtherFlavor",
    Change.NEXT_END: "NextEnd",
    Change.MORE_QUOTA: "MoreQuota",
    Change.LESS_ASKED: "LessAsked",
    Change.TAINTS_TOLERATED: "TaintsTolerated",
    Change.SELECTOR_REMOVED: "SelectorRemoved",
}
BY: Final = {
    **dict.fromkeys(Change, Turn.SUBMITTER.value),
    Change.MORE_QUOTA: Turn.QUEUE_ADMIN.value,
    Change.RUN_TIMES_OVER: None,
    Change.NEXT_END: None,
}
"""Which role makes a change; None for what only takes time."""
PROMISES: Final = {
    QueueKind.CLUSTER_QUEUE: ("nominalQuota",),
    QueueKind.COHORT: ("nominalQuota",),
    QueueKind.VOLCANO_QUEUE: ("spec.deserved", "spec.capability"),
    QueueKind.QUEUE: ("spec.quota.soft", "spec.quota.hard"),
}
"""In which field a queue is promised quota; the second one limits it."""


def parts_of(found: Explanation, names: Names) -> Json:
    """Return all parts that say something."""
    made: Json = {}
    if found.beside is not None:
        made["lacks"] = ["Room", "Quota"] if found.beside.first else ["Quota", "Room"]
    if found.nodes_taken:
        made["nodesTaken"] = list(found.nodes_taken)
    if found.position is not None:
        made["position"] = _position(found.position)
    if found.start is not None:
        made["start"] = _start(found.start, names)
    if found.quota:
        made["quota"] = [_quota(each) for each in found.quota]
    if found.where is not None:
        made["where"] = _where(found.where, names)
    if found.nodes:
        made["nodes"] = [_nodes(each) for each in found.nodes]
    if found.evictions is not None and found.verdict is not Verdict.STARTS:
        made["preemption"] = _evictions(found.evictions, names)
    return made | _help(found, names)


def _help(found: Explanation, names: Names) -> Json:
    """Return what is to be mended, and the changes that would start the gang."""
    made: Json = {}
    if found.verdict is Verdict.WAITS and (needed := needs.of(found)):
        made["needs"] = [
            {
                "object": each.object,
                "field": each.field or None,
                "value": each.value,
                "by": each.by.value,
            }
            for each in dict.fromkeys(needed)
        ]
    if found.variants is not None:
        made["wouldStart"] = [variant_of(each, names) for each in found.variants]
    return made


def path_of(domain: Domain) -> str:
    """Return a domain by its layer and its whole path."""
    return str(domain)


def _position(found: Position) -> Json:
    return {
        "queue": found.queue.name if found.queue is not None else None,
        "place": found.place,
        "of": found.of,
        "placeInCluster": found.place_in_all,
        "ofCluster": found.of_all,
        "ahead": {name: quantity_of(name, number) for name, number in found.ahead if number},
        "neverStart": found.never,
    }


def _start(found: Start, names: Names) -> Json:
    return {
        "basis": BASES[found.basis],
        "at": None if found.at is None else rfc3339(found.at),
        "after": None if found.after is None else names.gang(found.after),
    }


def _quota(found: QuotaLine) -> Json:
    flavor, resource = found.key
    return {
        "queue": found.queue.name,
        "flavor": flavor,
        "resource": resource,
        "nominal": quantity_of(resource, found.nominal),
        "used": quantity_of(resource, found.used - found.ahead),
        "ahead": quantity_of(resource, found.ahead),
        "borrowed": quantity_of(resource, found.borrowed),
        "adds": quantity_of(resource, found.adds),
        "borrows": quantity_of(resource, found.borrows),
        "available": None if found.available is None else quantity_of(resource, found.available),
        "short": quantity_of(resource, found.short),
        "heldBy": [
            {"queue": queue.name, "borrowed": quantity_of(resource, amount)}
            for queue, amount in found.holders
        ],
    }


def _where(found: Where, names: Names) -> Json:
    return {
        "layer": found.layer or None,
        "must": found.must,
        "needed": found.needed,
        "atMost": found.at_most,
        "domains": [
            *(_room(each, names) for each in found.explained),
            *({"domain": path_of(domain), "slots": slots} for domain, slots in found.others),
        ],
    }


def _room(found: DomainRoom, names: Names) -> Json:
    return {
        "domain": path_of(found.domain) if found.domain is not None else None,
        "slots": found.slots,
        "nodes": found.nodes,
        "filled": found.filled,
        "nearest": _nearest(found.nearest, names) if found.nearest is not None else None,
        "rejections": [{"reason": words, "nodes": n} for words, n in found.rejections],
    }


def _nearest(found: NearestNode, names: Names) -> Json:
    return {
        "node": found.node,
        "resource": found.resource,
        "free": quantity_of(found.resource, found.free),
        "asked": quantity_of(found.resource, found.asked),
        "beside": found.beside,
        "holders": [
            {
                "gang": None if each.gang is None else names.gang(each.gang),
                "amount": quantity_of(found.resource, each.amount),
                "pods": each.pods,
            }
            for each in found.holders
        ],
    }


def _nodes(found: ClassNodes) -> Json:
    return {
        "pod": found.pod,
        "pods": found.pods,
        "nodes": found.nodes,
        "fitting": found.fitting,
        "reasons": [
            {"reason": each.words, "nodes": each.nodes, "some": list(each.some)}
            for each in found.reasons
        ],
        "selectors": [
            {
                "key": each.key,
                "value": each.value,
                "nodes": each.nodes,
                "others": [{"value": value, "nodes": n} for value, n in each.others],
            }
            for each in found.hints
        ],
    }


def _evictions(found: Evictions, names: Names) -> Json:
    outcome = found.outcome
    protection = found.protection
    return {
        "verdict": None if outcome is None else outcome.verdict.name.title().replace("_", ""),
        "message": sentences.of_preemption(found) or None,
        "victims": victims_of(found.victims, names),
        "leaving": found.leaving,
        "awaited": names.pods(found.awaited),
        "queueForbids": found.queue_forbids,
        "switchedOff": found.switched_off,
        "protection": None if protection is None else _protection(protection, names),
        "rights": None if found.rights is None else _rights(found.rights),
    }


def _rights(found: QueueRights) -> Json:
    return {
        "queue": found.queue.name,
        "ownPods": found.own,
        "ownLower": found.own_lower,
        "borrowing": found.borrowing,
        "goesOver": found.goes_over,
        "reclaims": found.reclaims,
    }


def _protection(found: Protection, names: Names) -> Json:
    return {
        "pods": found.pods,
        "ranked": found.ranked,
        "lowestOfRanked": found.lowest,
        "protected": found.protected,
        "lower": found.lower,
        "nearest": _one(found.nearest, names),
        "sparedBy": [
            {"reason": each.why.value, "pods": each.pods, "example": _one(each.example, names)}
            for each in found.spares
        ],
        "underBudget": found.under_budget,
        "ofBudget": _one(found.of_budget, names),
    }


def _one(pod: str, names: Names) -> str | None:
    """Return the name of a pod; None for none."""
    return next(iter(names.pods([pod])), None) if pod else None


def victims_of(found: Iterable[Victims], names: Names) -> list[Json]:
    """Return victims gang by gang; of hidden gangs no names."""
    return [
        {
            "gang": names.gang(each.gang),
            "pods": names.pods(each.pods),
            "number": len(each.pods),
            "nodes": list(each.nodes),
            "priority": each.priority,
            "since": rfc3339(each.since) if each.since else None,
            "class": each.by_right_of.shown if each.by_right_of is not None else None,
        }
        for each in found
    ]


def _raised(found: Raised) -> Json:
    flavor, resource = found.key
    promise, *limits = PROMISES[found.queue.kind]
    over = found.limit is not None and found.limit < found.promised
    return {
        "kind": found.queue.kind.value,
        "queue": found.queue.name,
        "flavor": flavor,
        "resource": resource,
        "amount": quantity_of(resource, found.promised),
        "insteadOf": quantity_of(resource, found.instead_of),
        "fields": [promise, *(limits if over else ())],
    }


def variant_of(found: Variant, names: Names) -> Json:
    """Return a change with which the gang starts."""
    return {
        "change": CHANGES[found.change],
        "number": found.number if found.of or found.change is Change.HIGHER_PRIORITY else None,
        "of": found.of or None,
        "gang": None if found.gang is None else names.gang(found.gang),
        "layer": found.layer or None,
        "after": None if found.end is None else names.gang(found.end),
        "at": None if found.at is None else rfc3339(found.at),
        "labels": dict(found.labels),
        "taints": [taint_text(each) for each in found.taints],
        "quotas": [_raised(each) for each in found.raised],
        "requests": [
            {
                "resource": each.resource,
                "amount": quantity_of(each.resource, each.asked),
                "insteadOf": quantity_of(each.resource, each.instead_of),
            }
            for each in found.lowered
        ],
        "by": BY[found.change],
        "nodes": list(found.nodes),
        "domains": [path_of(each) for each in found.domains],
        "victims": victims_of(found.victims, names),
    }
