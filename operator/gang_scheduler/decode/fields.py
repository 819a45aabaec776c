"""Single fields of objects: structs, times, amounts, label keys, durations, names and JSON.

An unreadable field raises InvalidField with the field and the value.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, TypeVar

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, JOBS, NAMESPACES, POD_GROUPS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.api.parsing import IS, Faults, InvalidField, shortened, without_nulls
from gang_scheduler.model import resources, wording
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.topology_request import LayerRef
from gang_scheduler.wire.base import Quantities

T = TypeVar("T")

LONGEST_TIME = 64
"""The most characters of a time, which bounds the memory for remembered times."""

_PATH_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_EXPECTED = re.compile(r"Expected `(?P<kinds>[^`]+)`(?: (?P<bound>[<>]=) (?P<limit>-?[0-9]+))?")
_GOT = re.compile(r"got `(?P<kind>[a-z]+)`")
_IN_JSON = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    dict: "object",
    list: "array",
    type(None): "null",
}
_BOUNDS = {"<=": "at most", ">=": "at least"}
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "absent",
}


def read(body: Mapping[str, Any], struct: type[T]) -> T:
    """Return `body` as a wire struct. Raises InvalidField naming the field and the value."""
    try:
        return msgspec.convert(body, struct)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # Kubernetes treats null as absent. Nulls are rare, so they are removed only now.
        return _read_without_nulls(without_nulls(body), struct)


def _read_without_nulls(body: Mapping[str, Any], struct: type[T]) -> T:
    try:
        return msgspec.convert(body, struct)
    except UnicodeEncodeError as error:
        raise InvalidField("the object", None, "has half of a character in it") from error
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        field, value = _locate(body, path.removesuffix("`"), text)
        raise InvalidField(field or "the object", value, _in_words(text)) from error


def timestamp(text: str, field: str = "metadata.creationTimestamp") -> int:
    """Return an RFC 3339 time in seconds since the epoch; 0 for none. Raises InvalidField."""
    if isinstance(text, str) and len(text) > LONGEST_TIME:
        raise InvalidField(field, text, "must be a time")
    try:
        return _seconds(text) if text else 0
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidField(field, text, "must be a time") from error


def timestamp_or_zero(value: object) -> int:
    """Return an RFC 3339 time in seconds since the epoch; 0 for none, or if it is unreadable."""
    try:
        return timestamp(value) if isinstance(value, str) else 0
    except InvalidField:
        return 0


@functools.lru_cache(maxsize=8192)
def _seconds(text: str) -> int:
    """Return a time in seconds. Remembered: pods of a gang are created and started together."""
    return int(datetime.fromisoformat(text).timestamp())


def _locate(body: Any, path: str, problem: str) -> tuple[str, object]:  # noqa: ANN401 - any JSON value.
    """Follow msgspec's path to the value that it did not accept.

    For a map, msgspec does not name the entry. The result is the first entry whose value has the
    type named in the problem; plain values come last.
    """
    steps = tuple(match.groupdict() for match in _PATH_STEP.finditer(path))
    got = _GOT.search(problem)
    first: tuple[str, object] | None = None
    for field, value in _followed(body, steps):
        found = field.removeprefix("."), value
        if got is None or _IN_JSON.get(type(value)) == got["kind"]:
            return found
        first = first or found
    return first or ("", body)


def _followed(
    body: Any,  # noqa: ANN401 - any JSON value.
    steps: Sequence[Mapping[str, str | None]],
) -> Iterator[tuple[str, object]]:
    """Yield the fields below `body` that these steps may name, and their values."""
    if not steps:
        yield "", body
        return
    step, *rest = steps
    for field, value in _entries(body, step):
        for deeper, found in _followed(value, rest):
            yield field + deeper, found


def _entries(
    body: Any,  # noqa: ANN401 - any JSON value.
    step: Mapping[str, str | None],
) -> Iterator[tuple[str, Any]]:
    """Yield the fields that a step of a path may mean, likeliest first, with their values."""
    if step["index"] is not None:
        if isinstance(body, list) and int(step["index"]) < len(body):
            yield f"[{step['index']}]", body[int(step["index"])]
    elif not isinstance(body, Mapping):
        return
    elif step["key"] is not None:
        if step["key"] in body:
            yield f".{step['key']}", body[step["key"]]
    else:
        for name in sorted(body, key=lambda each: _plainness(body[each])):
            yield f"[{name}]", body[name]


def _in_words(problem: str) -> str:
    expected = _EXPECTED.match(problem)
    if expected is None:
        return f"is wrong ({shortened(problem)})"
    if expected["bound"]:
        return f"must be {_BOUNDS[expected['bound']]} {expected['limit']}"
    kinds = [each.strip() for each in expected["kinds"].split("|")]
    return "must be " + " or ".join(_KINDS.get(kind, kind) for kind in kinds)


def _plainness(value: object) -> int:
    """Rank the values of a map: the wrong one, which msgspec does not name, is likely lowest."""
    return 2 if isinstance(value, str) else int(isinstance(value, int | float))


def whole_number(present: Mapping[str, str], key: str, default: int | None) -> int | None:
    """Return a number of at least 1. Raises InvalidField for other values."""
    text = present.get(key)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise InvalidField(wording.field(key), text, "must be a whole number of at least 1")
    return int(text)


def amounts(quantities: Quantities, field: str) -> dict[str, int]:
    """Return the integers of a map of quantities. Raises InvalidField naming field and value."""
    result = {}
    for name, quantity in quantities.items():
        try:
            result[name] = min(resources.amount_of(name, quantity), resources.ENORMOUS)
        except ValueError as error:
            raise InvalidField(f"{field}.{name}", quantity, "must be a quantity") from error
        if result[name] < 0:
            raise InvalidField(f"{field}.{name}", quantity, "must be at least 0")
    return result


_LABEL_KEY = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def label_layer(where: str, key: str) -> LayerRef:
    """Return the layer of a node label. Raises InvalidField unless `key` can be a label key."""
    if not _LABEL_KEY.fullmatch(key):
        raise InvalidField(where, key, "must be the key of a node label")
    return LayerRef(key, by_label=True)


# Go durations, and the declared run times of pods. Nearly all pods declare none, which is
# determined without checking each of their keys.

# Go accepts two letters for micro: the micro sign and the Greek letter.
_MICRO: Final = dict.fromkeys(("us", "\u00b5s", "\u03bcs"), Fraction(1, 10**6))
_SECONDS: Final[Mapping[str, Fraction | int]] = {
    "ns": Fraction(1, 10**9),
    **_MICRO,
    "ms": Fraction(1, 1000),
    "s": 1,
    "m": 60,
    "h": 3600,
}
_DURATION: Final = re.compile(rf"(?:[0-9]{{1,12}}(?:\.[0-9]*)?|\.[0-9]+)(?:{'|'.join(_SECONDS)})")
LONGEST: Final = 64
"""The longest text that can be a duration. Each character of it costs about a dozen steps."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,11}")


def duration(present: Mapping[str, str], key: str) -> int | None:
    """Return the Go duration of an annotation in seconds, rounded up. Raises InvalidField."""
    text = present.get(key)
    return None if text is None else seconds(text, wording.field(key))


def seconds(text: str, where: str, *, or_zero: bool = False) -> int:
    """Return a Go duration in seconds, rounded up. Raises InvalidField for the field `where`."""
    if or_zero and text == "0":
        return 0
    parts = _DURATION.findall(text) if len(text) <= LONGEST else []
    found = sum(_seconds_of(part) for part in parts)
    is_one = bool(parts) and "".join(parts) == text.removeprefix("+")
    if not is_one or not (found > 0 or or_zero):
        problem = 'must be a duration of more than 0, such as "90s" or "10m"'
        raise InvalidField(where, text, problem)
    return -int(-found // 1)


def expected_duration(labels: Mapping[str, str], present: Mapping[str, str]) -> int | None:
    """Return the expected run time of pods in seconds, the shorter one of two declarations.

    None without a declaration. Raises InvalidField.
    """
    if not says_duration(labels, present):
        return None
    said = (duration(present, annotations.EXPECTED_DURATION), _most_seconds(labels))
    return min((each for each in said if each is not None), default=None)


def says_duration(labels: Mapping[str, str], present: Mapping[str, str]) -> bool:
    """Return whether labels or annotations declare the expected run time of pods."""
    return annotations.EXPECTED_DURATION in present or annotations.KUEUE_MAX_EXEC_TIME in labels


def run_time(
    deadline: int | None, labels: Mapping[str, str], present: Mapping[str, str], since: int = 0
) -> RunTime | None:
    """Return the declared run time of the pods of an object; None without a declaration.

    `deadline` is activeDeadlineSeconds and counts from `since`, both in seconds. An invalid
    declaration counts as none.
    """
    try:
        said = expected_duration(labels, present)
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


def _seconds_of(part: str) -> Fraction:
    unit = part.lstrip("0123456789.")
    return Fraction(part.removesuffix(unit)) * _SECONDS[unit]


# JSON in an annotation, read field by field. An error names the path to the wrong field.

GREATEST_INTEGER: Final = 2**31 - 1
"""The greatest whole number in the fields of Kubernetes that count pods."""

LONGEST_NAME: Final = 253
"""The longest name of an object in Kubernetes."""


@dataclass(frozen=True, slots=True)
class JsonField:
    """A value, and its path from the object that has the annotation. Null counts as absent.

    Every method raises InvalidField for a value of another type.
    """

    path: str
    value: object

    def fields(self, *known: str, faults: Faults) -> Mapping[str, "JsonField"]:
        """Return the known fields of an object, absent ones included; others are faults."""
        if not isinstance(self.value, dict):
            raise self.wrong("must be an object")
        names = " and ".join(known)
        for strange in (name for name in self.value if name not in known):
            faults.add(InvalidField(self.path, strange, f"must have no fields but {names}"))
        return {name: JsonField(f"{self.path}.{name}", self.value.get(name)) for name in known}

    def items(self, most: int) -> Sequence["JsonField"]:
        """Return the entries of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("must be a list")
        if len(self.value) > most:
            raise InvalidField(self.path, len(self.value), f"must have at most {most} entries")
        return [JsonField(f"{self.path}[{i}]", each) for i, each in enumerate(self.value)]

    def text(self) -> str:
        """Return a string that can be a name."""
        if not isinstance(self.value, str):
            raise self.wrong("must be a string")
        if not self.value:
            raise InvalidField(self.path, None, "must not be empty")
        if len(self.value) > LONGEST_NAME:
            raise self.wrong(f"must have at most {LONGEST_NAME} characters")
        if not self.value.isprintable():
            raise self.wrong("must have no control characters")
        return self.value

    def whole_number(self) -> int:
        """Return a whole number that a count of pods can be compared with."""
        # In Python a bool is an int, too.
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.wrong("must be a whole number")
        if abs(self.value) > GREATEST_INTEGER:
            raise self.wrong(f"must be at most {GREATEST_INTEGER}")
        return self.value

    def wrong(self, problem: str) -> InvalidField:
        """Return the error for a value with this problem, or for a missing value."""
        return InvalidField(self.path, self.value, "is required" if self.value is None else problem)


def read_json(path: str, text: str) -> JsonField:
    """Return the value of a JSON text at `path`. Raises InvalidField for invalid JSON."""
    try:
        # Stricter than json: no lone surrogates, no NaN, no numbers out of range.
        msgspec.json.decode(text)
        value = json.loads(text, object_pairs_hook=_each_once)
    except InvalidField as error:
        raise error.at(path) from error
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidField(path, text, "must be JSON") from error
    return JsonField(path, value)


def _each_once(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    """Return an object. Raises InvalidField for two fields of one name, which is ambiguous."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidField("", name, "must not have a field twice", " (it has {} twice)")
        found[name] = value
    return found


# Names and labels, with the checks of an API server: names that it refuses are refused here, too.

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
DNS_LABEL: Final = re.compile(_LABEL)
DNS_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
"""Matches the value of a label, and the part of a key after the slash."""
LONGEST_LABEL, LONGEST_SUBDOMAIN = 63, 253

SHORT_NAMES: Final = frozenset({JOBS})
"""Kinds whose names also serve as values of labels, so they must be short."""
GANGS: Final = frozenset({POD_GROUPS, SCHED_PLUGINS_POD_GROUPS})
"""Kinds whose names may have capitals here.

Published examples have them. A gang named only by an annotation or a label, without an object, may
have them even on a cluster.
"""


def group_of(api_version: str) -> str:
    """Return the API group of an apiVersion."""
    return api_version.rpartition("/")[0]


def check_name(gvr: GVR, metadata: Mapping[str, str]) -> None:
    """Raise InvalidField for a name or a namespace that an API server refuses."""
    name, namespace = metadata["name"], metadata["namespace"]
    if gvr == NAMESPACES:
        _check_label("metadata.name", name)
    else:
        longest = LONGEST_LABEL if gvr in SHORT_NAMES else LONGEST_SUBDOMAIN
        _check_subdomain("metadata.name", name.lower() if gvr in GANGS else name, longest)
    if namespace:
        _check_label("metadata.namespace", namespace)


def why_refused(gvr: GVR, name: str) -> str:
    """Return why an API server would refuse a name that is accepted here, "" if it would not."""
    capitals = gvr in GANGS and name != name.lower()
    return "an API server refuses names with capital letters" if capitals else ""


def check_labels(
    labels: Mapping[str, str], annotations: Mapping[str, str], where: str = "metadata"
) -> None:
    """Raise InvalidField for a key, or a value of a label, that an API server refuses."""
    for key, value in labels.items():
        _check_key(f"{where}.labels", key)
        if value and not _is(QUALIFIED, value, LONGEST_LABEL):
            must = (
                f"must have at most {LONGEST_LABEL} letters, digits, -, _ and ., and begin and end "
                "with a letter or digit"
            )
            raise InvalidField(f"{where}.labels.{key}", value, must, IS)
    for key in annotations:
        _check_key(f"{where}.annotations", key.lower())


def _check_key(where: str, key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    fits = not slash or _is(DNS_SUBDOMAIN, prefix, LONGEST_SUBDOMAIN)
    if not fits or not _is(QUALIFIED, name, LONGEST_LABEL):
        raise InvalidField(where, key, "must have keys such as name or example.com/name")


def is_label(name: str) -> bool:
    """Return whether a name is a DNS-1123 label, as names of namespaces and containers are."""
    return _is(DNS_LABEL, name, LONGEST_LABEL)


def _check_label(where: str, name: str) -> None:
    if not is_label(name):
        must = f"must be a DNS-1123 label: a-z, 0-9 and -, at most {LONGEST_LABEL} characters"
        raise InvalidField(where, name, must, IS)


def _check_subdomain(where: str, name: str, longest: int) -> None:
    if not _is(DNS_SUBDOMAIN, name, longest):
        must = f"must be a DNS-1123 subdomain: a-z, 0-9, - and ., at most {longest} characters"
        raise InvalidField(where, name, must, IS)


def _is(pattern: re.Pattern[str], text: str, longest: int) -> bool:
    return len(text) <= longest and pattern.fullmatch(text) is not None
