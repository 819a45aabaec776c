"""From text to JSON values as kubectl reads it: YAML 1.1 or JSON, several documents a text.

Plain PyYAML differs in what matters here: it makes dates and sexagesimal numbers of strings,
reads `1e3` as text, and lets the second of two equal keys win in silence.
"""

import contextlib
import itertools
import json
import re
from collections.abc import Hashable, Iterator
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]  # Where libyaml is missing: slower.

DEEPEST = 100
STRING_MAPS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps of strings: a null in them is the empty string, and not an absent field."""

_SCALARS = (
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF"),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
    ("null", r"~|null|Null|NULL|"),
    ("merge", r"<<"),
)


class UnreadableText(ValueError):  # noqa: N818 - names what is wrong, like InvalidField
    """The text is neither YAML nor JSON; the message says where and why, in one line."""


class _Loader(SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's.

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._seen: dict[int, yaml.MappingNode] = {}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Refuse equal keys before merge keys are put in, which may bring equal ones."""
        if id(node) not in self._seen:
            self._seen[id(node)] = node
            _refuse_equal_keys(node)
        super().flatten_mapping(node)


for _tag, _pattern in _SCALARS:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None
    )


def values(text: str) -> Iterator[Any]:
    """Yield the value of each document. Raises UnreadableText at the first that is none."""
    try:
        yield from _from_json(text) if text.lstrip().startswith("{") else _from_yaml(text)
    except yaml.YAMLError as error:
        raise UnreadableText(_in_words(error)) from error
    except RecursionError as error:
        raise UnreadableText("it contains itself") from error
    except ValueError as error:
        raise UnreadableText(str(error)) from error


def _from_json(text: str) -> Iterator[Any]:
    """Read JSON values one after the other; what only begins like JSON may still be YAML."""
    decoder = json.JSONDecoder(object_pairs_hook=_unequal)
    text, found, position = text.strip(), [], 0
    try:
        while position < len(text):
            value, end = decoder.raw_decode(text, position)
            found.append(_plain(value))
            position = len(text) - len(text[end:].lstrip())
    except (ValueError, RecursionError):
        yield from _from_yaml(text)
    else:
        yield from found


def _from_yaml(text: str) -> Iterator[Any]:
    too_deep = _first_too_deep(text)
    loader = _Loader(text)
    try:
        for number in itertools.count():
            if number == too_deep:
                raise UnreadableText(f"it is nested more than {DEEPEST} levels deep")
            if not loader.check_data():  # type: ignore[no-untyped-call]  # Missing in the stubs.
                return
            yield _plain(loader.get_data())
    finally:
        loader.dispose()


def _first_too_deep(text: str) -> int | None:
    """Return the first document that would overflow the stack: libyaml composes by recursion."""
    number, depth = -1, 0
    # What is no YAML is found again, with its place, when it is loaded.
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


def _plain(value: Any, *, strings: bool = False) -> Any:  # noqa: ANN401 - any JSON value.
    """Return the value with string keys and without null fields: to Kubernetes those are absent."""
    if isinstance(value, dict):
        return {
            _key(name): "" if item is None else _plain(item, strings=name in STRING_MAPS)
            for name, item in value.items()
            if item is not None or strings
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _key(name: object) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, bool | int | float):
        return json.dumps(name)
    raise ValueError(f"a key must be a string, not {name}")


def _in_words(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())
