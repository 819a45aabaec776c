"""The priorities that pods of templates will have: by their PriorityClass, as the API server says.

Pods come with their priority, templates only with the name of the class.
"""

from dataclasses import replace

from gang_scheduler.decode.gangs.suspended_workloads import VirtualGang
from gang_scheduler.decode.priority_classes import (
    PreemptionPolicy,
    Priorities,
    PriorityClass,
    priorities_of,
)
from gang_scheduler.model.pods import Pod


class PriorityClasses:
    """All PriorityClasses, by uid."""

    def __init__(self) -> None:
        self.by_uid: dict[str, PriorityClass] = {}
        self._known: Priorities | None = None

    def upsert(self, found: PriorityClass) -> bool:
        """Add or replace a class; return whether it says something else than before."""
        uid = found.metadata.uid
        before = self.by_uid.get(uid)
        self.by_uid[uid] = found
        self._known = None
        return before is None or _said(before) != _said(found)

    def delete(self, uid: str) -> bool:
        """Forget a class; return whether it was known."""
        self._known = None
        return self.by_uid.pop(uid, None) is not None

    def applied(self, gang: VirtualGang) -> VirtualGang:
        """Return members with the priorities of their classes."""
        pods = [self._with_priority(pod) for pod in gang.pods.prototypes]
        if all(after is before for after, before in zip(pods, gang.pods.prototypes, strict=True)):
            return gang
        return gang._replace(pods=gang.pods.with_prototypes(pods))

    def _with_priority(self, pod: Pod) -> Pod:
        if self._known is None:
            self._known = priorities_of(self.by_uid.values())
        named = pod.priority_class
        found = self._known.by_name.get(named) if named else self._known.default
        if found is None or (pod.priority and not named):
            return pod
        preempts = pod.preempts and found.preemption_policy is not PreemptionPolicy.NEVER
        name = named or found.metadata.name
        return replace(pod, priority=found.value, priority_class=name, preempts=preempts)


def _said(found: PriorityClass) -> tuple[object, ...]:
    return found.metadata.name, found.value, found.global_default, found.preemption_policy
