"""Reads a stored object into its model, or reports its invalid fields.

The API server checks most objects against our CRD, but not all. A CRD of the same name that another
product installed may check less, and files given to `simulate` have not been checked.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gang_scheduler.api.pod_group import ApiModel, CustomResource

Kind = TypeVar("Kind", bound=CustomResource)
T = TypeVar("T")
U = TypeVar("U")

LONGEST_SHOWN_VALUE: Final = 100
LONGEST_MESSAGE: Final = 8192
"""In characters. A condition may have 32 KiB, but it is written again with each change."""
MOST_FAULTS: Final = 8
LONGEST_FIELD: Final = 400
"""A key of an annotation has up to 317 characters."""
LONGEST_PROBLEM: Final = 2000
"""A problem may quote other fields of the object, or list all effects of taints."""

INSTEAD: Final = ", not {}"
"""Shows the value after a problem that says which values are valid: `must be at least 1, not 0`."""
IS: Final = " (it is {})"
"""Shows the value after any other problem: `must be absent with Exists (it is "a")`."""

# pydantic's error types in words that follow the name of a field.
PROBLEMS: Final = {
    "missing": "is required",
    "bool_type": "must be true or false",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "too_long": "must have at most {max_length} entries",
}

NOT_SHOWN: Final = ("missing", "string_too_short")
"""For a missing field pydantic reports the object around it; an empty text shows nothing."""


@dataclass(eq=False)
class InvalidField(ValueError):  # noqa: N818 - named after the problem, like the reasons users see
    """A field of a user's object that cannot be read, with its value and the fault.

    `value_as` is how the value is shown after the problem. A value of None is not shown.
    """

    field: str
    value: object
    problem: str
    value_as: str = INSTEAD

    def at(self, field: str) -> "InvalidField":
        """Return the same fault of another field, such as the field around this one."""
        return InvalidField(field, self.value, self.problem, self.value_as)

    def __str__(self) -> str:
        """Return a sentence for a condition or an Event, of bounded length."""
        field = shortened(printable(self.field[: 2 * LONGEST_FIELD]), LONGEST_FIELD)
        problem = shortened(printable(self.problem[: 2 * LONGEST_PROBLEM]), LONGEST_PROBLEM)
        if self.value is None:
            return f"{field} {problem}"
        # JSON needs at least one character for each, so the part cut off here is never shown.
        value = self.value[: 2 * LONGEST_SHOWN_VALUE] if isinstance(self.value, str) else self.value
        shown = json.dumps(value, default=str, ensure_ascii=False)[: 2 * LONGEST_SHOWN_VALUE]
        found = self.value_as.replace("{}", shortened(printable(shown)))
        return f"{field} {problem}{found}"


class InvalidFields(InvalidField):
    """Several unreadable fields of one object; the field and value are of the first one."""

    def __init__(self, faults: Sequence[InvalidField]) -> None:
        first = faults[0]
        super().__init__(first.field, first.value, first.problem, first.value_as)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """Return a sentence for each of the first few faults."""
        more = len(self.faults) - MOST_FAULTS
        told = "; ".join(map(str, self.faults[:MOST_FAULTS]))
        return f"{told}; and {more} more" if more > 0 else told


class Faults:
    """The faults of one object, collected so that all are reported at once."""

    def __init__(self) -> None:
        self._found: list[InvalidField] = []

    def read(self, reader: Callable[[], T], default: U) -> T | U:
        """Return the result of the reader, or the default after noting its InvalidField."""
        try:
            return reader()
        except InvalidField as error:
            self.add(error)
            return default

    def add(self, error: InvalidField) -> None:
        """Note a fault, or each of several."""
        self._found += error.faults if isinstance(error, InvalidFields) else (error,)

    def __bool__(self) -> bool:
        """Return whether anything is wrong."""
        return bool(self._found)

    def check(self) -> None:
        """Raise InvalidField if anything is wrong."""
        if self._found:
            raise self._found[0] if len(self._found) == 1 else InvalidFields(self._found)


def printable(text: str) -> str:
    r"""Return the text with \u and digits instead of characters that move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def message(text: str) -> str:
    """Return a readable text of bounded length, even for hostile user input."""
    return shortened(printable(text[: 2 * LONGEST_MESSAGE]), LONGEST_MESSAGE)


def shortened(text: str, most: int = LONGEST_SHOWN_VALUE) -> str:
    """Return the text, or as much of its beginning as people want to see."""
    return text if len(text) <= most else text[:most] + "..."


def parse_spec(kind_model: type[Kind], obj: Mapping[str, Any]) -> Kind:
    """Return the object as its model, or raise `InvalidField` for all its bad fields.

    The status never makes an object invalid: its unreadable fields are left out.
    """
    document = without_nulls(obj)
    status = document.pop("status", {})
    try:
        parsed = kind_model.model_validate(document)
    except ValidationError as error:
        faults = Faults()
        for each in error.errors():
            faults.add(invalid_field(each))
        faults.check()
        raise
    if not status:
        return parsed
    status_model = cast("type[ApiModel]", kind_model.model_fields["status"].annotation)
    return parsed.model_copy(update={"status": _readable_status(status_model, status)})


def _readable_status(status_model: type[ApiModel], status: object) -> ApiModel:
    """Return the status without the fields that cannot be read."""
    if not isinstance(status, Mapping):
        return status_model()
    try:
        return status_model.model_validate(status)
    except ValidationError as error:
        unreadable = {problem["loc"][0] for problem in error.errors()}
        return status_model.model_validate(
            {name: value for name, value in status.items() if name not in unreadable}
        )


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value without null fields, which Kubernetes treats as absent."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def invalid_field(error: ErrorDetails) -> InvalidField:
    """Return an error of pydantic as an InvalidField, with a problem from PROBLEMS."""
    words = PROBLEMS.get(error["type"], error["msg"])
    problem = words.format_map(error.get("ctx", {})) if error["type"] in PROBLEMS else words
    value = None if error["type"] in NOT_SHOWN else error["input"]
    value_as = IS if error["type"] == "string_too_long" else INSTEAD
    return InvalidField(path_of(error["loc"]), value, problem, value_as)


def path_of(location: Iterable[int | str]) -> str:
    """Return the path of a field as the API server writes it: `spec.minResources[a.b/gpu]`."""
    path = ""
    for step in location:
        if step == "[key]":
            continue  # pydantic's mark for the key of a map; the key itself came before it
        if isinstance(step, int) or not step.isidentifier():
            path += f"[{step}]"
        else:
            path += f".{step}"
    return path.removeprefix(".")
