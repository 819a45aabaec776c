"""Parses text into JSON values like kubectl: YAML 1.1 or JSON, several documents in a text.

Plain PyYAML differs where it matters: it turns strings into dates and sexagesimal numbers, reads
`1e3` as text, and silently lets the second of two equal keys win.
"""

import contextlib
import itertools
import json
import math
import re
from collections.abc import Hashable, Iterator
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]  # Where libyaml is missing: slower.

DEEPEST = 100
MOST_VALUES, MOST_REPEATED = 1_000_000, 10
"""A text may have at most this many values: in total or per character, whichever is larger."""
MOST_MERGED = 10_000
"""An object may have at most this many keys after a merge."""
STRING_MAPS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps of strings: a null in them is an empty string, not an absent field."""

_SCALARS = (
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF"),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
    ("null", r"~|null|Null|NULL|"),
    ("merge", r"<<"),
)


class UnreadableText(ValueError):  # noqa: N818 - named after the problem, like InvalidField
    """The text is neither YAML nor JSON; the message says where and why, in one line."""


class _Loader(SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's.

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._seen: dict[int, yaml.MappingNode] = {}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Refuse equal keys before merge keys are expanded, and objects that are too large after.

        Merged keys may equal keys of the object: its own key wins.
        """
        if id(node) not in self._seen:
            self._seen[id(node)] = node
            _refuse_equal_keys(node)
        super().flatten_mapping(node)
        if len(node.value) > MOST_MERGED:
            problem = "merge keys make it too large"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


for _tag, _pattern in _SCALARS:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None
    )


def values(text: str) -> Iterator[Any]:
    """Yield the value of each document. Raises UnreadableText at the first unreadable one."""
    try:
        yield from _from_json(text) if text.lstrip().startswith("{") else _from_yaml(text)
    except yaml.YAMLError as error:
        raise UnreadableText(_in_words(error)) from error
    except RecursionError as error:
        raise UnreadableText("it contains itself") from error
    except ValueError as error:
        raise UnreadableText(str(error)) from error


def _from_json(text: str) -> Iterator[Any]:
    """Yield JSON values one by one. A text that only begins like JSON is read as YAML."""
    decoder = json.JSONDecoder(object_pairs_hook=_unequal)
    text, found, position, plain = text.strip(), [], 0, _Plain(text)
    try:
        while position < len(text):
            value, end = decoder.raw_decode(text, position)
            found.append(plain.value(value))
            position = len(text) - len(text[end:].lstrip())
    except (ValueError, RecursionError):
        yield from _from_yaml(text)
    else:
        yield from found


def _from_yaml(text: str) -> Iterator[Any]:
    too_deep = _first_too_deep(text)
    loader, plain = _Loader(text), _Plain(text)
    try:
        for number in itertools.count():
            if number == too_deep:
                raise UnreadableText(f"it is nested more than {DEEPEST} levels deep")
            if not loader.check_data():  # type: ignore[no-untyped-call]  # Missing in the stubs.
                return
            yield plain.value(loader.get_data())
    finally:
        loader.dispose()


def _first_too_deep(text: str) -> int | None:
    """Return the number of the first document so deep that libyaml would overflow the stack."""
    number, depth = -1, 0
    # A text that is not YAML raises again, with its place, when it is loaded.
    with contextlib.suppress(yaml.YAMLError):
        for event in yaml.parse(text, Loader=SafeLoader):
            number += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                return number
    return None


def _refuse_equal_keys(node: yaml.MappingNode) -> None:
    seen: set[Hashable] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if key.value in seen:
                problem = f'key "{key.value}" is there twice'
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)


def _unequal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


class _Plain:
    """Turns the values of a text into JSON values as Kubernetes does."""

    def __init__(self, text: str) -> None:
        self._left = max(MOST_VALUES, MOST_REPEATED * len(text))

    def value(self, value: Any, *, strings: bool = False, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON value.
        """Return the value with string keys and without null fields, which count as absent.

        Raises ValueError for a value that JSON cannot express, and for values that aliases make far
        too large.
        """
        self._left -= 1
        if self._left < 0:
            raise ValueError("its aliases make it too large")
        if depth > DEEPEST:
            raise RecursionError  # JSON that is too deep is read again as YAML, which says why.
        if isinstance(value, dict):
            return {
                _key(name): "" if item is None else self._field(name, item, depth)
                for name, item in value.items()
                if item is not None or strings
            }
        if isinstance(value, list):
            return [self.value(item, depth=depth + 1) for item in value]
        return _scalar(value)

    def _field(self, name: object, item: object, depth: int) -> Any:  # noqa: ANN401 - as above.
        return self.value(item, strings=name in STRING_MAPS, depth=depth + 1)


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        # As in an API server, a number outside int64 is a float.
        if abs(value) < 10**300:
            return float(value)
        return math.inf if value > 0 else -math.inf
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ValueError(f"a value must be one of JSON, not {value}")


def _text(text: str) -> str:
    """Return a text. Raises ValueError for half of a surrogate pair, which UTF-8 cannot encode."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{json.dumps(text)} has half of a character") from error
    return text


def _key(name: object) -> str:
    if isinstance(name, str):
        return _text(name)
    if isinstance(name, bool | int | float):
        return json.dumps(name)
    raise ValueError(f"a key must be a string, not {name}")


def _in_words(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())
