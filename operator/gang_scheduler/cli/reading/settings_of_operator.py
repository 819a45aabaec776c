"""Settings given to a read-only command with --setting, which replace the operator's."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from gang_scheduler.cli.exits import refuse
from gang_scheduler.model import similar_names
from gang_scheduler.settings.policy import Policy

_JSON: Final = ("[", "{")
_INNER_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def policy_of(settings: Iterable[str]) -> Policy:
    """Return the settings given by texts such as `max-victims=3`.

    Names may be written as flags, as variables or as in the chart. Lists are JSON. Exits with a
    message if a text is no setting.
    """
    given = dict(map(_setting, settings))
    try:
        return Policy(**given)
    except ValidationError as error:
        refuse(
            f"--setting: {each['loc'][0]}: {each['msg'][:1].lower()}{each['msg'][1:]}"
            for each in error.errors()
        )


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    known = _INNER_CAPITAL.sub("_", name).replace("-", "_").lower()
    if not equals or known not in Policy.model_fields:
        near = similar_names.close_to(known, Policy.model_fields)
        meant = f"; did you mean {near[0]}?" if near else ""
        refuse([f"--setting: {text}: must be NAME=VALUE of a setting that decides{meant}"])
    try:
        return known, msgspec.json.decode(value) if value.startswith(_JSON) else value
    except msgspec.DecodeError as error:
        refuse([f"--setting: {known}: must be JSON: {error}"])
