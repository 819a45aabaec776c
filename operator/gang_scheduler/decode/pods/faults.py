"""What is wrong with what a pod says of its gang: its gang waits until that is put right.

A gang that is asked for in a way that is not understood must not become single pods.
"""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import durations, foreign_marks, keys
from gang_scheduler.decode.checkpoints import policies
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.keys import label_field
from gang_scheduler.decode.pods.rank import Rank, index_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import gang_sources, remembered
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.network.topology_request import PodSet
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.metadata import Metadata

_PAIRS: Final = (annotations.GANG_MIN_AVAILABLE_LABEL, annotations.GANG_MIN_AVAILABLE)
_TELLING: Final = (
    *(*keys.PREFIXES, keys.POD_GROUP_PREFIX, *_PAIRS, *keys.FOREIGN),
    *foreign_marks.TELLING,
)
_FINE_LABELS: Final = keys.LABELS | {annotations.GANG_NAME_LABEL}
_FINE: Final = keys.ANNOTATIONS - {
    *(annotations.GANG_MIN_AVAILABLE, annotations.ROLES, annotations.FORCE_DELETE_STUCK_PODS)
}
_OF_GANGS: Final = frozenset({annotations.ELASTIC, annotations.MIN_RUNTIME})
_NO: Final = frozenset({"false"})
_YES_OR_NO: Final = frozenset({"true", "false"})
_INSTEAD: Final = (
    "write a PodGroup of scheduling.sigs.k8s.io, and its name in the label "
    f"{annotations.POD_GROUP_LABEL}"
)


# What is wrong comes before what is only not supported.
_ORDER: Final = (Reason.INVALID_SPEC, Reason.UNSUPPORTED_FEATURE)


class _Fault(NamedTuple):
    text: str
    reason: Reason = Reason.INVALID_SPEC


def problem_of(
    metadata: Metadata, gang: GangKey, rank: Rank, podset: PodSet | None, *, bound: bool = False
) -> Problem | None:
    """Return the problem of a pod by what it says of its gang, with all that is wrong.

    Of a pod that is `bound` annotations are fine that only a binding may write.
    """
    is_alone = gang.source == gang_sources.SINGLE.name
    is_unreadable = bool(podset and podset.problem) or not (
        rank or annotations.NETWORK_TOPOLOGY_INDEX not in metadata.annotations
    )
    queue = None if bound else naming.misplaced(metadata.labels, metadata.annotations)
    says_more = durations.says(metadata.labels, metadata.annotations)
    says_more |= policies.says(metadata.annotations)
    is_cut = next(keys.too_long(metadata.labels, metadata.annotations), None) is not None
    of_gangs = is_alone and not _OF_GANGS.isdisjoint(metadata.annotations)
    said = is_unreadable or queue or says_more or of_gangs or is_cut
    if not (said or _tells(metadata, is_alone=is_alone)):
        return None
    found = [*_misspelt(metadata), *_unreadable(metadata, podset)]
    marks = foreign_marks.refused(metadata.labels, metadata.annotations, gang.source)
    found += (_Fault(str(each), Reason.UNSUPPORTED_FEATURE) for each in marks)
    if annotations.ROLES in metadata.annotations and gang.source != gang_sources.ANNOTATION.name:
        found.append(_Fault(f"{field(annotations.ROLES)} belongs on the PodGroup of the pod"))
    if queue is not None:
        found.append(_Fault(str(queue)))
    if is_alone:
        found += _in_vain(metadata)
    return _problem(metadata, found) if found else None


def _tells(metadata: Metadata, *, is_alone: bool) -> bool:
    """Return whether keys are to be looked at one by one: cheap, and False for most pods."""
    heard = _NO if is_alone else _YES_OR_NO
    if metadata.labels.get(annotations.JOB_GANG_LABEL, "false") not in heard:
        return True
    return _keys_tell(tuple(metadata.labels), tuple(metadata.annotations), is_alone=is_alone)


@remembered.by_short_texts(4096)
def _keys_tell(labels: tuple[str, ...], present: tuple[str, ...], *, is_alone: bool) -> bool:
    """Return the same by the keys alone. Remembered, as most pods have the same keys."""
    if keys.has_odd_labels(labels) or keys.has_odd_annotations(present):
        return True
    if is_alone and _asks_in_vain(labels, present):
        return True
    telling = (each for each in labels if each.startswith(_TELLING))
    told = (each for each in present if each.startswith(_TELLING))
    return not (_FINE_LABELS.issuperset(telling) and _FINE.issuperset(told))


def _asks_in_vain(labels: Collection[str], present: Collection[str]) -> bool:
    """Return whether a pod that is in no gang has keys that are for members."""
    if annotations.ROLE in labels or _is_half_a_group(labels, present):
        return True
    return not keys.OPTIONS.isdisjoint(present)


def _problem(metadata: Metadata, found: list[_Fault]) -> Problem:
    reason = min((each.reason for each in found), key=_ORDER.index)
    text = "; ".join(each.text for each in found)
    return Problem(reason, InvalidInput(f"pod {metadata.namespace}/{metadata.name}: {text}"))


def _misspelt(metadata: Metadata) -> Iterator[_Fault]:
    """Yield keys that are unknown or not read, and values that are too long, or not yes or no."""
    for long in keys.too_long(metadata.labels, metadata.annotations):
        yield _Fault(str(long))
    for unknown in keys.unknown_labels(metadata.labels):
        yield _Fault(str(unknown))
    for unknown in keys.unknown_annotations(metadata.annotations, metadata.labels):
        yield _Fault(str(unknown))
    for unread in keys.not_read(metadata.labels, metadata.annotations):
        yield _Fault(str(unread), Reason.UNSUPPORTED_FEATURE)
    asked = metadata.labels.get(annotations.JOB_GANG_LABEL, "false")
    if asked not in _YES_OR_NO:
        where = label_field(annotations.JOB_GANG_LABEL)
        yield _Fault(str(InvalidField(where, asked, 'must be "true" or "false"')))


def _unreadable(metadata: Metadata, podset: PodSet | None) -> Iterator[_Fault]:
    """Yield annotations of the pod's own that have wrong values."""
    try:
        index_of(metadata.annotations)
    except InvalidField as error:
        yield _Fault(str(error))
    if podset is not None and podset.problem:
        yield _Fault(podset.problem)
    for value in (
        lambda: durations.expected(metadata.labels, metadata.annotations),
        lambda: durations.duration(metadata.annotations, annotations.FORCE_DELETE_STUCK_PODS),
        lambda: policies.policy_of(metadata.annotations),
    ):
        try:
            value()
        except InvalidField as error:
            yield _Fault(str(error))


def _in_vain(metadata: Metadata) -> Iterator[_Fault]:
    """Yield what asks for a gang and makes none."""
    if metadata.labels.get(annotations.JOB_GANG_LABEL) == "true":
        where = label_field(annotations.JOB_GANG_LABEL)
        text = f"{where} makes no gang of {_kind(metadata)}"
        yield _Fault(f"{text}: {_INSTEAD}", Reason.UNSUPPORTED_FEATURE)
    if annotations.ELASTIC in metadata.annotations:
        yield _Fault(f"{field(annotations.ELASTIC)} is for a gang, and this pod is in none")
    try:
        durations.duration(metadata.annotations, annotations.MIN_RUNTIME)
    except InvalidField as error:
        yield _Fault(str(error))
    if annotations.GANG_MIN_AVAILABLE in metadata.annotations:
        needed = field(annotations.GANG_NAME)
        yield _Fault(f"{needed} is required beside {annotations.GANG_MIN_AVAILABLE}")
    for key in sorted(keys.OPTIONS.intersection(metadata.annotations)):
        yield _Fault(f"{field(annotations.GANG_NAME)} is required beside {key}")
    if _is_half_a_group(metadata.labels, metadata.annotations):
        needed = label_field(annotations.KUEUE_POD_GROUP)
        yield _Fault(f"{needed} is required beside {annotations.KUEUE_POD_GROUP_TOTAL}")
    if annotations.GANG_MIN_AVAILABLE_LABEL in metadata.labels:
        needed = label_field(annotations.GANG_NAME_LABEL)
        yield _Fault(f"{needed} is required beside {annotations.GANG_MIN_AVAILABLE_LABEL}")
    if annotations.ROLE in metadata.labels:
        where = label_field(annotations.ROLE)
        yield _Fault(f"{where} is the role of a member of a gang, and this pod is in none")
    for where, product in keys.foreign(metadata.labels, metadata.annotations):
        text = f"{where} is for {product}, and makes no gang here: {_INSTEAD}"
        yield _Fault(text, Reason.UNSUPPORTED_FEATURE)


def _is_half_a_group(labels: Collection[str], present: Collection[str]) -> bool:
    """Return whether a pod says how many are in its pod group of Kueue, and not which that is."""
    is_counted = annotations.KUEUE_POD_GROUP_TOTAL in present
    return is_counted and annotations.KUEUE_POD_GROUP not in labels


def _kind(metadata: Metadata) -> str:
    """Return which kind of controller a pod has, as in "no gang of the pods of a ReplicaSet"."""
    kind = metadata.controller.kind
    return f"the pods of a {kind}" if kind else "a pod without a controller"
