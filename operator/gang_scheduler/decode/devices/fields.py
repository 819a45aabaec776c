"""Reads one JSON object: each getter returns a value, or notes the fault of the field.

A watch handler must never fail on what others wrote, so nothing is raised: problems are collected
with field and value, and the object that has them is kept and refused by name.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from gang_scheduler.model import device_quantities as quantities
from gang_scheduler.model.device_quantities import Quantity
from gang_scheduler.model.devices import Invalid, Problem, Unsupported

SHOWN: Final = 64
"""The most characters of a value that are shown."""
LARGEST: Final = 2**63 - 1
ZERO: Final = Quantity(0)
_EMPTY: Final[Mapping[str, Any]] = {}

T = TypeVar("T")


class Fields:
    """An object of the API at `path`. Problems of all objects in it go to one list."""

    def __init__(self, body: object, path: str, problems: list[Problem]) -> None:
        self.path = path
        self.problems = problems
        self._body: Mapping[str, Any] = _EMPTY
        if isinstance(body, Mapping):
            self._body = body
        elif body is not None:
            self.problems.append(Invalid(path, _shown(body), "must be an object"))

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Fields":
        """Return a whole object, without problems yet."""
        return cls(body, "", [])

    def __contains__(self, key: str) -> bool:
        return self._body.get(key) is not None

    def at(self, key: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{key}" if self.path else key

    def raw(self, key: str) -> Any:  # noqa: ANN401 - opaque parameters are any JSON
        """Return a field as it is; None if it is absent."""
        return self._body.get(key)

    def _value(self, key: str, kind: type[T], default: T, expected: str) -> T:
        value = self._body.get(key)
        if value is None:
            return default
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.invalid(key, value, expected)
        return default

    def invalid(self, key: str, value: object, expected: str) -> None:
        """Note a value that is not valid."""
        self.problems.append(Invalid(self.at(key), _shown(value), expected))

    def unsupported(self, key: str, gate: str = "") -> None:
        """Note a field that is not supported, with the feature gate that it needs."""
        self.problems.append(Unsupported(self.at(key), gate))

    def refuse(self, key: str, gate: str) -> None:
        """Note a field of an alpha feature if it is set."""
        if self._body.get(key):
            self.unsupported(key, gate)

    def text(self, key: str, default: str = "") -> str:
        """Return a string."""
        return self._value(key, str, default, "must be a string")

    def required(self, key: str) -> str:
        """Return a string that must not be empty."""
        text = self.text(key)
        if not text:
            self.invalid(key, text, "must not be empty")
        return text

    def flag(self, key: str) -> bool:
        """Return true or false; false if the field is absent."""
        return self._value(key, bool, False, "must be true or false")  # noqa: FBT003

    def whole(self, key: str, default: int, least: int = -LARGEST - 1) -> int:
        """Return a whole number of 64 bits, of at least `least`."""
        number = self._value(key, int, default, "must be a whole number")
        if least <= number <= LARGEST:
            return number
        self.invalid(key, number, f"must be from {least} to 2^63-1")
        return default

    def quantity(self, key: str) -> Quantity | None:
        """Return a quantity; None if the field is absent."""
        value = self._body.get(key)
        return None if value is None else self.quantity_of(key, value)

    def amount(self, key: str) -> Quantity:
        """Return a quantity that must be there and must not be negative."""
        found = self.quantity(key)
        if found is None:
            self.invalid(key, "", "must be a quantity")
            return ZERO
        return self._not_negative(key, found)

    def quantity_of(self, key: str, value: object) -> Quantity:
        """Return the value of an entry as a quantity."""
        try:
            return quantities.parse(value)
        except ValueError:
            self.invalid(key, value, "must be a quantity")
            return ZERO

    def _not_negative(self, key: str, found: Quantity) -> Quantity:
        if found.nanos < 0:
            self.invalid(key, found, "must not be negative")
        return found

    def amounts(self, key: str) -> dict[str, Quantity]:
        """Return a map of names to quantities that are not negative."""
        entries = self.child(key)
        return {
            name: entries._not_negative(name, entries.quantity_of(name, value))  # noqa: SLF001
            for name, value in entries.raw_items()
        }

    def child(self, key: str) -> "Fields":
        """Return an object of this object; an empty one if it is absent."""
        return Fields(self._body.get(key), self.at(key), self.problems)

    def raw_items(self) -> Iterator[tuple[str, Any]]:
        """Yield all fields as they are."""
        yield from self._body.items()

    def entries(self) -> Iterator[tuple[str, "Fields"]]:
        """Yield the objects of a map."""
        for key, value in self._body.items():
            yield key, Fields(value, self.at(key), self.problems)

    def items(self, key: str) -> Iterator["Fields"]:
        """Yield the objects of a list."""
        for i, each in enumerate(self._list(key)):
            yield Fields(each, f"{self.at(key)}[{i}]", self.problems)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        values = self._list(key)
        for i, each in enumerate(values):
            if not isinstance(each, str):
                self.invalid(f"{key}[{i}]", each, "must be a string")
        return tuple(each for each in values if isinstance(each, str))

    def text_map(self, key: str) -> dict[str, str]:
        """Return a map of strings, such as labels."""
        return {name: each for name, each in self.child(key).raw_items() if isinstance(each, str)}

    def raw_list(self, key: str) -> list[Any]:
        """Return a list as it is."""
        return self._list(key)

    def _list(self, key: str) -> list[Any]:
        empty: list[Any] = []
        return self._value(key, list, empty, "must be a list")


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
