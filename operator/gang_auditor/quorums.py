"""How many members of a gang must be bound together, of each role, and with which other gangs."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gang_auditor import gangs
from gang_auditor.gangs import (
    ANNOTATED,
    JOB,
    JOB_SET,
    NATIVE,
    OURS,
    SCHED_PLUGINS,
    GangName,
)
from gang_auditor.objects import Kind, Pod, mapping
from gang_auditor.watch_events import Object
from gang_auditor.world import World
from gang_scheduler.api import annotations as keys


def group_of(gang: GangName, world: World) -> tuple[GangName, ...]:
    """Return the gangs of the group that a gang's PodGroup names, sorted; all in its namespace."""
    found = world.objects(OURS).latest(gang.object_key) if gang.kind == OURS else None
    annotations = mapping(mapping(found or {}, "metadata"), "annotations")
    try:
        named = msgspec.json.decode(annotations.get(keys.GANG_GROUPS) or "[]", type=list[str])
    except (msgspec.DecodeError, RecursionError):
        named = []
    pairs = [each.partition("/") for each in named]
    mates = {GangName(OURS, space, own) for space, _, own in pairs if space == gang.namespace}
    return tuple(sorted({gang, *mates}))


def quorums(gang: GangName, world: World, begin: float, end: float) -> set[int]:
    """Return the quorums that a gang had around a time; an empty set if nothing declares one."""
    if gang.kind == ANNOTATED:
        return set(_annotated(world.members(gang))) or _sum_of_roles(gang, world, begin, end)
    if gang.kind in gangs.BY_DEFAULT:
        return _of_others(gang, world, begin, end)
    if gang.kind == JOB_SET:
        jobs = [each for each in world.objects(JOB) if _is_part(each, gang)]
        return {sum(filter(None, map(_of_job, jobs)))} if jobs else set()
    numbers = (_of_object(gang.kind, each) for each in _objects(gang, world, begin, end))
    return {number for number in numbers if number is not None}


def minima(gang: GangName, world: World, begin: float, end: float) -> Mapping[str, int]:
    """Return how many members of each role must be bound together; {} without roles.

    Also return {} if these numbers changed around that time.
    """
    if gang.kind in gangs.KUBEFLOW:
        found = [gangs.minima_of(gang.kind, each) for each in _objects(gang, world, begin, end)]
    elif gang.kind == ANNOTATED:
        found = [_roles(each.annotations) for each in world.members(gang)]
    elif gang.kind == OURS:
        objects = _objects(gang, world, begin, end)
        found = [_roles(mapping(mapping(e, "metadata"), "annotations")) for e in objects]
    else:
        return {}
    return found[0] if found and all(each == found[0] for each in found) else {}


def _sum_of_roles(gang: GangName, world: World, begin: float, end: float) -> set[int]:
    return {sum(minima(gang, world, begin, end).values())} - {0}


def _of_others(gang: GangName, world: World, begin: float, end: float) -> set[int]:
    if gang.kind in gangs.KUBEFLOW:
        return _sum_of_roles(gang, world, begin, end)
    said = gangs.said_by(world.members(gang), gang.kind)
    return set() if said is None else {said}


def _objects(gang: GangName, world: World, begin: float, end: float) -> list[Object]:
    """Return the versions that the object of a gang had around a time."""
    for kind in (OURS, SCHED_PLUGINS) if gang.kind == OURS else (gang.kind,):
        versions = world.objects(kind).between(gang.object_key, begin, end)
        if found := [each for each in versions if each]:
            return found
    return []


def _roles(present: Mapping[str, str]) -> dict[str, int]:
    try:
        return msgspec.json.decode(present.get(keys.ROLES) or "{}", type=dict[str, int])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _annotated(members: Iterable[Pod]) -> Iterator[int]:
    for pod in members:
        text = pod.annotations.get(keys.GANG_MIN_AVAILABLE)
        text = text or pod.labels.get(keys.GANG_MIN_AVAILABLE_LABEL)
        if text and text.isdecimal():
            yield int(text)


def _of_object(kind: Kind, found: Object) -> int | None:
    if kind == JOB:
        return _of_job(found)
    spec = mapping(found, "spec")
    policy = mapping(mapping(spec, "schedulingPolicy"), "gang")
    number = policy.get("minCount") if kind == NATIVE else spec.get("minMember")
    return number if isinstance(number, int) else None


def _of_job(job: Object) -> int | None:
    spec = mapping(job, "spec")
    parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
    if completions is None:
        return int(parallelism)
    left = completions - (mapping(job, "status").get("succeeded") or 0)
    return int(min(parallelism, left))


def _is_part(job: Object, gang: GangName) -> bool:
    metadata = mapping(job, "metadata")
    labels = mapping(metadata, "labels")
    return (metadata.get("namespace"), labels.get(keys.JOB_SET_LABEL)) == (
        gang.namespace,
        gang.name,
    ) and labels.get(keys.REPLICATED_JOB_LABEL) == gang.part
