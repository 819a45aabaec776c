"""JSON in an annotation, read field by field: an error names the path to the wrong field."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from gang_scheduler.api.parsing import Faults, InvalidField

GREATEST: Final = 2**31 - 1
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
            raise self.wrong("must not be empty")
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
        if abs(self.value) > GREATEST:
            raise self.wrong(f"must be at most {GREATEST}")
        return self.value

    def wrong(self, problem: str) -> InvalidField:
        """Return the error for a value with this problem, or for a missing value."""
        return InvalidField(self.path, self.value, "is required" if self.value is None else problem)


def read(path: str, text: str) -> JsonField:
    """Return the value of a JSON text at `path`. Raises InvalidField for invalid JSON."""
    try:
        # Stricter than json: no lone surrogates, no NaN, no numbers out of range.
        msgspec.json.decode(text)
        value = json.loads(text, object_pairs_hook=_each_once)
    except InvalidField as error:
        raise InvalidField(path, error.value, error.problem) from error
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidField(path, text, "must be JSON") from error
    return JsonField(path, value)


def _each_once(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    """Return an object. Raises InvalidField for two fields of one name: either could be meant."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidField("", name, "must have every field once")
        found[name] = value
    return found
