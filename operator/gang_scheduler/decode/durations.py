"""Go durations, and how long pods are declared to run.

Nearly all pods of a cluster say nothing of that, which is found out without a look at each of their
keys.
"""

import re
from collections.abc import Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.fields import field
from gang_scheduler.model.evictions import RunTime

# Go accepts two letters for micro: the micro sign and the Greek letter.
_MICRO: Final = {"us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6}
_SECONDS: Final = {"ns": 1e-9, **_MICRO, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_DURATION: Final = re.compile(rf"(?:[0-9]{{1,12}}(?:\.[0-9]*)?|\.[0-9]+)(?:{'|'.join(_SECONDS)})")
LONGEST: Final = 64
"""No duration is longer; each character of a longer text would be looked at a dozen times."""
_ZERO: Final = frozenset({"0", "0s"})
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,11}")


def duration(present: Mapping[str, str], key: str) -> int | None:
    """Return the Go duration of an annotation in seconds, rounded up. Raises InvalidField."""
    text = present.get(key)
    return None if text is None else seconds(text, field(key))


def seconds(text: str, where: str, *, or_zero: bool = False) -> int:
    """Return a Go duration in seconds, rounded up. Raises InvalidField for the field `where`."""
    if or_zero and text in _ZERO:
        return 0
    parts = _DURATION.findall(text) if len(text) <= LONGEST else []
    found = sum(_seconds(part) for part in parts)
    if "".join(parts) != text.removeprefix("+") or not found > 0:
        problem = 'must be a duration of more than 0, such as "90s" or "10m"'
        raise InvalidField(where, text, problem)
    return -int(-found // 1)


def expected(labels: Mapping[str, str], present: Mapping[str, str]) -> int | None:
    """Return for how long pods are expected to run, in seconds: the shorter time of two.

    None where nothing is said. Raises InvalidField.
    """
    if not says(labels, present):
        return None
    said = (duration(present, annotations.EXPECTED_DURATION), _most_seconds(labels))
    return min((each for each in said if each is not None), default=None)


def says(labels: Mapping[str, str], present: Mapping[str, str]) -> bool:
    """Return whether labels or annotations say for how long pods are expected to run."""
    return annotations.EXPECTED_DURATION in present or annotations.KUEUE_MAX_EXEC_TIME in labels


def run_time(
    deadline: int | None, labels: Mapping[str, str], present: Mapping[str, str], since: int = 0
) -> RunTime | None:
    """Return what an object says of how long its pods run; None if it says nothing.

    `deadline` is activeDeadlineSeconds, and counts from `since`, both in seconds. What cannot be
    read says nothing here.
    """
    try:
        said = expected(labels, present)
    except InvalidField:
        said = None
    return None if deadline is None and said is None else RunTime(deadline, said, since)


def _most_seconds(labels: Mapping[str, str]) -> int | None:
    text = labels.get(annotations.KUEUE_MAX_EXEC_TIME)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        where = f"metadata.labels[{annotations.KUEUE_MAX_EXEC_TIME}]"
        raise InvalidField(where, text, "must be a whole number of at least 1")
    return int(text)


def _seconds(part: str) -> float:
    unit = part.lstrip("0123456789.")
    return float(part.removesuffix(unit)) * _SECONDS[unit]
