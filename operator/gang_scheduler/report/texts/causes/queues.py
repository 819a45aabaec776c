"""The words for queues that can admit no gang."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.annotations import DEFAULT_QUEUE, QUEUE
from gang_scheduler.model.causes.queues import (
    FieldRefused,
    GangsQueuesDiffer,
    LocalQueueStopped,
    QueueDefault,
    QueueFault,
    QueueNamesDiffer,
    QueueNotNamed,
    QueueUnusable,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

_QUEUE_FAULTS: Final = {
    QueueFault.NOT_FOUND: "{kind} {queue} does not exist",
    QueueFault.NO_LEAF: "{kind} {queue} takes no gangs: it has queues below it",
    QueueFault.NOT_FOR_NAMESPACE: "{kind} {queue} is not for namespace {namespace}",
}


_QUEUE_DEFAULTS: Final = {
    QueueDefault.OF_NAMESPACE: f"annotation {DEFAULT_QUEUE} of namespace {{namespace}}",
    QueueDefault.OF_SETTINGS: "setting defaultQueue",
}


_NAME_A_QUEUE: Final = f"label {QUEUE}"


def _named(name: tuple[str, str]) -> str:
    """Return the kind and the name of an object."""
    return " ".join(name)


def _queue_unusable(cause: QueueUnusable) -> str:
    names = {"kind": cause.kind, "queue": cause.queue, "namespace": cause.namespace}
    words = _QUEUE_FAULTS[cause.fault].format(**names)
    if cause.default is None:
        return words
    return f"{words}; it is the default by {_QUEUE_DEFAULTS[cause.default].format(**names)}"


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            QueueUnusable,
            _queue_unusable,
        ),
        entry(FieldRefused, lambda it: f'{it.field} cannot be "{it.value}"'),
        entry(
            QueueNotNamed,
            lambda it: f"gangs of namespace {it.namespace} must name a queue: {_NAME_A_QUEUE}",
        ),
        entry(
            LocalQueueStopped,
            lambda it: f"LocalQueue {it.name} is stopped: it takes no new gangs",
        ),
        entry(
            QueueNamesDiffer,
            lambda it: f"{_named(it.first)} and {_named(it.second)} are named: name one queue only",
        ),
        entry(
            GangsQueuesDiffer,
            lambda it: (
                f"gangs {it.gangs[0]} and {it.gangs[1]} of one group are in queues "
                f"{it.queues[0]} and {it.queues[1]}: they must be in one"
            ),
        ),
    )
)
