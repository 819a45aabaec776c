"""The known keys of labels and annotations, and hints on misspelt and other keys without effect.

Users write them for a purpose, so they must not be ignored silently.
"""

import itertools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import foreign_marks
from gang_scheduler.model import records, refs, similar_names
from gang_scheduler.model.wording import field, label_field
from gang_scheduler.wire import base

PREFIXES: Final = ("py-gang-scheduler.io/", "gang.scheduling.koordinator.sh/")
"""Prefixes of this scheduler and of Koordinator. Any other key with them is an error."""

LABELS: Final = frozenset(
    {
        annotations.JOB_GANG_LABEL,
        annotations.QUEUE,
        annotations.ROLE,
        annotations.SUBMITTED,
        annotations.USER,
    }
)
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
        annotations.PROVISIONING_CLASS,
        annotations.PROVISIONED_GANG,
        annotations.PROVISIONED_GANG_UID,
        annotations.PROVISIONING_DIGEST,
        annotations.PROVISIONING_ATTEMPT,
        annotations.FORCE_DELETE_STUCK_PODS,
        annotations.PLAN_ID,
        annotations.PLAN_SIZE,
        annotations.PLAN_LEFT_OUT,
        annotations.PLAN_GANGS,
        annotations.PLAN_GANG,
        annotations.ADMITTED_AT,
        annotations.ADMITTED_FROM,
        annotations.ADMITTED_TO,
        annotations.ROLES,
        annotations.ELASTIC,
        annotations.ELASTIC_STATE,
        annotations.QUEUE,
        annotations.FLAVORS,
        annotations.CHECKPOINT,
        annotations.CHECKPOINT_TIMEOUT,
        annotations.CHECKPOINT_PORT,
        annotations.CHECKPOINT_PATH,
        annotations.CHECKPOINT_REQUESTED_AT,
        annotations.CHECKPOINT_REQUEST_ID,
        annotations.CHECKPOINT_DONE_AT,
        annotations.CHECKPOINT_STEP,
        annotations.CHECKPOINT_LATEST,
        annotations.RESUME_PATH,
        annotations.RESUME_STEP,
        annotations.RESUME_COUNT,
    }
)
OF_NAMESPACES: Final = frozenset({annotations.DEFAULT_QUEUE})
"""Annotations that are read only on Namespaces."""
OF_LEASES: Final = frozenset({annotations.SET_ASIDE})
"""Annotations that are read only on our Lease."""
OF_CLAIMS: Final = frozenset({annotations.ALLOCATED})
"""Annotations that are read only on ResourceClaims."""
POD_GROUP_PREFIX: Final = "pod-group.scheduling.sigs.k8s.io/"
"""Prefix of labels that name a gang without a PodGroup. Other keys with it are not read."""
POD_GROUP_LABELS: Final = frozenset(
    {annotations.GANG_NAME_LABEL, annotations.GANG_MIN_AVAILABLE_LABEL}
)
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
VOLCANO_GROUPS: Final = (VOLCANO_GROUP, "scheduling.volcano.sh/group-name")
"""Annotations that name a pod's PodGroup for Volcano."""
FOREIGN: Final = foreign_marks.NAMING
"""The keys that name the gang of a pod for other products, with these products."""
POD_GROUP_NAMES: Final = frozenset(
    {annotations.POD_GROUP_LABEL, annotations.POD_GROUP_LABEL_SCHED_PLUGINS}
)
"""Labels that name the PodGroup of a pod."""
_ONLY_LABELS: Final = POD_GROUP_NAMES | {annotations.KUEUE_POD_GROUP}
_ONLY_ANNOTATIONS: Final = annotations.PODSET_KEYS | {annotations.KUEUE_POD_GROUP_TOTAL}
"""Keys of other products that are read in one of the two places."""
OPTIONS: Final = frozenset(
    {
        annotations.GANG_GROUPS,
        annotations.GANG_MODE,
        annotations.GANG_MATCH_POLICY,
        annotations.GANG_WAITING_TIME,
        annotations.GANG_TOTAL_NUMBER,
    }
)
"""Annotations on how a gang is scheduled. Without a gang they have no effect."""
ON_A_POD_GROUP: Final = (
    "belongs on a PodGroup of scheduling.sigs.k8s.io that the pods name in the label "
    f"{annotations.POD_GROUP_LABEL}"
)
_AS_ON_POD_GROUP: Final = "must be absent, or the same as on the PodGroup"
OPTIONS_BELONG: Final = {
    refs.POD_GROUP.name: _AS_ON_POD_GROUP,
    refs.NATIVE.name: _AS_ON_POD_GROUP,
    refs.VOLCANO_POD_GROUP.name: _AS_ON_POD_GROUP,
    refs.JOB.name: ON_A_POD_GROUP,
    refs.JOB_SET.name: ON_A_POD_GROUP,
}
"""What a message asks for if options are wrongly on pods, by the source of their gang."""
_OF_POD_GROUPS: Final = frozenset({"podgroup", "podgroupname", "group", "groupname"})
"""Names that users may give to the label of a PodGroup, without dashes."""
_OF_GANGS: Final = frozenset({"gang", "gangname"})
_NEAR: Final = (
    annotations.POD_GROUP_LABEL,
    annotations.POD_GROUP_LABEL_SCHED_PLUGINS,
    annotations.KUEUE_POD_GROUP,
    annotations.KUEUE_POD_GROUP_TOTAL,
    *sorted(POD_GROUP_LABELS | LABELS | ANNOTATIONS | annotations.PODSET_KEYS),
)
"""Known keys that other keys may be misspellings of."""
_READ: Final = frozenset(
    {
        *(*_NEAR, *FOREIGN),
        *(annotations.KUEUE_QUEUE, annotations.VOLCANO_QUEUE, annotations.VOLCANO_QUEUE_SHORT),
        *(annotations.KUEUE_PRIORITY_CLASS, annotations.KUEUE_MAX_EXEC_TIME),
    }
)
"""Keys whose values are read."""
_LOOKED_AT: Final = (*PREFIXES, POD_GROUP_PREFIX, annotations.KUEUE_PODSET_PREFIX)
"""Prefixes of keys that are checked one by one, here and in the requests of podsets."""
_NOT_MISSPELT: Final = frozenset({*_NEAR, *FOREIGN, "scheduling.k8s.io/pod-group"})
"""Keys that are read, and similar keys for other programs."""
_MOST_CHANGED, _MOST_LEFT_OUT = 3, 5
MOST_LOOKED_AT: Final = 64
"""The most keys of an object that are compared with known keys; further keys are only counted. An
object has room for thousands."""
MOST_HINTED: Final = 8
"""Similar known keys are suggested for at most this many unknown ones."""
_ENDS_ALIKE: Final = 6
"""A misspelt key shares this many characters with the known key, at its beginning or its end."""
_BEGINNINGS: Final = frozenset(each[:_ENDS_ALIKE] for each in _NEAR)
_ENDINGS: Final = frozenset(each[-_ENDS_ALIKE:] for each in _NEAR)
# Koordinator reads this as an annotation, and others as a label.
_READ_INSTEAD: Final = {f"{POD_GROUP_PREFIX}match-policy": annotations.GANG_MATCH_POLICY}


def unknown_labels(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield the faults of labels that look like ours but are not."""
    found = _like_ones_that_are_read(present, LABELS)
    for place, key in enumerate(found[:MOST_LOOKED_AT]):
        if key in _ONLY_ANNOTATIONS:
            yield InvalidField(label_field(key), None, "must be an annotation")
        elif key.startswith(PREFIXES):
            yield _unknown(label_field(key), key, "an annotation", ANNOTATIONS, place)
        elif meant := meant_by(key) or _podset_meant_by(key):
            yield _misspelt(label_field(key), meant)
    yield from _more("labels", found)


def unknown_annotations(
    present: Collection[str], labels: Collection[str] = ()
) -> Iterator[InvalidField]:
    """Yield the faults of annotations that resemble known ones but are not.

    A key that must be a label is no fault if a label names the PodGroup, too.
    """
    found = _like_ones_that_are_read(present, ANNOTATIONS)
    for place, key in enumerate(found[:MOST_LOOKED_AT]):
        if key in _ONLY_LABELS:
            if not _ONLY_LABELS.isdisjoint(labels):
                continue
            yield InvalidField(field(key), None, "must be a label")
        elif key.startswith(PREFIXES):
            yield _unknown(field(key), key, "a label", LABELS, place)
        elif meant := meant_by(key):
            yield _misspelt(field(key), meant)
    yield from _more("annotations", found)


def too_long(labels: Mapping[str, str], present: Mapping[str, str]) -> Iterator[InvalidField]:
    """Yield the labels and annotations that would have an effect, but are too long."""
    for where, values in ((label_field, labels), (field, present)):
        for key, text in values.items():
            if text.endswith(base.MARK) and key in _READ and (most := base.most_of(text)):
                yield InvalidField(where(key), text, f"must have at most {most} characters", IS)


def has_odd_labels(present: Collection[str]) -> bool:
    """Return whether a label resembles a known key whose prefix is not ours."""
    found = _like_ones_that_are_read(present, LABELS)
    return len(found) > MOST_LOOKED_AT or any(
        key in _ONLY_ANNOTATIONS or meant_by(key) or _podset_meant_by(key) for key in found
    )


def has_odd_annotations(present: Collection[str]) -> bool:
    """Return whether an annotation resembles a known key whose prefix is not ours."""
    found = _like_ones_that_are_read(present, ANNOTATIONS)
    return len(found) > MOST_LOOKED_AT or any(key in _ONLY_LABELS or meant_by(key) for key in found)


def _like_ones_that_are_read(present: Collection[str], fine: Collection[str]) -> list[str]:
    """Return the keys that may be misspellings, in order.

    Most objects have none, which is determined quickly.
    """
    return sorted(key for key in present if key not in fine and _may_be_odd(key))


def _may_be_odd(key: str) -> bool:
    if key[:_ENDS_ALIKE] in _BEGINNINGS or key[-_ENDS_ALIKE:] in _ENDINGS or key in _ONLY_LABELS:
        return True
    lower = key.lower()
    return "gang" in lower or "group" in lower


def _more(where: str, found: Collection[str]) -> Iterator[InvalidField]:
    """Yield a fault if there are more unknown keys than are checked."""
    more = len(found) - MOST_LOOKED_AT
    if more > 0:
        problem = f"must have at most {MOST_LOOKED_AT} keys that resemble keys with a meaning"
        yield InvalidField(f"metadata.{where}", len(found), problem)


@records.by_short_texts(4096)
def meant_by(key: str) -> str:
    """Return the known key that this key misspells; "" if there is none.

    It differs in one place, or names a gang under a similar prefix. The result is remembered, as
    most pods have the same keys; otherwise the cost is linear in the length of a key.
    """
    if key in _NOT_MISSPELT or key.startswith(_LOOKED_AT) or len(key) > similar_names.LONGEST:
        return ""
    return next((each for each in _NEAR if _is_near(key, each)), "") or _of_like_prefix(key)


def not_read(labels: Collection[str], present: Collection[str]) -> Iterator[InvalidField]:
    """Yield the faults of labels and annotations with POD_GROUP_PREFIX that are not read."""
    of_labels = (each for each in labels if each not in POD_GROUP_LABELS)
    for where, keys in ((label_field, of_labels), (field, present)):
        found = sorted(each for each in keys if each.startswith(POD_GROUP_PREFIX))
        for key in found[:MOST_LOOKED_AT]:
            yield _not_read(where(key), key)


def misplaced_podset(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield the annotations of a PodGroup that Kueue reads only on pods."""
    for key in sorted(present):
        if key.startswith(annotations.KUEUE_PODSET_PREFIX):
            yield InvalidField(field(key), None, "belongs in the annotations of the pod template")


def options_not_read(present: Collection[str]) -> Iterator[InvalidField]:
    """Yield the gang options in the annotations of an object that has no gang."""
    for key in sorted(OPTIONS.intersection(present)):
        yield InvalidField(field(key), None, ON_A_POD_GROUP)


def foreign(labels: Collection[str], present: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the fields that name a gang for other products, each with its product."""
    for key, product in FOREIGN.items():
        if key in present:
            yield field(key), product
        if key in labels:
            yield label_field(key), product


@records.by_short_texts(4096)
def _podset_meant_by(key: str) -> str:
    """Return Kueue's annotation that a label stands for by mistake; "" for none."""
    return (
        similar_names.near_podset(field(key))
        if key.startswith(annotations.KUEUE_PODSET_PREFIX)
        else ""
    )


def _not_read(where: str, key: str) -> InvalidField:
    other = _READ_INSTEAD.get(key)
    hint = f": write the annotation {other}" if other else ""
    if key in POD_GROUP_LABELS:
        hint = ": write it as a label"
    elif not hint:
        hint = _instead(key)
    return InvalidField(where, None, f"is not read{hint}")


def _instead(key: str) -> str:
    """Return the key to use instead, if a key is similar to one that names a PodGroup."""
    name = key.removeprefix(POD_GROUP_PREFIX)
    if _plain(name) in _OF_POD_GROUPS:
        return f": write the label {annotations.POD_GROUP_LABEL}"
    names = {each.removeprefix(POD_GROUP_PREFIX): each for each in POD_GROUP_LABELS}
    near = similar_names.close_to(name.lower(), names)
    if near:
        return f"; did you mean {names[near[0]]}?"
    return f": {annotations.POD_GROUP_LABEL} names a PodGroup"


def _of_like_prefix(key: str) -> str:
    """Return the known key that a key under a similar prefix seems to mean; "" for none.

    Other products have keys under these prefixes, too, but by other names.
    """
    prefix, _, name = key.lower().rpartition("/")
    plain = _plain(name)
    if "gang-scheduler" in prefix and plain in _OF_GANGS:
        return annotations.JOB_GANG_LABEL
    if prefix.endswith("koordinator.sh") and (plain in _OF_GANGS or _is_of_gang(prefix, plain)):
        return annotations.GANG_NAME
    if prefix.endswith("volcano.sh") and plain in _OF_POD_GROUPS:
        return VOLCANO_GROUP
    return _of_kubernetes(prefix, plain)


def _is_of_gang(prefix: str, plain: str) -> bool:
    return prefix.startswith("gang") and plain == "name"


def _of_kubernetes(prefix: str, plain: str) -> str:
    """Return the key that is meant if the prefix ends like Kubernetes' own; "" for none."""
    if prefix == "scheduling.k8s.io" and plain == "groupname":
        return VOLCANO_GROUP
    if prefix.startswith("scheduling.") and prefix.endswith("k8s.io") and plain in _OF_POD_GROUPS:
        is_plugins = prefix == "scheduling.x-k8s.io"
        return (
            annotations.POD_GROUP_LABEL_SCHED_PLUGINS if is_plugins else annotations.POD_GROUP_LABEL
        )
    is_whole = not prefix and plain.startswith("podgroupscheduling") and plain.endswith("k8sio")
    return annotations.POD_GROUP_LABEL if is_whole else ""


def _plain(name: str) -> str:
    """Return a name in small letters, without dashes and other punctuation."""
    return "".join(filter(str.isalnum, name.lower()))


def _is_near(key: str, other: str) -> bool:
    """Return whether keys differ in one place only: by a few letters, or by one part left out."""
    if not -_MOST_LEFT_OUT <= len(key) - len(other) <= _MOST_CHANGED:
        return False
    start = _common(key, other)
    key, other = key[start:], other[start:]
    end = _common(key[::-1], other[::-1])
    changed, left_out = len(key) - end, len(other) - end
    return left_out <= (_MOST_CHANGED if changed else _MOST_LEFT_OUT) and changed <= _MOST_CHANGED


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """Return the length of the beginning that two texts have in common."""
    return sum(1 for _ in itertools.takewhile(bool, map(operator.eq, one, other)))


def _misspelt(where: str, meant: str) -> InvalidField:
    return InvalidField(where, None, f"is unknown; did you mean {meant}?")


def _unknown(where: str, key: str, other: str, others: Collection[str], place: int) -> InvalidField:
    if key in others:
        return InvalidField(where, None, f"must be {other}")
    if place >= MOST_HINTED:
        return InvalidField(where, None, "is unknown")
    prefix, _, name = key.partition("/")
    names = {each.partition("/")[2]: each for each in LABELS | ANNOTATIONS if prefix in each}
    near = similar_names.close_to(name.lower(), names)
    hint = f"; did you mean {names[near[0]]}?" if near else ""
    return InvalidField(where, None, f"is unknown{hint}")
