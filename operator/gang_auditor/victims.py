"""Marks of victims: which pods were evicted for which gang."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from gang_auditor import gangs
from gang_auditor.gangs import NATIVE, GangName
from gang_auditor.objects import Kind, Pod, mapping

if TYPE_CHECKING:
    from gang_auditor.world import World

DISRUPTION_TARGET: Final = "DisruptionTarget"
REASON: Final = "PreemptionByScheduler"
MESSAGE: Final = re.compile(
    r"py-gang-scheduler: preempting to accommodate higher priority pods, "
    r"preemptor: (?P<gang>[^,]+), triggerpod: (?P<pod>\S+)"
)
PATTERNS: Final = ("py-gang-scheduler: preempting", "py-gang-scheduler: draining")
SINGLE: Final = Kind("", "Pod")


class Mark(NamedTuple):
    """The mark of a victim: its preemptor and a pod of the preemptor, each by name or by uid."""

    gang: str
    pod: str


def is_marked(pod: Pod) -> bool:
    """Return whether the judged scheduler has marked a pod as a victim."""
    condition = pod.condition(DISRUPTION_TARGET)
    own = str(condition.get("message") or "").startswith(PATTERNS)
    return own and condition.get("status") == "True" and condition.get("reason") == REASON


def mark_of(pod: Pod) -> Mark | None:
    """Return the mark of a pod; None if it is no victim of a gang."""
    if not is_marked(pod):
        return None
    found = MESSAGE.match(str(pod.condition(DISRUPTION_TARGET).get("message") or ""))
    return Mark(found["gang"], found["pod"]) if found else None


def gang_or_pod(pod: Pod) -> GangName:
    """Return the gang of a pod; a pod without a gang is a gang of its own."""
    return gangs.gang_of(pod) or GangName(SINGLE, pod.namespace, pod.name)


def preemptor_of(mark: Mark, world: "World") -> GangName | None:
    """Return the preemptor of a mark, by the pod that it names; None if that pod is gone."""
    for pod in world.named(mark.pod):
        return gang_or_pod(pod)
    return None


def members_of(gang: GangName, world: "World") -> list[Pod]:
    """Return the members of a gang; for a pod without a gang, the pod."""
    if gang.kind == SINGLE:
        return list(world.named(gang.object_key))
    return list(world.members(gang))


def priority_of(gang: GangName, world: "World") -> int | None:
    """Return the priority of a gang: the lowest priority of its object and its members."""
    present = [each.priority for each in members_of(gang, world) if not each.has_ended]
    if gang.kind == NATIVE:
        found = world.objects(NATIVE).latest(gang.object_key)
        priority = mapping(found or {}, "spec").get("priority")
        present += [priority] if isinstance(priority, int) else []
    return min(present, default=None)
