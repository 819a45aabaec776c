"""Annotations of a PodGroup or of pods that say how a gang is scheduled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode.fields import field, whole_number
from gang_scheduler.model.gangs import MatchPolicy
from gang_scheduler.model.refs import GangName

MOST_GROUPS = 64
STRICT, NON_STRICT = "Strict", "NonStrict"

# Go accepts two letters for micro: the micro sign and the Greek letter.
_MICRO = {"us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6}
_SECONDS = {"ns": 1e-9, **_MICRO, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(rf"(?:[0-9]{{1,12}}(?:\.[0-9]*)?|\.[0-9]+)(?:{'|'.join(_SECONDS)})")
_NAME = re.compile(r"(?P<namespace>[^/\s]+)/(?P<name>\S+)")


@dataclass(frozen=True, slots=True)
class GangOptions:
    """The options of a gang; every option has a default. `groups` are the gangs that it names."""

    groups: tuple[GangName, ...] = ()
    strict: bool = True
    match_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    timeout_seconds: int | None = None
    total: int | None = None
    min_runtime_seconds: int = 0


def read(present: Mapping[str, str]) -> GangOptions:
    """Return the options. Raises InvalidField for all that are invalid."""
    faults, none = Faults(), GangOptions()
    found = GangOptions(
        groups=faults.read(lambda: _groups(present.get(annotations.GANG_GROUPS)), none.groups),
        strict=faults.read(lambda: _mode(present.get(annotations.GANG_MODE)), none.strict),
        match_policy=faults.read(
            lambda: _match_policy(present.get(annotations.GANG_MATCH_POLICY)), none.match_policy
        ),
        timeout_seconds=faults.read(
            lambda: _duration(present, annotations.GANG_WAITING_TIME), none.timeout_seconds
        ),
        total=faults.read(
            lambda: whole_number(present, annotations.GANG_TOTAL_NUMBER, none.total), none.total
        ),
        min_runtime_seconds=faults.read(lambda: min_runtime(present), none.min_runtime_seconds),
    )
    faults.check()
    return found


def min_runtime(present: Mapping[str, str]) -> int:
    """Return the minimum run time that a gang asks for, in seconds. Raises InvalidField."""
    return _duration(present, annotations.MIN_RUNTIME) or 0


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


def _duration(present: Mapping[str, str], key: str) -> int | None:
    """Return a Go duration in seconds, rounded up."""
    text = present.get(key)
    if text is None:
        return None
    parts = _DURATION.findall(text)
    seconds = sum(_seconds(part) for part in parts)
    if "".join(parts) != text.removeprefix("+") or not seconds > 0:
        problem = 'must be a duration of more than 0, such as "90s" or "10m"'
        raise InvalidField(field(key), text, problem)
    return -int(-seconds // 1)


def _seconds(part: str) -> float:
    unit = part.lstrip("0123456789.")
    return float(part.removesuffix(unit)) * _SECONDS[unit]
