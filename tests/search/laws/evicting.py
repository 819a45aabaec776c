"""Laws on victims: only evictable pods, whole gangs, and no cheaper room can be made."""

from collections.abc import Iterator

import numpy as np

from search import evicting, seating
from search.cases import Case
from search.evicting import MOST_LOSSES, Contest, Losses, Masks
from search.groups import Group
from search.laws.conserving import refused


def victims_may_go(case: Case) -> Iterator[str]:
    """Check that victims are evictable, of a lower priority, and not of the group itself."""
    for key, by in case.once.cycles[0].victims.items():
        pod, group = case.pods[key], case.group_of(by)
        assert group is not None, by
        if not evicting.may_go(pod, case.gangs[pod.gang], group):
            yield f"{key} must not go for {by}"


def gangs_go_whole(case: Case) -> Iterator[str]:
    """Check that a gang that falls under its minimum by losing a member loses all of them."""
    victims = case.once.cycles[0].victims
    for gang in case.gangs.values():
        there = [p for p in case.running if p.gang == gang.name and p.ours and not p.deleting]
        gone = [pod for pod in there if pod.key in victims]
        for role, spare in gang.spare.items() if len(gone) < len(there) else ():
            if len(gang.of_role(role, gone)) > spare:
                yield f"{gang.name} keeps {len(there) - len(gone)} of {dict(gang.roles)}"


def highest_ranks_go_first(case: Case) -> Iterator[str]:
    """Check that a gang of numbered members loses none while one after it stays."""
    victims = case.once.cycles[0].victims
    for gang in case.gangs.values():
        there = [p for p in case.running if p.gang == gang.name and p.ours and not p.deleting]
        gone = {pod.key for pod in there if pod.key in victims}
        if not gone or len(gone) == len(there) or not evicting.are_numbered(gang, there):
            continue
        group = case.group_of(victims[min(gone)])
        assert group is not None, gang.name
        able = [pod for pod in there if evicting.may_go(pod, gang, group)]
        first = [pod.key for pod in evicting.in_turn(gang, able, gang.spare)[: len(gone)]]
        if {*first} != gone:
            yield f"{gang.name} loses {sorted(gone)}, and not {sorted(first)}"


def plans_are_complete(case: Case) -> Iterator[str]:
    """Check that a preemptor is nominated with all members that its gangs lack."""
    cycle = case.once.cycles[0]
    for by in dict.fromkeys(cycle.victims.values()):
        group = case.group_of(by)
        assert group is not None, by
        if group.peaceful:
            yield f"{by} has a member that never preempts"
        for gang in group.gangs:
            coming = {**cycle.binds, **cycle.nominations}
            for role, least in gang.roles.items():
                waiting = gang.of_role(role, gang.waiting)
                left = [pod.key for pod in waiting if pod.key not in coming]
                found = len(gang.of_role(role, gang.bound)) + len(waiting) - len(left)
                if found < least and left:
                    yield f"{gang.name} evicts, and will have {found} of {least} {role}"


def none_evicts_in_vain(case: Case) -> Iterator[str]:
    """Check that no pods are evicted for a quorum that fits beside them."""
    for group, contest, losses in _contests(case):
        victims = {k for k, by in case.once.cycles[0].victims.items() if case.group_of(by) is group}
        if victims and contest.fits_without([]):
            yield f"{group.gangs[0].name} evicts {sorted(victims)}, and fits without that"
        del losses


def victims_are_the_cheapest(case: Case) -> Iterator[str]:
    """Check that no other victims cost less; so none of them can be spared."""
    if not _is_comparable(case):
        return
    for group, contest, losses in _contests(case):
        victims = {k for k, by in case.once.cycles[0].victims.items() if case.group_of(by) is group}
        if not victims or not losses.budgets.is_plain(case.running):
            continue
        preemptors = {*case.once.cycles[0].victims.values()}
        if len(preemptors) > 1 and (losses.budgets.allowed or _lean_on_others(case)):
            continue  # What others of the cycle use of a budget, or must have near, is not known.
        mask = losses.mask_of(victims)
        if {pod.key for pod in losses.pods(mask[0])} != victims:
            continue  # Another law tells of that.
        better = _cheaper(losses, mask)
        found = evicting.first_that_fits(contest, losses, better)
        if found is not None:
            names = sorted(pod.key for pod in found)
            costs = losses.costs(np.vstack([mask, losses.mask_of({*names})]), 0).tolist()
            yield f"{sorted(victims)} go at {costs[0]}, and {names} would do at {costs[1]}"


def _lean_on_others(case: Case) -> bool:
    """Return whether pods that were nominated must have others near them."""
    return any(case.pods[key].has_pod_affinity for key in case.once.cycles[0].nominations)


def room_is_made_if_it_can_be(case: Case) -> Iterator[str]:
    """Check that a quorum waits for room only where no victims would make it."""
    if any(pod.marked_as_victim for pod in case.running) or _lean_on_others(case):
        return
    waiting = [*refused(case)]
    for group, contest, losses in _contests(case):
        if group not in waiting or group.peaceful or all(g.started for g in group.waiting):
            continue
        if case.loses_members(group):
            continue
        masks = losses.masks()
        masks = masks[np.argsort(-masks.sum(axis=1), kind="stable")]
        found = evicting.first_that_fits(contest, losses, masks)
        if found:
            yield f"{group.gangs[0].name} waits, and {[pod.key for pod in found]} could go"


def _cheaper(losses: Losses, mask: Masks) -> Masks:
    """Return the sets that cost less than this one whenever it is that they are weighed."""
    masks = losses.masks()
    keep = np.ones(len(masks), dtype=bool)
    for late in (0, 150):
        costs, own = losses.costs(masks, late), losses.costs(mask, late)[0]
        less, equal = np.zeros(len(masks), dtype=bool), np.ones(len(masks), dtype=bool)
        for column in range(costs.shape[1]):
            less |= equal & (costs[:, column] < own[column])
            equal &= costs[:, column] == own[column]
        keep &= less
    found = masks[keep]
    return found[np.lexsort(losses.costs(found, 0).T[::-1])]


def _is_comparable(case: Case) -> bool:
    """Return whether victim costs are comparable: no mixed priorities, no pod marked before."""
    return not case.has_mixed_gangs and not any(pod.marked_as_victim for pod in case.running)


def _contests(case: Case) -> Iterator[tuple[Group, Contest, Losses]]:
    """Yield the groups that did not fit, each as it was when it was decided."""
    cycle = case.once.cycles[0]
    if not case.is_clear or any(pod.nominated for pod in case.pods.values()):
        return
    taken: dict[str, str] = {}
    gone: set[str] = set()
    for group in case.groups:
        own = {pod.key for pod in group.pods}
        if own & cycle.cut_off:
            return  # What is best for it, and so for those after it, was not promised.
        if own & cycle.binds.keys() and not own & cycle.nominations.keys():
            continue
        quorum = seating.first_quorum(group) if group.is_simple and not _is_drawn(group) else None
        decided = {k: n for k, n in cycle.binds.items() if _before(case, k, group)}
        room = case.room([*decided.items(), *taken.items()], gone, later=True)
        losses = Losses(case, group, frozenset(gone))
        if quorum and len(losses.bits) <= MOST_LOSSES:
            yield group, Contest(group.crowds(case.trees, quorum), room), losses
        taken.update((k, n) for k, n in cycle.nominations.items() if k in own)
        gone |= {k for k, by in cycle.victims.items() if case.group_of(by) is group}


def _before(case: Case, key: str, group: Group) -> bool:
    other = case.group_of(case.pods[key].gang)
    return other is not None and other.priority >= group.priority


def _is_drawn(group: Group) -> bool:
    """Return whether it wants other pods beside it: those are not evicted for it."""
    return any("podAffinity" in (pod.spec.get("affinity") or {}) for pod in group.pods)


LAWS = (
    victims_may_go,
    gangs_go_whole,
    highest_ranks_go_first,
    plans_are_complete,
    none_evicts_in_vain,
    victims_are_the_cheapest,
    room_is_made_if_it_can_be,
)
