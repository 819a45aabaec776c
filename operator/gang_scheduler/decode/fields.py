"""Single fields of objects: structs, times, amounts and label keys, or the problem of one."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from gang_scheduler.api.parsing import InvalidField, shortened, without_nulls
from gang_scheduler.model import resources
from gang_scheduler.model.network.topology_request import LayerRef
from gang_scheduler.wire.quantities import Quantities

T = TypeVar("T")

LONGEST_TIME = 64
"""How many characters a time has at most: what is remembered of times is bounded."""

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


@functools.lru_cache(maxsize=8192)
def _seconds(text: str) -> int:
    """Return a time in seconds. Remembered: pods of a gang are created and started together."""
    return int(datetime.fromisoformat(text).timestamp())


def _locate(body: Any, path: str, problem: str) -> tuple[str, object]:  # noqa: ANN401 - any JSON value.
    """Follow msgspec's path to the value that it did not accept.

    In a map msgspec does not name the entry: the first is meant whose value is of the type that
    the problem says, the least plain entries first.
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
    """Yield the fields below `body` to which these steps may lead, and their values."""
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
    """Rank values of a map in which msgspec does not name the wrong one: the least plain is."""
    return 2 if isinstance(value, str) else int(isinstance(value, int | float))


def field(key: str) -> str:
    """Return the field of an annotation, as in errors."""
    return f"metadata.annotations[{key}]"


def whole_number(present: Mapping[str, str], key: str, default: int | None) -> int | None:
    """Return a number of at least 1. Raises InvalidField for anything else."""
    text = present.get(key)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise InvalidField(field(key), text, "must be a whole number of at least 1")
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
            raise InvalidField(f"{field}.{name}", quantity, "must not be negative")
    return result


_LABEL_KEY = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def label_layer(where: str, key: str) -> LayerRef:
    """Return the layer of a node label. Raises InvalidField unless `key` can be a label key."""
    if not _LABEL_KEY.fullmatch(key):
        raise InvalidField(where, key, "must be the key of a node label")
    return LayerRef(key, by_label=True)
