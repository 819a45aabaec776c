"""Keys of labels and annotations that nothing reads, misspelt ones and those of other products.

They are written for a purpose, and must not be ignored.
"""

import difflib
import functools
import itertools
import operator
from collections.abc import Collection, Iterable, Iterator
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
        annotations.EXPECTED_DURATION,
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
CLOSE_ENOUGH: Final = 0.95
"""How like a whole field must be: Kueue may have others of this prefix some day."""
POD_GROUP_PREFIX: Final = "pod-group.scheduling.sigs.k8s.io/"
"""Prefix of labels that name a gang without a PodGroup. Other keys with it are not read."""
POD_GROUP_LABELS: Final = frozenset(
    {annotations.GANG_NAME_LABEL, annotations.GANG_MIN_AVAILABLE_LABEL}
)
FOREIGN: Final = {
    "scheduling.k8s.io/group-name": "Volcano",
    "scheduling.volcano.sh/group-name": "Volcano",
    "pod-group-name": "KAI-Scheduler",
}
"""What other products call the PodGroup of a pod, and which products these are."""
_OF_POD_GROUPS: Final = frozenset({"podgroup", "podgroupname", "group", "groupname"})
"""What the name of a PodGroup may be called, without dashes."""
_NEAR: Final = (
    annotations.POD_GROUP_LABEL,
    annotations.POD_GROUP_LABEL_SCHED_PLUGINS,
    *sorted(POD_GROUP_LABELS | LABELS | ANNOTATIONS | annotations.PODSET_KEYS),
)
"""Keys that others may be misspellings of."""
_LOOKED_AT: Final = (*PREFIXES, POD_GROUP_PREFIX, annotations.KUEUE_PODSET_PREFIX)
"""Prefixes of keys that are looked at one by one: here, and among the requests of podsets."""
_NOT_MISSPELT: Final = frozenset(
    {*_NEAR, *FOREIGN, "kueue.x-k8s.io/pod-group-name", "scheduling.k8s.io/pod-group"}
)
"""Keys that are read, and those near them that others read."""
_MOST_CHANGED, _MOST_LEFT_OUT = 3, 5
# Koordinator reads this as an annotation, and others as a label.
_READ_INSTEAD: Final = {f"{POD_GROUP_PREFIX}match-policy": annotations.GANG_MATCH_POLICY}


def unknown_labels(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield what is wrong with labels that look like ones of ours, and are not."""
    for key in sorted(present):
        if key.startswith(PREFIXES) and key not in LABELS:
            yield _unknown(label_field(key), key, "an annotation", ANNOTATIONS)
        elif meant := meant_by(key):
            yield _misspelt(label_field(key), meant)


def unknown_annotations(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield what is wrong with annotations that look like ones that are read, and are not."""
    for key in sorted(present):
        if key.startswith(PREFIXES) and key not in ANNOTATIONS:
            yield _unknown(field(key), key, "a label", LABELS)
        elif meant := meant_by(key):
            yield _misspelt(field(key), meant)


@functools.lru_cache(maxsize=4096)
def meant_by(key: str) -> str:
    """Return the key that is read and that this one misspells at one place, "" for none.

    Remembered, as most pods have the same keys; linear in the length of a key otherwise.
    """
    if key in _NOT_MISSPELT or key.startswith(_LOOKED_AT):
        return ""
    return next((each for each in _NEAR if _is_near(key, each)), "")


def not_read(labels: Collection[str], present: Collection[str]) -> Iterator[InvalidField]:
    """Yield the labels and annotations beside those that name a gang without a PodGroup."""
    for key in sorted(labels):
        if key.startswith(POD_GROUP_PREFIX) and key not in POD_GROUP_LABELS:
            yield _not_read(label_field(key), key)
    for key in sorted(present):
        if key.startswith(POD_GROUP_PREFIX):
            yield _not_read(field(key), key)


def misplaced_podset(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield the annotations of a PodGroup that are read of pods alone, as Kueue defines them."""
    for key in sorted(present):
        if key.startswith(annotations.KUEUE_PODSET_PREFIX):
            yield InvalidField(field(key), None, "belongs in the annotations of the pod template")


def foreign(labels: Collection[str], present: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the fields by which other products name a gang, each with its product."""
    for key, product in FOREIGN.items():
        if key in present:
            yield field(key), product
        if key in labels:
            yield label_field(key), product


def near_podset(where: str) -> str:
    """Return which annotation of Kueue's was meant by an unknown one's field; "" for none."""
    known = {field(key): key for key in annotations.PODSET_KEYS}
    near = difflib.get_close_matches(where, sorted(known), n=1, cutoff=CLOSE_ENOUGH)
    return known[near[0]] if near else ""


def label_field(key: str) -> str:
    """Return the field of a label, as in errors."""
    return f"metadata.labels[{key}]"


def _not_read(where: str, key: str) -> InvalidField:
    other = _READ_INSTEAD.get(key)
    hint = f": write the annotation {other}" if other else ""
    if key in POD_GROUP_LABELS:
        hint = ": write it as a label"
    elif not hint:
        hint = _instead(key)
    return InvalidField(where, None, f"is not read{hint}")


def _instead(key: str) -> str:
    """Return which key to write instead: that of a PodGroup's name for what is called like one."""
    name = key.removeprefix(POD_GROUP_PREFIX)
    plain = "".join(filter(str.isalnum, name.lower()))
    if plain in _OF_POD_GROUPS:
        return f": write the label {annotations.POD_GROUP_LABEL}"
    names = {each.removeprefix(POD_GROUP_PREFIX): each for each in POD_GROUP_LABELS}
    near = difflib.get_close_matches(name.lower(), sorted(names), n=1)
    if near:
        return f"; did you mean {names[near[0]]}?"
    return f": {annotations.POD_GROUP_LABEL} names a PodGroup"


def _is_near(key: str, other: str) -> bool:
    """Return whether keys differ at one place only, and there by little or by a part left out."""
    if not -_MOST_LEFT_OUT <= len(key) - len(other) <= _MOST_CHANGED:
        return False
    start = _common(key, other)
    key, other = key[start:], other[start:]
    end = _common(key[::-1], other[::-1])
    changed, left_out = len(key) - end, len(other) - end
    return left_out <= (_MOST_CHANGED if changed else _MOST_LEFT_OUT) and changed <= _MOST_CHANGED


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """Return how many characters are the same from the beginning on."""
    return sum(1 for _ in itertools.takewhile(bool, map(operator.eq, one, other)))


def _misspelt(where: str, meant: str) -> InvalidField:
    return InvalidField(where, None, f"is unknown; did you mean {meant}?")


def _unknown(where: str, key: str, other: str, others: Collection[str]) -> InvalidField:
    if key in others:
        return InvalidField(where, None, f"must be {other}")
    prefix, _, name = key.partition("/")
    names = {each.partition("/")[2]: each for each in LABELS | ANNOTATIONS if prefix in each}
    near = difflib.get_close_matches(name.lower(), sorted(names), n=1)
    hint = f"; did you mean {names[near[0]]}?" if near else ""
    return InvalidField(where, None, f"is unknown{hint}")
