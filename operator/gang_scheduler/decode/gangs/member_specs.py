"""Gang specs that members declare, valid or not."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import fields, keys
from gang_scheduler.decode.gangs import elastic as elastic_annotation
from gang_scheduler.decode.gangs import gang_annotations
from gang_scheduler.decode.gangs import roles as role_annotations
from gang_scheduler.decode.gangs.gang_specs import (
    DEFAULTS,
    NO_ROLES,
    GangSpec,
    checked_together,
    invalid_spec,
    with_topology_request,
)
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey

MinMember = Callable[[Pod, tuple[Role, ...]], int]
"""What a member says of the quorum, beside the roles that it declares. Raises InvalidField."""


def by_members(key: GangKey, members: Iterable[Pod]) -> GangSpec | None:
    """Return the gang spec in the annotations of the oldest member whose annotations are valid.

    If no member's are, the problem is that of the oldest member; None without members. Where some
    live, these alone are asked.
    """
    return by_the_oldest(key, members, _min_available)


def by_the_oldest(
    key: GangKey,
    members: Iterable[Pod],
    min_member: MinMember,
    where: str = annotations.GANG_MIN_AVAILABLE,
) -> GangSpec | None:
    """Return the same where members say the quorum in another way, which raises InvalidField.

    The annotation `where` says it.
    """
    problem = None
    for pod in sorted(members, key=lambda each: (each.created_at, each.uid)):
        seen = GangSpec(key, pod.uid, created_at=pod.created_at)
        try:
            said = _said_by(pod, seen, min_member, where)
        except InvalidField as error:
            problem = problem or replace(seen, problem=invalid_spec(error))
        else:
            return checked_together(said, fields.field(where))
    return problem


def _said_by(pod: Pod, seen: GangSpec, min_member: MinMember, where: str) -> GangSpec:
    """Return the gang spec in the annotations of a member. Raises InvalidField for all faults."""
    faults, present = Faults(), pod.annotations
    other = present.get(annotations.GANG_MIN_AVAILABLE)
    if other is not None and other != present.get(where):
        text = f"is not read where {fields.field(where)} says the quorum"
        faults.add(InvalidField(fields.field(annotations.GANG_MIN_AVAILABLE), None, text))
    roles = faults.read(lambda: role_annotations.read(present), NO_ROLES)
    said = replace(
        seen,
        min_member=faults.read(lambda: min_member(pod, roles), 1),
        roles=roles,
        elastic=faults.read(lambda: elastic_annotation.elastic_of(present), None),
        options=faults.read(lambda: gang_annotations.read(present), DEFAULTS),
        topology_request=faults.read(lambda: gang_requests.network_topology_spec(present), None),
    )
    faults.check()
    return said


def by_itself(key: GangKey, members: Iterable[Pod]) -> GangSpec | None:
    """Return the gang spec of a pod without a gang; None if it has no topology request.

    A pod that has just been replaced under its name does not count any more.
    """
    for pod in members:
        if pod.living and annotations.NETWORK_TOPOLOGY_SPEC in pod.annotations:
            return with_topology_request(
                GangSpec(key, pod.uid, created_at=pod.created_at), pod.annotations
            )
    return None


def _min_available(pod: Pod, roles: tuple[Role, ...]) -> int:
    for present, key, where in (
        (pod.annotations, annotations.GANG_MIN_AVAILABLE, fields.field),
        (pod.labels, annotations.GANG_MIN_AVAILABLE_LABEL, keys.label_field),
    ):
        found = fields.whole_number(present, key, None)
        if found is not None:
            return role_annotations.quorum(roles, found, where(key)) if roles else found
    if roles:
        return role_annotations.quorum(roles, None, role_annotations.WHERE)
    raise InvalidField(fields.field(annotations.GANG_MIN_AVAILABLE), None, "is required")
