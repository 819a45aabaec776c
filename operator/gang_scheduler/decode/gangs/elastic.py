"""Between how many workers a gang may grow and shrink, and at what pace, in an annotation."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import durations, json_fields
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.json_fields import JsonField
from gang_scheduler.model import remembered
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import Elastic, Role
from gang_scheduler.model.problems import Problem, Reason

BIND, REPLICAS = "Bind", "Replicas"
LONGEST_COOLDOWN_SECONDS: Final = 86_400
WHERE: Final = field(annotations.ELASTIC)
_FIELDS: Final = ("minWorkers", "maxWorkers", "scalePolicy", "role", "mode")
_POLICY: Final = ("scaleUpCooldown", "scaleDownCooldown", "scaleUpStep", "scaleDownStep")


def elastic_of(present: Mapping[str, str]) -> Elastic | None:
    """Return what annotations say of how a gang grows and shrinks; None if they say nothing.

    Raises InvalidField for all that is wrong. A mode that is known and not supported is fine here:
    `unsupported` tells.
    """
    text = present.get(annotations.ELASTIC)
    return None if text is None else _read(text)


def problem_of(pod: str, present: Mapping[str, str]) -> Problem | None:
    """Return what is wrong with the annotations of a member, by its namespace/name."""
    if annotations.ELASTIC not in present:
        return None
    try:
        elastic_of(present)
    except InvalidField as error:
        return Problem(Reason.INVALID_SPEC, InvalidInput(f"pod {pod}: {error}"))
    wrong = unsupported(present)
    if wrong is None:
        return None
    return Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(f"pod {pod}: {wrong}"))


def unsupported(present: Mapping[str, str]) -> InvalidField | None:
    """Return the mode that annotations ask for, if it is one that is not supported."""
    try:
        text = present.get(annotations.ELASTIC)
        mode = None if text is None else _fields(text, Faults())["mode"]
    except InvalidField:
        return None
    if mode is None or mode.value != REPLICAS:
        return None
    return InvalidField(mode.path, REPLICAS, f"is not supported: must be {BIND}")


def of_member(present: Mapping[str, str]) -> Elastic | None:
    """Return what the annotations of a member say; None, too, if they cannot be read."""
    try:
        return elastic_of(present)
    except InvalidField:
        return None


def contradiction(
    elastic: Elastic | None, roles: Sequence[Role], least: int, where: str
) -> InvalidField | None:
    """Return what contradicts in what a gang declares: its workers, its roles, its quorum.

    The quorum is `least`, in the field `where`.
    """
    if elastic is None:
        return None
    if elastic.role and (wrong := _role_contradicted(elastic, roles)):
        return wrong
    at_least = "at least " if elastic.role else ""
    if least == elastic.min_workers or (elastic.role and least > elastic.min_workers):
        return None
    text = f"must be {at_least}minWorkers {elastic.min_workers} of {WHERE}"
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
    return InvalidField(f"{WHERE}.minWorkers", elastic.min_workers, same)


@remembered.by_short_texts(4096)
def _read(text: str) -> Elastic:
    """Return what a text says. Remembered, as all members of a gang have the same one."""
    faults = Faults()
    fields = _fields(text, faults)
    faults.read(partial(_mode, fields["mode"]), BIND)
    found = Elastic(
        min_workers=faults.read(partial(_at_least_1, fields["minWorkers"]), 1),
        max_workers=faults.read(partial(_at_least_1, fields["maxWorkers"]), json_fields.GREATEST),
        role=faults.read(partial(_text, fields["role"], ""), ""),
    )
    if found.max_workers < found.min_workers:
        least = f"must be at least minWorkers {found.min_workers}"
        faults.add(InvalidField(fields["maxWorkers"].path, found.max_workers, least))
    found = faults.read(partial(_at_pace, found, fields["scalePolicy"]), found)
    faults.check()
    return found


def _fields(text: str, faults: Faults) -> Mapping[str, JsonField]:
    return json_fields.read(WHERE, text).fields(*_FIELDS, faults=faults)


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
    seconds = durations.seconds(found.text(), found.path, or_zero=True)
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
