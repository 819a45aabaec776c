"""The queue that pods, and objects that describe gangs, name for their gang.

In a cluster without queues nearly all pods name none, which is determined without checking each of
their keys.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model import records
from gang_scheduler.model.refs import ChargedTo, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.model.wording import field

LABELS: Final = {
    annotations.QUEUE: QueueNameKind.QUEUE,
    annotations.KUEUE_QUEUE: QueueNameKind.LOCAL_QUEUE,
    annotations.VOLCANO_QUEUE: QueueNameKind.VOLCANO_QUEUE,
    annotations.VOLCANO_QUEUE_SHORT: QueueNameKind.VOLCANO_QUEUE,
}
"""The labels that name a queue; the first one counts first."""
_ANNOTATIONS: Final = {key: kind for key, kind in LABELS.items() if key != annotations.QUEUE}
"""The annotations that name a queue; ours says to which queue a pod is charged."""
_CONSUMING: Final = frozenset({annotations.CONSUMES_REQUEST, annotations.CONSUMES_REQUEST_FORMERLY})
_TELLING: Final = frozenset(
    {*LABELS, annotations.KUEUE_PRIORITY_CLASS, annotations.PROVISIONING_CLASS, *_CONSUMING}
)
_BINDING: Final = frozenset({annotations.QUEUE, annotations.FLAVORS})


def request_of(labels: Mapping[str, str], present: Mapping[str, str]) -> QueueRequest | None:
    """Return the request for a queue in labels and annotations; None without one."""
    if _TELLING.isdisjoint(labels) and _TELLING.isdisjoint(present):
        return None
    names = tuple(dict.fromkeys(_names(labels, present)))
    request = _shared(
        *(names, labels.get(annotations.KUEUE_PRIORITY_CLASS, "")),
        provisioning_class=present.get(annotations.PROVISIONING_CLASS, ""),
        consumes=not _CONSUMING.isdisjoint(present),
    )
    return request if any(request) else None


def names_a_queue(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata mention a queue."""
    said = (metadata.get("labels") or {}, metadata.get("annotations") or {})
    return any(not _TELLING.isdisjoint(each) for each in said)


def charged_to(present: Mapping[str, str]) -> ChargedTo | None:
    """Return the charge that the annotations of a binding record; None without one.

    An invalid record counts as none: the pod runs, and its other fields decide the charge.
    """
    if _BINDING.isdisjoint(present):
        return None
    return _charged_to(present.get(annotations.QUEUE, ""), present.get(annotations.FLAVORS, ""))


def misplaced(labels: Mapping[str, str], present: Mapping[str, str]) -> InvalidField | None:
    """Return the fault of an annotation with our queue's name, unless a label repeats it.

    Next to the annotation `admitted-at` it is no fault: the scheduler wrote both on admission.
    """
    if annotations.QUEUE not in present or annotations.QUEUE in labels:
        return None
    if annotations.ADMITTED_AT in present:
        return None
    return InvalidField(field(annotations.QUEUE), None, "must be a label")


def _names(labels: Mapping[str, str], present: Mapping[str, str]) -> Iterator[QueueName]:
    for written, known in ((labels, LABELS), (present, _ANNOTATIONS)):
        for key, kind in known.items():
            if name := written.get(key):
                yield QueueName(kind, name)


@records.by_short_texts(4096)
def _shared(
    names: tuple[QueueName, ...],
    priority_class: str,
    *,
    provisioning_class: str,
    consumes: bool,
) -> QueueRequest:
    """Return the same object for all pods that say the same."""
    return QueueRequest(names, priority_class, provisioning_class, consumes)


@records.by_short_texts(4096)
def _charged_to(queue: str, flavors: str) -> ChargedTo:
    return ChargedTo(queue, _flavors(flavors))


def _flavors(text: str) -> tuple[tuple[str, str], ...]:
    if not text:
        return ()
    try:
        found = msgspec.json.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ()
    return tuple(sorted(found.items()))
