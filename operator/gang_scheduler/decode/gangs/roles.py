"""The roles of a gang, as an annotation declares them."""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import json_fields
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.json_fields import GREATEST, JsonField
from gang_scheduler.model.gangs import Role

MOST_ROLES: Final = 64
WHERE: Final = field(annotations.ROLES)
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def read(present: Mapping[str, str]) -> tuple[Role, ...]:
    """Return the roles in rank order, empty if none are declared.

    Raises InvalidField for all that are invalid.
    """
    text = present.get(annotations.ROLES)
    return () if text is None else _roles(json_fields.read(WHERE, text))


def quorum(roles: Sequence[Role], minimum: int | None, where: str) -> int:
    """Return the sum of the minima of roles, which a `minimum` in the field `where` must be, too.

    `minimum` is None where the object says none. Raises InvalidField.
    """
    together = sum(each.min_member for each in roles)
    if minimum is not None and minimum != together:
        raise InvalidField(where, minimum, f"must be {together}, the sum of the minima in {WHERE}")
    return together


def _roles(found: JsonField) -> tuple[Role, ...]:
    if not isinstance(found.value, dict):
        raise found.wrong('must be an object such as {"master": 1, "worker": 2}')
    if not 0 < len(found.value) <= MOST_ROLES:
        problem = f"must name 1 to {MOST_ROLES} roles"
        raise InvalidField(found.path, len(found.value), problem)
    faults = Faults()
    for name in found.value:
        if not _LABEL_VALUE.fullmatch(name):
            faults.add(InvalidField(found.path, name, "must name roles by values that labels have"))
    roles = tuple(
        Role(name, faults.read(functools.partial(_minimum, name, value), 0))
        for name, value in found.value.items()
    )
    faults.check()
    if not 0 < sum(each.min_member for each in roles) <= GREATEST:
        raise found.wrong(f"must have minima of 1 to {GREATEST} in all")
    return roles


def _minimum(name: str, value: object) -> int:
    found = JsonField(f"{WHERE}.{name}", value)
    if found.whole_number() < 0:
        raise found.wrong("must be at least 0")
    return found.whole_number()
