"""PodGroups that a controller makes for its workload: the workload says the roles.

The controller counts all members in one number, where any of them would do.
"""

from dataclasses import fields, replace

from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.gang_specs import DEFAULTS, GangSpec
from gang_scheduler.model.gangs import Role


def with_roles_of(pod_group: GangSpec, workload: GangSpec) -> GangSpec:
    """Return the gang spec with the roles of the workload, and what else only that says.

    minMember then says how many there must be of the elastic role, beside all of those before it,
    unless the workload itself says between how many workers it may grow and shrink.
    """
    roles = workload.roles
    if not roles or pod_group.roles or pod_group.problem is not None:
        return pod_group
    names = [each.name for each in roles]
    if workload.elastic_role in names and workload.elastic is None:
        place = names.index(workload.elastic_role)
        others = sum(map(_all, roles[:place]))
        least = max(1, min(pod_group.min_member - others, _all(roles[place])))
        elastic = roles[place]._replace(min_member=least)
        roles = (*roles[:place], elastic, *roles[place + 1 :])
    return replace(
        pod_group,
        roles=roles,
        elastic=pod_group.elastic or workload.elastic,
        min_member=max(1, sum(each.min_member for each in roles)),
        topology_request=pod_group.topology_request or workload.topology_request,
        queue_request=pod_group.queue_request or workload.queue_request,
        options=_options(pod_group.options, workload.options),
    )


def _options(own: GangOptions, of_workload: GangOptions) -> GangOptions:
    """Return the options of a PodGroup, and those of its workload that the PodGroup leaves open."""
    said = {each.name: getattr(own, each.name) for each in fields(own)}
    others = {name: it for name, it in said.items() if it != getattr(DEFAULTS, name)}
    return replace(of_workload, **others)


def _all(role: Role) -> int:
    return role.min_member if role.max_member is None else role.max_member
