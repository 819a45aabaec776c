"""What a plan says, by the names of pods, nodes and gangs."""

from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.report.words import messages


def nodes_of(plan: Plan) -> dict[str, str]:
    """Return pod name to node name for everything that a plan binds, in its order."""
    return {bind.pod.name: bind.node for placed in plan.placed for bind in placed.binds}


def gangs_placed(plan: Plan) -> list[str]:
    """Return the names of the gangs that a plan places, in its order."""
    return [placed.gang.key.name for placed in plan.placed]


def victims_of(plan: Plan) -> set[str]:
    """Return the names of the pods that a plan evicts."""
    return {each.pod.name for made in plan.preemptions for each in made.victims}


def nominations_of(plan: Plan) -> dict[str, str]:
    """Return pod name to node name for everything that a plan nominates, in its order."""
    return {bind.pod.name: bind.node for made in plan.preemptions for bind in made.nominations}


def reasons(plan: Plan) -> dict[str, str]:
    """Return gang name to reason for everything that a plan refuses."""
    return {refused.gang.key.name: refused.reason.value for refused in plan.refused}


def said_of(refused: Refused) -> str:
    """Return what a gang is told of its try to make room, "" where there was none."""
    return messages.of_preemption(refused.preemption) if refused.preemption else ""
