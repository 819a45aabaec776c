"""Annotations of a PodGroup or of pods on how a gang is scheduled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import elastic as elastic_annotation
from gang_scheduler.decode.fields import duration, whole_number
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import MatchPolicy
from gang_scheduler.model.pods import GangAnnotations
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangName
from gang_scheduler.model.wording import field

MOST_GROUPS = 64
STRICT, NON_STRICT = "Strict", "NonStrict"

_NAME = re.compile(r"(?P<namespace>[^/\s]+)/(?P<name>\S+)")


@dataclass(frozen=True, slots=True)
class GangOptions:
    """The options of a gang, each with a default. `groups` are the gangs of its group.

    `force_delete_seconds` is how long a pod must be stuck before it may be deleted by force; None:
    never.
    """

    groups: tuple[GangName, ...] = ()
    strict: bool = True
    match_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    timeout_seconds: int | None = None
    total: int | None = None
    min_runtime_seconds: int = 0
    force_delete_seconds: int | None = None


_NONE: Final = GangOptions()


def read(present: Mapping[str, str]) -> GangOptions:
    """Return the options. Raises InvalidField for all invalid ones."""
    if _KEYS.isdisjoint(present):
        return _NONE
    faults, none = Faults(), _NONE
    found = GangOptions(
        groups=faults.read(lambda: _groups(present.get(annotations.GANG_GROUPS)), none.groups),
        strict=faults.read(lambda: _mode(present.get(annotations.GANG_MODE)), none.strict),
        match_policy=faults.read(
            lambda: _match_policy(present.get(annotations.GANG_MATCH_POLICY)), none.match_policy
        ),
        timeout_seconds=faults.read(
            lambda: duration(present, annotations.GANG_WAITING_TIME), none.timeout_seconds
        ),
        total=faults.read(
            lambda: whole_number(present, annotations.GANG_TOTAL_NUMBER, none.total), none.total
        ),
        min_runtime_seconds=faults.read(lambda: min_runtime(present), none.min_runtime_seconds),
        force_delete_seconds=faults.read(lambda: force_delete(present), None),
    )
    faults.check()
    return found


_OPTIONS: Final = {
    annotations.GANG_GROUPS: "groups",
    annotations.GANG_MODE: "strict",
    annotations.GANG_MATCH_POLICY: "match_policy",
    annotations.GANG_WAITING_TIME: "timeout_seconds",
    annotations.GANG_TOTAL_NUMBER: "total",
    annotations.MIN_RUNTIME: "min_runtime_seconds",
}
"""The option that each annotation sets."""
_KEYS: Final = frozenset({*_OPTIONS, annotations.FORCE_DELETE_STUCK_PODS})
_OF_MEMBERS: Final = frozenset({*_OPTIONS, annotations.ELASTIC})


def gang_annotations_of(pod: str, present: Mapping[str, str]) -> GangAnnotations | None:
    """Return the annotations of a pod about its gang. Messages name the pod by its namespace/name.

    Most pods have none: the result is then None, at the cost of one look.
    """
    if _OF_MEMBERS.isdisjoint(present):
        return None
    elastic, wrong = elastic_annotation.of_member(pod, present)
    if _OPTIONS.keys().isdisjoint(present):
        return GangAnnotations(elastic, wrong)
    try:
        said = read(present)
    except InvalidField as error:
        problem = Problem(Reason.INVALID_SPEC, InvalidInput(f"pod {pod}: {error}"))
        return GangAnnotations(elastic, wrong, options_problem=problem)
    found = ((key, option, getattr(said, option)) for key, option in _OPTIONS.items())
    options = tuple(each for each in found if each[0] in present)
    return GangAnnotations(elastic, wrong, options)


def min_runtime(present: Mapping[str, str]) -> int:
    """Return the minimum run time that a gang asks for, in seconds. Raises InvalidField."""
    return duration(present, annotations.MIN_RUNTIME) or 0


def force_delete(present: Mapping[str, str]) -> int | None:
    """Return after how long stuck pods may be deleted by force, in seconds. Raises InvalidField."""
    return duration(present, annotations.FORCE_DELETE_STUCK_PODS)


def _groups(text: str | None) -> tuple[GangName, ...]:
    if text is None:
        return ()
    where = field(annotations.GANG_GROUPS)
    try:
        names = msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise InvalidField(where, text, 'must be a JSON array of "namespace/name"') from error
    if len(names) > MOST_GROUPS:
        raise InvalidField(where, len(names), f"must name at most {MOST_GROUPS} gangs")
    matches = [_NAME.fullmatch(name) for name in names]
    wrong = next((name for name, match in zip(names, matches, strict=True) if not match), None)
    if wrong is not None:
        raise InvalidField(where, wrong, 'must name gangs as "namespace/name"')
    return tuple(GangName(match["namespace"], match["name"]) for match in matches if match)


def _mode(text: str | None) -> bool:
    if text not in (None, STRICT, NON_STRICT):
        raise InvalidField(field(annotations.GANG_MODE), text, f"must be {STRICT} or {NON_STRICT}")
    return text != NON_STRICT


def _match_policy(text: str | None) -> MatchPolicy:
    if text is None:
        return MatchPolicy.ONCE_SATISFIED
    try:
        return MatchPolicy(text)
    except ValueError as error:
        known = ", ".join(MatchPolicy)
        problem = f"must be one of {known}"
        raise InvalidField(field(annotations.GANG_MATCH_POLICY), text, problem) from error
