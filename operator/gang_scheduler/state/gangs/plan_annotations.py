"""The annotations of bound members, which describe the plan by which they were bound.

Every plan of this scheduler contains a whole quorum. So a gang that is bound in part has one of two
causes. Either a crash interrupted the plan: the unbound members wait since before the first
binding. Or all members were bound, and some are gone.
"""

import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.model import refs
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.provisioning import ProvisioningRequest
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.queues import names


class Mark(NamedTuple):
    """The annotations of a binding about its plan: how many members it binds or leaves out.

    `gangs` is the number of gangs that start together. An empty `plan` means that another writer
    bound the pod.
    """

    plan: str = ""
    size: int = 0
    left_out: int = 0
    gangs: int = 1


class Progress(enum.Enum):
    """The progress of the plans of a partly bound gang."""

    UNFINISHED = "unfinished"
    """Members of the plan still wait to be bound."""
    FINISHED = "finished"
    """All members of the plan were bound: a member that is missing was lost later."""


def marks_of(placed: Placed, plan_id: str) -> Mapping[str, str]:
    """Return the annotations of the bindings of a gang."""
    size = len(placed.binds)
    marks = {annotations.PLAN_ID: plan_id, annotations.PLAN_SIZE: str(size)}
    if placed.gang.key.source != refs.SINGLE.name:
        marks[annotations.PLAN_GANG] = _called(placed.gang.key)
    if left_out := len(placed.gang.pending) - size:
        marks[annotations.PLAN_LEFT_OUT] = str(left_out)
    if len(placed.together) > 1:
        marks[annotations.PLAN_GANGS] = str(len(placed.together))
    return marks


def charges_of(gang: Gang, bind: Bind) -> Mapping[str, str]:
    """Return the annotations with the queue and flavors of a binding; none without queues."""
    if gang.queue is None:
        return {}
    queue = {annotations.QUEUE: names.annotation_of(gang.queue)}
    if not bind.flavors:
        return queue
    flavors = msgspec.json.encode(dict(bind.flavors), order="sorted").decode()
    return {**queue, annotations.FLAVORS: flavors}


def bought_by(request: ProvisioningRequest | None) -> Mapping[str, str]:
    """Return the annotations that make an autoscaler recognize pods for nodes it provisioned."""
    if request is None:
        return {}
    return {
        annotations.CONSUMES_REQUEST: request.name,
        annotations.CONSUMES_REQUEST_FORMERLY: request.name,
        annotations.CONSUMES_CLASS: request.class_name,
    }


def mark_of(pod: Pod) -> Mark:
    """Return the mark that the binding wrote on a pod.

    The mark is empty if it cannot be read, or if the pod was bound as a member of another gang.
    """
    present = pod.annotations
    gang = present.get(annotations.PLAN_GANG)
    if gang is not None and gang != _called(pod.gang):
        return Mark()
    try:
        return Mark(
            present.get(annotations.PLAN_ID, ""),
            int(present.get(annotations.PLAN_SIZE, "0")),
            int(present.get(annotations.PLAN_LEFT_OUT, "0")),
            int(present.get(annotations.PLAN_GANGS, "1")),
        )
    except ValueError:
        return Mark()


def _called(gang: GangKey) -> str:
    """Return the name of a gang as other gangs of its namespace write it."""
    return f"{gang.source}/{gang.name}"


def began_at(living: Iterable[Pod]) -> int:
    """Return the moment of the first binding of these pods, in epoch seconds; 0: unknown."""
    return min((pod.scheduled_at for pod in living if _is_bound(pod)), default=0)


def progress_of(living: Sequence[Pod]) -> Progress | None:
    """Return the progress of the plans by which the living members of a gang were bound.

    None: no plan is known, and no member was left behind.
    """
    bound: dict[Mark, list[Pod]] = defaultdict(list)
    for pod in living:
        if _is_bound(pod):
            bound[mark_of(pod)].append(pod)
    if any(_is_unfinished(mark, pods, living) for mark, pods in bound.items()):
        return Progress.UNFINISHED
    return Progress.FINISHED if any(mark.plan for mark in bound) else None


def is_left_behind(waiting: Iterable[Pod], started: Iterable[Sequence[Pod]]) -> bool:
    """Return whether other gangs have started that should have started together with this one.

    `waiting` are its members, `started` the living members of each gang that has started.
    """
    together = [[pod for pod in each if mark_of(pod).gangs > 1] for each in started]
    together = [pods for pods in together if pods]
    if not together:
        return False
    gangs = max(mark_of(pod).gangs for pods in together for pod in pods)
    began = min(map(began_at, together))
    return len(together) < gangs and any(pod.created_at <= began for pod in waiting)


def _is_unfinished(mark: Mark, bound: Sequence[Pod], living: Iterable[Pod]) -> bool:
    """Return whether members of a plan still wait.

    This is so if more waiting members are older than the first binding than the plan left out.
    """
    if mark.plan and len(bound) >= mark.size:
        return False
    began = began_at(bound)
    waiting = sum(1 for pod in living if not _is_bound(pod) and pod.created_at <= began)
    return waiting > mark.left_out


def _is_bound(pod: Pod) -> bool:
    return bool(pod.node and pod.scheduled_at) and not pod.assumed
