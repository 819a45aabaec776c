"""Why members did not fit: first as data, and as text only at the edge."""

from collections import Counter

import numpy as np

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Misfit, Refused
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Trial


def diagnose(ask: Ask, trial: Trial, profile: Profile) -> tuple[tuple[str, int], ...]:
    """Return (reason, nodes) for one more pod of this class, most nodes first.

    The first filter that rejects a node gives its reason, as in kube-scheduler. Called once a
    gang that does not fit.
    """
    counts: Counter[str] = Counter()
    left = np.ones(len(trial.nodes), dtype=np.bool_)
    for each in profile.node_filters:
        rejected = left & ~each.passes(ask, trial.nodes)
        if rejected.any():
            counts += each.reasons(ask, trial.nodes, rejected)
            left &= ~rejected
    for room in profile.room_filters:
        rejected = left & (room.slots(ask, trial) == 0)
        if rejected.any():
            counts += room.reasons(ask, trial, rejected)
            left &= ~rejected
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def describe(refused: Refused) -> str:
    """Return the message for people: kube-scheduler's words, then what the gang is short of."""
    if refused.misfit is None:
        return refused.detail
    nodes = _nodes(refused.misfit)
    if refused.left_over:
        return f"{nodes} The quorum has a place; {_members(refused)} waits for room."
    if refused.gang.satisfied:
        return f"{nodes} Gang {refused.gang.key} has started; {_members(refused)} waits for room."
    if refused.misfit.needs == 1 and len(refused.pods) == 1:
        return nodes
    return f"{nodes} {_shortfall(refused.gang, refused.misfit)}"


def _nodes(misfit: Misfit) -> str:
    if misfit.nodes == 0:
        return "no nodes available to schedule pods."
    reasons = ", ".join(f"{number} {words}" for words, number in misfit.rejections)
    return f"0/{misfit.nodes} nodes are available: {reasons}."


def _members(refused: Refused) -> str:
    number = len(refused.pods)
    return "1 more member" if number == 1 else f"each of {number} more members"


def _shortfall(gang: Gang, misfit: Misfit) -> str:
    if misfit.fits == 0:
        return f"Gang {gang.key} needs room for {misfit.needs} members at once."
    return (
        f"This is once {misfit.fits} of the {misfit.needs} members that gang {gang.key} needs at "
        "once have a place."
    )
