"""`simulated`: no more victims than in a simulation of the same moment.

Source: docs/preemption.md: the cheapest victims.

The cluster is taken as it was when the first victim of a preemptor was marked, without the writes
of that plan. The program `simulate` then decides on it, as the scheduler would. So this rule finds
no error that both make.

It is the only rule that runs the judged code. It starts a process for each preemption, and is used
only for recordings, on demand.

Not flagged: fewer or other victims; a preemptor that waits in the simulation, since the scheduler
may have other settings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gang_auditor import victims
from gang_auditor.auditor import Limits
from gang_auditor.findings import Finding
from gang_auditor.objects import Kind, Pod, mapping, rows
from gang_auditor.watch_events import Object
from gang_auditor.world import Change, Due, World

LEASES: Final = Kind("coordination.k8s.io", "Lease")
Simulate = Callable[[Sequence[Object]], Mapping[str, Any]]
"""A function that decides on objects and returns the JSON of `simulate`."""


@dataclass
class _Plan:
    preemptor: str
    at: float
    objects: Sequence[Object]
    marked: dict[str, Pod] = field(default_factory=dict)


class Simulated:
    """Compares the victims of a preemption with the victims of a simulation."""

    name = "simulated"

    def __init__(self, limits: Limits, simulate: Simulate) -> None:
        self._simulate = simulate
        self._plans: dict[str, _Plan] = {}
        self._due: Due[_Plan] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note victims, and the cluster just before the first of them was marked."""
        for change in changes:
            pod, before = change.after, change.before
            mark = victims.mark_of(pod) if pod is not None else None
            if pod is None or mark is None or (before is not None and victims.is_marked(before)):
                continue
            plan = self._plans.get(mark.gang)
            if plan is None:
                plan = _Plan(mark.gang, change.at, _without(mark, world))
                self._plans[mark.gang] = plan
                self._due.add(change.at, plan)
            plan.marked[pod.uid] = pod
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:  # noqa: ARG002 - a rule's.
        """Compare the victims of each plan with a simulation."""
        for plan in self._due.take(now):
            del self._plans[plan.preemptor]
            decided = self._simulate(plan.objects)
            expected = [e for e in _of(decided, "victims") if e.get("preemptor") == plan.preemptor]
            starts = (*_of(decided, "bindings"), *_of(decided, "nominations"))
            is_placed = any(each.get("gang") == plan.preemptor for each in starts)
            if is_placed and len(plan.marked) > len(expected):
                names = sorted(each.key for each in plan.marked.values())
                details = {"victims": names, "simulated": [e.get("pod") for e in expected]}
                message = f"evicts {len(names)} pods, where a simulation evicts {len(expected)}"
                yield Finding(plan.at, self.name, f"Gang {plan.preemptor}", message, details)


def _of(decided: Mapping[str, Any], name: str) -> Sequence[Object]:
    return rows(decided, name)


def _without(mark: victims.Mark, world: World) -> list[Object]:
    """Return all objects as they were before the plan that made a mark wrote anything."""
    preemptor = victims.preemptor_of(mark, world)
    members = victims.members_of(preemptor, world) if preemptor is not None else []
    uids = {each.uid for each in members}
    found: list[Object] = []
    for each in world.everything():
        pod = Pod(each)
        if each.get("kind") != "Pod":
            found += [each] if Kind.of(each) != LEASES else []
        elif pod.uid in uids:
            status = {k: v for k, v in pod.status.items() if k != "nominatedNodeName"}
            found.append({**each, "status": status})
        elif victims.mark_of(pod) == mark:
            conditions = [e for e in rows(pod.status, "conditions") if not _is_mark(e)]
            metadata = {k: v for k, v in pod.metadata.items() if not k.startswith("deletion")}
            status = {**mapping(each, "status"), "conditions": conditions}
            found.append({**each, "metadata": metadata, "status": status})
        else:
            found.append(each)
    return found


def _is_mark(condition: Object) -> bool:
    return condition.get("type") == victims.DISRUPTION_TARGET
