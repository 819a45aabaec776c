"""Errors for fields of a job that cannot be honoured."""

from collections.abc import Iterable
from typing import Final

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

_PREFIX: Final = "Value error, "
_TEXTS: Final = {
    "extra_forbidden": "there is no such field",
    "string_pattern_mismatch": "must be a name of lower-case letters, digits and dashes",
}


class Refused(Exception):  # noqa: N818 - reads as what it is.
    """A field of a job that cannot be honoured, with its value and the reason."""

    def __init__(self, field: str, value: object, problem: str) -> None:
        shown = "" if value is None else f" {value}"
        super().__init__(f"{field}:{shown} {problem}" if field else problem)
        self.field = field
        self.value = value
        self.problem = problem

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each fault."""
        return (str(self),)


class Faults(Refused):
    """Several faults at once, one line per fault."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = tuple(lines)
        super().__init__("", None, "; ".join(self._lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each fault."""
        return self._lines


def of_validation(error: ValidationError, place: str = "") -> Faults:
    """Return the faults of a job, each with its field and value."""
    return Faults(_line(dict(each), place) for each in error.errors())


def _line(fault: dict[str, object], place: str) -> str:
    location = fault["loc"]
    parts = location if isinstance(location, tuple) else ()
    field = ".".join(to_camel(each) if isinstance(each, str) else str(each) for each in parts)
    text = _TEXTS.get(str(fault["type"])) or str(fault["msg"]).removeprefix(_PREFIX)
    if text.startswith(("Input", "String")):
        text = text[:1].lower() + text[1:]
    given = fault.get("input")
    shown = f" {given}" if isinstance(given, str | int) and field else ""
    return f"{place}{field}:{shown} {text}" if field else f"{place}{text}"
