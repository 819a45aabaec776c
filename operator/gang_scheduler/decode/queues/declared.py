"""What queues of all products declare: objects, their fields, and queues that are unreadable."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, TypeVar

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import reader
from gang_scheduler.model import resources
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import (
    NONE,
    Flavor,
    ProvisioningRules,
    Queue,
    QueueKind,
    QueueRef,
    RecentUsage,
)
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.wire.base import Quantity

# Single values of queues. Each function raises InvalidField with the field and the value.

E = TypeVar("E", bound=StrEnum)

_MILLIONTHS: Final = 10**6


def amount(where: str, resource: str, quantity: Quantity) -> int:
    """Return the amount of a resource."""
    try:
        found = resources.amount_of(resource, quantity)
    except ValueError as error:
        raise InvalidField(where, quantity, "must be a quantity") from error
    if found < 0:
        raise InvalidField(where, quantity, "must be at least 0")
    return min(found, resources.MOST_QUOTA)


def amounts(where: str, quantities: Mapping[str, Any] | None) -> dict[str, int]:
    """Return the amounts of several resources."""
    given = (quantities or {}).items()
    return {name: amount(f"{where}.{name}", name, quantity) for name, quantity in given}


def weight(where: str, quantity: Quantity) -> Fraction:
    """Return a weight. A negative weight is readable, but invalid."""
    try:
        return Fraction(resources.parse_quantity(quantity, _MILLIONTHS), _MILLIONTHS)
    except ValueError as error:
        raise InvalidField(where, quantity, "must be a number") from error


def choice(where: str, text: str, allowed: Iterable[E], default: E) -> E:
    """Return one of these words; the default for an empty text."""
    if not text:
        return default
    known = list(allowed)
    found = next((each for each in known if each.value == text), None)
    if found is None:
        raise InvalidField(where, text, f"must be one of {', '.join(known)}")
    return found


def check_weight(where: str, found: Fraction) -> None:
    """Raise InvalidField for a weight below 0."""
    if found < 0:
        raise InvalidField(where, float(found), "must be at least 0")


def problem(error: InvalidField) -> Problem:
    """Return the fault of a queue as a problem."""
    return Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))


# The results of reading queues, flavors and related objects of any product.


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredQueue:
    """An object that declares a queue.

    `names_namespaces`: it lists the namespaces that may use the queue. `notes` are for people:
    fields that have no effect. For our Queues `status` is the last written status, and `recent` the
    usage in it.
    """

    queue: Queue
    gvr: GVR
    names_namespaces: bool = True
    notes: tuple[str, ...] = ()
    generation: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)
    recent: RecentUsage | None = None

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.queue.uid


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredFlavor:
    """A ResourceFlavor."""

    uid: str
    flavor: Flavor


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue: a name in a namespace for a ClusterQueue. `weight` is for usage decay."""

    uid: str
    namespace: str
    name: str
    cluster_queue: QueueRef
    stop: StopPolicy = StopPolicy.NONE
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class WorkloadPriorityClass:
    """A WorkloadPriorityClass."""

    uid: str
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """An AdmissionCheck, with the controller that answers it.

    `notes` are for people: fields that have no effect. `config` is the name of its
    ProvisioningRequestConfig, "" without one.
    """

    uid: str
    name: str
    controller: str
    api_version: str = ""
    notes: tuple[str, ...] = ()
    config: str = ""


@dataclass(frozen=True, slots=True)
class ProvisioningRequestConfig:
    """A ProvisioningRequestConfig: how an AdmissionCheck with it requests nodes."""

    uid: str
    name: str
    rules: ProvisioningRules


# An unreadable queue stays known by name, and is inactive. Without it, gangs would get the message
# that there is no such queue, and the queues below it would lose their place. Its earlier content
# does not count: quota is never guessed.

WhatHolds = Callable[[Mapping[str, Any], InvalidField, DeclaredQueue | None], DeclaredQueue | None]


def unreadable_queue(kind: QueueKind, gvr: GVR) -> WhatHolds:
    """Return the rule for queues that cannot be decoded: an inactive queue of that name.

    None if even the name is unreadable.
    """

    def holds(
        obj: Mapping[str, Any], why: InvalidField, known: DeclaredQueue | None
    ) -> DeclaredQueue | None:
        found = reader.identity(obj)
        ref = QueueRef(kind, found.name)
        if not found.uid or not found.name or ref == NONE:
            return None
        parent = None if known is None else known.queue.parent
        return DeclaredQueue(Queue(ref, found.uid, parent=parent, problem=problem(why)), gvr)

    return holds
