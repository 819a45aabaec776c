"""Keys of labels and annotations that nothing reads: a misspelt key must not be ignored."""

import difflib
from collections.abc import Collection, Iterator
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.fields import field

PREFIXES: Final = ("py-gang-scheduler.io/", "gang.scheduling.koordinator.sh/")
"""Prefixes of which every key is known here."""

LABELS: Final = frozenset({annotations.JOB_GANG_LABEL, annotations.QUEUE})
ANNOTATIONS: Final = frozenset(
    {
        annotations.GANG_NAME,
        annotations.GANG_MIN_AVAILABLE,
        annotations.GANG_GROUPS,
        annotations.GANG_MODE,
        annotations.GANG_MATCH_POLICY,
        annotations.GANG_WAITING_TIME,
        annotations.GANG_TOTAL_NUMBER,
        annotations.GANG_TIMEOUT,
        annotations.NETWORK_TOPOLOGY_SPEC,
        annotations.NETWORK_TOPOLOGY_INDEX,
        annotations.MIN_RUNTIME,
        annotations.PLAN_ID,
        annotations.PLAN_SIZE,
        annotations.PLAN_LEFT_OUT,
        annotations.PLAN_GANGS,
        annotations.PLAN_GANG,
        annotations.QUEUE,
        annotations.FLAVORS,
    }
)
OF_NAMESPACES: Final = frozenset({annotations.DEFAULT_QUEUE})
"""Annotations that are read of Namespaces alone."""


def unknown_labels(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield what is wrong with labels that look like ones of ours, and are not."""
    for key in sorted(present):
        if key.startswith(PREFIXES) and key not in LABELS:
            yield _unknown(label_field(key), key, "an annotation", ANNOTATIONS)


def unknown_annotations(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield what is wrong with annotations that look like ones that are read, and are not."""
    for key in sorted(present):
        if key.startswith(PREFIXES) and key not in ANNOTATIONS:
            yield _unknown(field(key), key, "a label", LABELS)


def label_field(key: str) -> str:
    """Return the field of a label, as in errors."""
    return f"metadata.labels[{key}]"


def _unknown(where: str, key: str, other: str, others: Collection[str]) -> InvalidField:
    if key in others:
        return InvalidField(where, None, f"must be {other}")
    prefix, _, name = key.partition("/")
    names = {each.partition("/")[2]: each for each in LABELS | ANNOTATIONS if prefix in each}
    near = difflib.get_close_matches(name.lower(), sorted(names), n=1)
    hint = f"; did you mean {names[near[0]]}?" if near else ""
    return InvalidField(where, None, f"is unknown{hint}")
