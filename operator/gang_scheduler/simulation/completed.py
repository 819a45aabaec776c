"""Objects with what manifests leave open: an age, and a schedulerName."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.suspended_workloads import VirtualGang
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation import (
    defaults,
)
from gang_scheduler.simulation.found import Body, SchedulerNames


def with_age(noun: object, body: Body, created_at: float) -> object:
    """Return the object with an age: one without a time is younger than all that have one.

    All such objects are created within one second, in their order, so their age only breaks ties.
    """
    if defaults.creation_time(body) is not None:
        return noun
    if isinstance(noun, GangObject):
        return _aged_gangs(noun, created_at)
    if isinstance(noun, DeclaredQueue):
        return replace(noun, queue=replace(noun.queue, created_at=created_at))
    return _aged(noun, created_at) if isinstance(noun, Pod) else noun


def with_scheduler(noun: object, scheduler_names: SchedulerNames) -> object:
    """Return a workload that waits suspended with the schedulerName that its templates lack."""
    if not isinstance(noun, GangObject):
        return noun
    name = scheduler_names.of(noun.uid)
    return _with_members(noun, lambda pod: replace(pod, scheduler=pod.scheduler or name))


def _with_members(noun: GangObject, change: Callable[[Pod], Pod]) -> GangObject:
    """Return a workload with each member changed that it would have."""
    said, made = noun.suspended, noun.part
    if said is not None and said.gangs:
        said = replace(said, gangs=_changed(said.gangs, change))
    if made is not None and made.gangs:
        made = made._replace(gangs=_changed(made.gangs, change))
    return replace(noun, suspended=said, part=made)


def _changed(gangs: Iterable[VirtualGang], change: Callable[[Pod], Pod]) -> tuple[VirtualGang, ...]:
    """Return the gangs of a workload with each member changed that it would have."""
    return tuple(
        each._replace(pods=each.pods.with_prototypes([*map(change, each.pods.prototypes)]))
        for each in gangs
    )


def _aged_gangs(noun: GangObject, created_at: float) -> GangObject:
    specs, by_default = (
        None if each is None else tuple(replace(it, created_at=created_at) for it in each)
        for each in (noun.gang_specs, noun.by_default)
    )
    noun = replace(noun, gang_specs=specs or (), by_default=by_default)
    return _with_members(noun, lambda pod: _aged(pod, created_at))


def _aged(pod: Pod, created_at: float) -> Pod:
    return replace(pod, created_at=created_at, dated=False)
