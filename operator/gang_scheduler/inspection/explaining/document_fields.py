"""The document of `explain`: its fields, its JSON, and the names that it hides."""

from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, structs

from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.explaining.first_sentence import Names
from gang_scheduler.inspection.explaining.history import Transition
from gang_scheduler.inspection.explaining.needs import Need
from gang_scheduler.scheduler.explanation.findings import (
    Amount,
    ClassNodes,
    DomainRoom,
    DomainSlots,
    Evictions,
    Explanation,
    Moment,
    NearestNode,
    Part,
    Position,
    Protection,
    QuotaLine,
    Room,
    Start,
    Variant,
    Verdict,
    Victims,
    Where,
)

Json = dict[str, Any]


class Members(Part, frozen=True):
    """How many members a gang has. `needed` is None if its description is missing or invalid."""

    present: int
    needed: int | None
    scheduled: int
    succeeded: int
    failed: int


class Warned(Part, frozen=True):
    """A problem of a gang that does not stop it."""

    reason: str
    message: str


class Span(Part, frozen=True):
    """How many domains of a layer have members."""

    layer: str
    domains: int


class NodeRanks(Part, frozen=True):
    """The ranks of the members on a node."""

    node: str
    ranks: tuple[int, ...]


class Evictable(Part, frozen=True):
    """How many members may be evicted, and the lowest priority that may evict them."""

    pods: int
    protected: int
    from_priority: int
    queue: str | None


class ClaimedDevices(Part, frozen=True):
    """The devices that a claim of a member has, as DRIVER/POOL/DEVICE."""

    pod: str
    claim: str
    devices: tuple[str, ...]


class Running(Part, frozen=True, omit_defaults=True):
    """Where members run, and since when. `evictable` is None if it is not known.

    `devices` are the devices of the members' claims. `replicas_stay` says why the scheduler does
    not change the number of replicas of the workload.
    """

    members: int
    since: Moment | None
    waited_seconds: int | None
    domain: str | None
    spans: tuple[Span, ...]
    ranks: tuple[NodeRanks, ...]
    evictable: Evictable | None
    elastic: Json | None = None
    degraded: str | None = None
    replicas_stay: str | None = None
    devices: tuple[ClaimedDevices, ...] | None = None


class Document(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The answer about a NAME. A part without content is None, and left out of the JSON."""

    api_version: str
    kind: str
    source: Source
    read_at: Moment
    settings_of: str | None
    not_readable: tuple[str, ...] | None = None
    name: str
    workload: str | None = None
    group: tuple[str, ...] | None = None
    queue: str | UnsetType | None = UNSET
    priority: int | None = None
    priority_class: str | UnsetType | None = UNSET
    members: Members | None = None
    waits_seconds: int | UnsetType | None = UNSET
    phase: str | None = None
    state: str
    verdict: Verdict | None
    reason: str | UnsetType | None = UNSET
    summary: str
    warnings: tuple[Warned, ...] | None = None
    lacks: tuple[str, ...] | None = None
    nodes_taken: tuple[str, ...] | None = None
    position: Position | None = None
    start: Start | None = None
    quota: tuple[QuotaLine, ...] | None = None
    where: Where | None = None
    nodes: tuple[ClassNodes, ...] | None = None
    preemption: Evictions | None = None
    needs: tuple[Need, ...] | None = None
    would_start: tuple[Variant, ...] | None = None
    running: Running | None = None
    not_known: tuple[str, ...] | None = None
    history: tuple[Transition, ...] | None = None
    history_lacks: str | None = None


def as_json(part: Part) -> Json:
    """Return a document, or a part of it, as JSON values."""
    made: Json = msgspec.to_builtins(part, enc_hook=_text)
    return made


def _text(value: object) -> str:
    if isinstance(value, Amount | Moment):
        return str(value)
    # msgspec expects this error for types that the hook does not know.
    raise NotImplementedError(type(value))


def hidden(found: Explanation, names: Names) -> Explanation:
    """Return the explanation without names of other namespaces, if the setting hides them."""
    if not names.hides:
        return found
    variants = found.variants
    return replace(
        found,
        start=_start(found.start, names) if found.start is not None else None,
        room=_room(found.room, names) if found.room is not None else None,
        evictions=_evictions(found.evictions, names) if found.evictions is not None else None,
        variants=None if variants is None else tuple(_variant(each, names) for each in variants),
    )


def _start(found: Start, names: Names) -> Start:
    return structs.replace(found, after=_gang(found.after, names))


def _room(found: Room, names: Names) -> Room:
    domains = tuple(_domain(each, names) for each in found.where.domains)
    return replace(found, where=structs.replace(found.where, domains=domains))


def _domain(found: DomainSlots, names: Names) -> DomainSlots:
    if not isinstance(found, DomainRoom) or found.nearest is None:
        return found
    return structs.replace(found, nearest=_nearest(found.nearest, names))


def _nearest(found: NearestNode, names: Names) -> NearestNode:
    holders = (structs.replace(each, gang=_gang(each.gang, names)) for each in found.holders)
    return structs.replace(found, holders=tuple(holders))


def _evictions(found: Evictions, names: Names) -> Evictions:
    known = found.protection
    return structs.replace(
        found,
        victims=_victims(found.victims, names),
        awaited=tuple(names.pods(found.awaited)),
        protection=_protection(known, names) if known is not None else None,
    )


def _protection(found: Protection, names: Names) -> Protection:
    spared = (structs.replace(each, example=_pod(each.example, names)) for each in found.spared_by)
    return structs.replace(
        found,
        nearest=_pod(found.nearest, names),
        spared_by=tuple(spared),
        of_budget=_pod(found.of_budget, names),
    )


def _variant(found: Variant, names: Names) -> Variant:
    return structs.replace(
        found,
        gang=_gang(found.gang, names),
        after=_gang(found.after, names),
        victims=_victims(found.victims, names),
    )


def _victims(found: tuple[Victims, ...], names: Names) -> tuple[Victims, ...]:
    return tuple(
        structs.replace(each, gang=names.gang(each.gang), pods=tuple(names.pods(each.pods)))
        for each in found
    )


def _gang(name: str | None, names: Names) -> str | None:
    return None if name is None else names.gang(name)


def _pod(name: str | None, names: Names) -> str | None:
    return None if name is None else names.pods([name])[0]
