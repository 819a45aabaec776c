"""Settings as command-line options: flags, help texts, and messages about invalid values."""

import enum
import json
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gang_scheduler.api.pod_group import OneOf
from gang_scheduler.cli.exits import refuse
from gang_scheduler.cli.helping import OfSettings
from gang_scheduler.model.refs import EVERYWHERE
from gang_scheduler.settings.choices import ENV_PREFIX

Command = Callable[..., None]
Describe = Callable[[str, FieldInfo], str]
M = TypeVar("M", bound=BaseModel)
_ALL_WITHOUT_VALUE = ("require_queue",)
"""Settings whose flag may be given without a value, which then means all namespaces."""


def settings_options(model: type[BaseModel], describe: Describe) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for each setting of a Pydantic model.

    Pydantic checks the values.
    """

    def add(command: Command) -> Command:
        for name, field in reversed(model.model_fields.items()):
            command = _option(name, field, describe)(command)
        return command

    return add


def _option(name: str, field: FieldInfo, describe: Describe) -> Callable[[Command], Command]:
    flags: tuple[str, ...] = (flag(name),)
    given: dict[str, Any] = {"default": None}
    if field.annotation is bool:
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
    elif typing.get_origin(field.annotation) is tuple:
        # One name at a time, so that the flag reads better in the singular.
        flags, given = (*flags, _singular(flags[0])), {"multiple": True}
    if name in _ALL_WITHOUT_VALUE:
        given |= {"is_flag": False, "flag_value": EVERYWHERE}
    flags = tuple(dict.fromkeys(flags))
    told = describe(name, field)
    return click.option(*flags, name, cls=OfSettings, help=told, metavar=_metavar(field), **given)


def _singular(plural: str) -> str:
    for ending, of_one in (("ies", "y"), ("xes", "x"), ("s", "")):
        if plural.endswith(ending):
            return plural.removesuffix(ending) + of_one
    return plural


def settings_of(model: type[M], flags: Mapping[str, Any]) -> M:
    """Return the settings of the given flags; exits with a message if any is invalid."""
    # Click gives None for options that are absent, and () for absent repeatable options.
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    try:
        return model(**given)
    except ValidationError as error:
        # The last error of a field first: it names the invalid item, not the list that got too
        # short.
        first = {each["loc"][0]: each for each in reversed(error.errors())}
        refuse(
            _invalid(each["loc"], each["input"], each["msg"], given)
            for each in reversed(first.values())
        )


def flag(name: str) -> str:
    """Return the flag of a setting."""
    return f"--{name.replace('_', '-')}"


def with_variable(name: str, field: FieldInfo) -> str:
    """Return the help of a setting that an environment variable can set, too."""
    return f"{field.description} [{variable(name)}; default: {_default(field)}]"


def without_variable(_: str, field: FieldInfo) -> str:
    """Return the help of a setting that only a flag can set."""
    text = (field.description or "").replace(" (a JSON list in the environment)", "")
    return f"{text} [default: {_default(field)}]"


def _invalid(location: tuple[int | str, ...], value: object, problem: str, given: Any) -> str:  # noqa: ANN401
    name = str(location[0])
    where = flag(name) if name in given else variable(name)
    return f"{where}: {problem[:1].lower()}{problem[1:]}, not {json.dumps(value, default=str)}"


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{ENV_PREFIX}{name.upper()}"


def _default(field: FieldInfo) -> str:
    default = field.default
    if isinstance(default, tuple):
        return json.dumps(default)
    if isinstance(default, bool):
        return str(default).lower()
    return "empty" if default == "" else str(default)


def _metavar(field: FieldInfo) -> str | None:
    if field.annotation is bool:
        return None
    if isinstance(field.annotation, type) and issubclass(field.annotation, enum.Enum):
        some = (each.words for each in field.metadata if isinstance(each, OneOf))
        return "|".join(next(some, field.annotation))
    return "N" if field.annotation is int else "TEXT"
