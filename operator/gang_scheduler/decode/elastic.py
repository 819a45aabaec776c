"""Elastic gangs in annotations: the limits for the number of workers, and the pace of changes."""

import functools
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import IS, Faults, InvalidField
from gang_scheduler.decode import fields as decode_fields
from gang_scheduler.decode.fields import GREATEST_INTEGER, JsonField
from gang_scheduler.model import records
from gang_scheduler.model.api_words import ELASTIC_KINDS
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.wording import field

BIND, REPLICAS = "Bind", "Replicas"
BY_REPLICAS: Final = frozenset[str](ELASTIC_KINDS)
"""The kinds that can have the mode Replicas."""
LONGEST_COOLDOWN_SECONDS: Final = 86_400
WHERE: Final = field(annotations.ELASTIC)
_FIELDS: Final = ("minWorkers", "maxWorkers", "scalePolicy", "role", "mode")
_POLICY: Final = ("scaleUpCooldown", "scaleDownCooldown", "scaleUpStep", "scaleDownStep")


def elastic_of(present: Mapping[str, str]) -> Elastic | None:
    """Return how the annotations let a gang grow and shrink; None without such annotations.

    Raises InvalidField with all faults. Each known mode is accepted here; `unsupported` says
    whether the object may have it.
    """
    text = present.get(annotations.ELASTIC)
    return None if text is None else _read(text)


def of_member(pod: str, present: Mapping[str, str]) -> tuple[Elastic | None, Problem | None]:
    """Return a member's annotation on growing and shrinking, and its fault.

    Messages name the member by its namespace/name. An unreadable annotation counts as None.
    """
    if annotations.ELASTIC not in present:
        return None, None
    try:
        elastic = elastic_of(present)
    except InvalidField as error:
        return None, Problem(Reason.INVALID_SPEC, InvalidInput(f"pod {pod}: {error}"))
    wrong = unsupported(present)
    if wrong is None:
        return elastic, None
    return elastic, Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(f"pod {pod}: {wrong}"))


def unsupported(present: Mapping[str, str], kind: str = "", why: str = "") -> InvalidField | None:
    """Return the fault of a mode that a workload of this kind cannot have; None if it can.

    Without a kind, the annotations are of a PodGroup or a pod, which have no number of replicas.
    `why` is a clause about the kind that says why it cannot have the mode.
    """
    if kind in BY_REPLICAS:
        return None
    try:
        text = present.get(annotations.ELASTIC)
        mode = None if text is None else _fields(text, Faults())["mode"]
    except InvalidField:
        return None
    if mode is None or mode.value != REPLICAS:
        return None
    *first, last = sorted(BY_REPLICAS)
    on = f"{', '.join(first)} or {last}"
    here = f" for {kind}{why}" if kind else " here"
    what = f"is not supported{here}, only in the annotations of a {on}: must be {BIND}"
    return InvalidField(mode.path, REPLICAS, what, IS)


def contradiction(
    elastic: Elastic | None, roles: Sequence[Role], least: int, where: str
) -> InvalidField | None:
    """Return the contradiction between the workers, the roles and the quorum of a gang.

    The quorum is `least`, in the field `where`.
    """
    if elastic is None:
        return None
    if elastic.role and (wrong := _role_contradicted(elastic, roles)):
        return wrong
    at_least = "at least " if elastic.role else ""
    if least == elastic.min_workers or (elastic.role and least > elastic.min_workers):
        return None
    text = f"must be {at_least}the minWorkers of {WHERE} ({elastic.min_workers})"
    return InvalidField(where, least, text)


def _role_contradicted(elastic: Elastic, roles: Sequence[Role]) -> InvalidField | None:
    minima = {each.name: each.min_member for each in roles}
    if minima and elastic.role not in minima:
        known = " or ".join(minima)
        return InvalidField(f"{WHERE}.role", elastic.role, f"must be {known}")
    of_role = minima.get(elastic.role, elastic.min_workers)
    if of_role == elastic.min_workers:
        return None
    same = f"must be {of_role}, the minimum of role {elastic.role}"
    return InvalidField(f"{WHERE}.minWorkers", elastic.min_workers, same, IS)


@records.by_short_texts(4096)
def _read(text: str) -> Elastic:
    """Return the parsed text. Remembered, as all members of a gang have the same one."""
    faults = Faults()
    fields = _fields(text, faults)
    mode = faults.read(partial(_mode, fields["mode"]), BIND)
    found = Elastic(
        min_workers=faults.read(partial(_at_least_1, fields["minWorkers"]), 1),
        max_workers=faults.read(
            partial(_at_least_1, fields["maxWorkers"]), decode_fields.GREATEST_INTEGER
        ),
        role=faults.read(partial(_text, fields["role"], ""), ""),
        by_replicas=mode == REPLICAS,
    )
    if found.max_workers < found.min_workers:
        least = f"must be at least minWorkers ({found.min_workers})"
        faults.add(InvalidField(fields["maxWorkers"].path, found.max_workers, least))
    found = faults.read(partial(_at_pace, found, fields["scalePolicy"]), found)
    faults.check()
    return found


def _fields(text: str, faults: Faults) -> Mapping[str, JsonField]:
    return decode_fields.read_json(WHERE, text).fields(*_FIELDS, faults=faults)


def _mode(found: JsonField) -> str:
    mode = _text(found, BIND)
    if mode not in (BIND, REPLICAS):
        raise found.wrong(f"must be {BIND} or {REPLICAS}")
    return mode


def _at_pace(elastic: Elastic, found: JsonField) -> Elastic:
    if found.value is None:
        return elastic
    faults = Faults()
    fields = found.fields(*_POLICY, faults=faults)
    up, down = (fields[name] for name in ("scaleUpStep", "scaleDownStep"))
    elastic = elastic._replace(
        up_cooldown=faults.read(partial(_cooldown, fields["scaleUpCooldown"]), 0),
        down_cooldown=faults.read(partial(_cooldown, fields["scaleDownCooldown"]), 0),
        up_step=faults.read(partial(_step, up), 1),
        down_step=faults.read(partial(_step, down), 1),
    )
    faults.check()
    return elastic


def _cooldown(found: JsonField) -> int:
    if found.value is None:
        return 0
    seconds = decode_fields.seconds(found.text(), found.path, or_zero=True)
    if seconds > LONGEST_COOLDOWN_SECONDS:
        raise found.wrong("must be at most 24h")
    return seconds


def _step(found: JsonField) -> int:
    return 1 if found.value is None else _at_least_1(found)


def _at_least_1(found: JsonField) -> int:
    number = found.whole_number()
    if number < 1:
        raise found.wrong("must be at least 1")
    return number


def _text(found: JsonField, default: str) -> str:
    return default if found.value is None else found.text()


# The roles of a gang, as an annotation declares them.

MOST_ROLES: Final = 64
WHERE_ROLES: Final = field(annotations.ROLES)
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def read_roles(present: Mapping[str, str]) -> tuple[Role, ...]:
    """Return the roles in rank order; empty without a declaration.

    Raises InvalidField with all faults.
    """
    text = present.get(annotations.ROLES)
    return () if text is None else _roles(decode_fields.read_json(WHERE_ROLES, text))


def quorum_of_roles(roles: Sequence[Role], minimum: int | None, where: str) -> int:
    """Return the sum of the minima of roles, which must equal the `minimum` in the field `where`.

    `minimum` is None if the object has none. Raises InvalidField.
    """
    together = sum(each.min_member for each in roles)
    if minimum is not None and minimum != together:
        raise InvalidField(
            where, minimum, f"must be {together}, the sum of the minima in {WHERE_ROLES}"
        )
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
            faults.add(
                InvalidField(found.path, name, "must be a name that a label can have as its value")
            )
    roles = tuple(
        Role(name, faults.read(functools.partial(_minimum, name, value), 0))
        for name, value in found.value.items()
    )
    faults.check()
    if not 0 < sum(each.min_member for each in roles) <= GREATEST_INTEGER:
        raise found.wrong(f"must have minima of 1 to {GREATEST_INTEGER} in all")
    return roles


def _minimum(name: str, value: object) -> int:
    found = JsonField(f"{WHERE_ROLES}.{name}", value)
    if found.whole_number() < 0:
        raise found.wrong("must be at least 0")
    return found.whole_number()
