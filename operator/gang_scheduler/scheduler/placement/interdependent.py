"""Place members that depend on each other: one step at a time, each seeing the steps before.

Members depend on each other by affinity, by anti-affinity or spread over domains of several nodes,
or by volumes that only one pod can use. Each placed member then changes the room that every node
offers to the next one. If members must share a domain and the first member chooses one that is too
small, the other domains are tried.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Affinity, PodSelector
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import feasible_slots, scoring
from gang_scheduler.scheduler.placement.feasible_slots import (
    at_once,
    coupled,
    most_slots,
    offer_slots,
)
from gang_scheduler.scheduler.policies import Profile, ScoresOneByOne
from gang_scheduler.scheduler.trial import Share, Trial, number_in

MOST_ANCHORS: Final = 64
"""The most domains that are tried for members that must share one."""

Sizes = Mapping[PodClass, int]
"""How many members there are of each class."""
Open = Mapping[PodClass, BoolArray]
"""The nodes where members of a class may be; classes that are not in it may be on all nodes."""


def depend_on_each_other(pod_classes: Collection[PodClass], trial: Trial, profile: Profile) -> bool:
    """Return whether members of these classes must be placed step by step."""
    asking = [
        pod_class
        for pod_class in pod_classes
        if pod_class.pod_affinity or pod_class.storage or pod_class.devices
    ]
    if any(coupled(pod_class, trial, profile) for pod_class in asking):
        return True
    wanted = {
        each
        for pod_class in asking
        if pod_class.pod_affinity
        for each in pod_class.pod_affinity.approached
    }
    return any(wanted & pod_class.selected_by for pod_class in pod_classes)


def assume_interdependent(
    sizes: Sizes, at_least: int, rows: BoolArray | None, trial: Trial, profile: Profile
) -> list[Share]:
    """Take room for as many members as fit, if at least `at_least` do; else for none.

    `rows` are the nodes where members may be; None is all.
    """
    # A search always makes its first attempt. A first attempt in each of a thousand domains is
    # too much.
    if trial.effort.has_overrun():
        return []
    everywhere: Open = {} if rows is None else dict.fromkeys(sizes, rows)
    best, most = everywhere, -1
    for open_to in _ways(sizes, everywhere, trial, profile):
        if most >= 0 and not trial.effort.may_go_on():
            break
        with trial.all_or_nothing() as attempt:
            taken = _step_by_step(sizes, open_to, trial, profile)
            if number_in(taken) == sum(sizes.values()):
                attempt.commit()
                return taken
        if number_in(taken) > most:
            best, most = open_to, number_in(taken)
    if most < at_least:
        return []
    return _step_by_step(sizes, best, trial, profile, certain=most)


def _ways(sizes: Sizes, open_to: Open, trial: Trial, profile: Profile) -> Iterator[Open]:
    """Yield the nodes to try: all nodes; then single nodes, for shared claims; then single domains.

    The domains are those of the first affinity whose domain the members choose themselves.
    """
    yield open_to
    if any(trial.devices.is_undecided(each.devices) for each in sizes if each.devices):
        yield from _single_nodes(sizes, open_to, trial, profile)
    for pod_class in sizes:
        affinity = pod_class.pod_affinity.affinity if pod_class.pod_affinity is not None else None
        if affinity is not None and _anchors(affinity, sizes, trial):
            yield from _domains(pod_class, affinity, sizes, open_to, trial, profile)
            return


def _single_nodes(sizes: Sizes, open_to: Open, trial: Trial, profile: Profile) -> Iterator[Open]:
    """Yield each node that may hold all users of shared claims, the node with least room first."""
    users = [each for each in sizes if each.devices and trial.devices.is_undecided(each.devices)]
    needed = np.array([[sizes[each]] for each in users])
    room = np.array(
        [np.where(open_to.get(each, True), most_slots(each, trial, profile), 0) for each in users]
    )
    enough = np.flatnonzero((room >= needed).all(axis=0))
    # A pod that asks for nothing has 2**63-1 slots: clip before the sum.
    together = room[:, enough].clip(max=feasible_slots.slot_limit(trial)).sum(axis=0)
    for row in enough[np.argsort(together, kind="stable")][:MOST_ANCHORS]:
        here = np.arange(len(trial.nodes)) == row
        yield {**open_to, **{each: open_to.get(each, True) & here for each in users}}


def _anchors(affinity: Affinity, sizes: Sizes, trial: Trial) -> bool:
    """Return whether the first placed members choose the domain of an affinity.

    They do if the affinity selects members to be placed, and no pod in any domain.
    """
    if not any(affinity.selector in pod_class.selected_by for pod_class in sizes):
        return False
    return trial.pod_affinity.is_near_none(affinity.selector, affinity.keys)


def _domains(  # noqa: PLR0917 - what is placed, and where.
    pod_class: PodClass,
    affinity: Affinity,
    sizes: Sizes,
    open_to: Open,
    trial: Trial,
    profile: Profile,
) -> Iterator[Open]:
    """Yield the domains that may hold all members that the affinity concerns, tightest first."""
    columns = [trial.nodes.label(key) for key in affinity.keys]
    column = max(columns, key=lambda each: len(each.values))
    concerned = [
        each for each in sizes if each == pod_class or affinity.selector in each.selected_by
    ]
    room: list[IntArray] = []
    for each in concerned:
        here = np.where(open_to.get(each, True), most_slots(each, trial, profile), 0)
        held = label_domains.by_domain(column, here.clip(max=sizes[each]))
        room.append(held.clip(max=sizes[each]))
    together = np.sum(room, axis=0)
    needed = sum(sizes[each] for each in concerned)
    for code in np.lexsort((together, together < needed))[:MOST_ANCHORS].tolist():
        inside = column.codes == code
        yield {**open_to, **{each: open_to.get(each, True) & inside for each in concerned}}


def _step_by_step(
    sizes: Sizes, open_to: Open, trial: Trial, profile: Profile, *, certain: int = 0
) -> list[Share]:
    """Take room for as many members as fit, and try a class again once others are placed.

    If many classes attract each other, each would be tried again after each step of another. So the
    loop ends when the search has taken far more than its share of the effort. It never ends before
    the first try of each class, nor before `certain` members, which are known to fit, have room.
    """
    classes, left = list(sizes), list(sizes.values())
    drawn = _drawn(classes)
    taken: list[Share] = []
    to_try = {*range(len(classes))}
    while to_try:
        for number, pod_class in enumerate(classes):
            if number not in to_try:
                continue
            to_try.discard(number)
            found = _as_many_of(pod_class, left[number], open_to.get(pod_class), trial, profile)
            left[number] -= number_in(found)
            taken += found
            may_retry = number_in(taken) < certain or not trial.effort.has_overrun()
            if found and drawn and may_retry:
                # Only classes that are drawn to placed members may fit on more nodes than before.
                near = {each for key in pod_class.selected_by for each in drawn.get(key, ())}
                to_try |= {each for each in near if left[each] and each != number}
    return taken


def _drawn(classes: Sequence[PodClass]) -> Mapping[PodSelector, Sequence[int]]:
    """Return for each selector the indexes of the classes with affinity to the pods it selects."""
    found: dict[PodSelector, list[int]] = {}
    for number, pod_class in enumerate(classes):
        asked = pod_class.pod_affinity
        for selector in asked.approached if asked is not None else ():
            found.setdefault(selector, []).append(number)
    return found


def _as_many_of(
    pod_class: PodClass, number: int, rows: BoolArray | None, trial: Trial, profile: Profile
) -> list[Share]:
    taken: list[Share] = []
    while number:
        trial.effort.spend(looks(len(trial.nodes)))
        share = _step(pod_class, number, rows, trial, profile)
        if share is None or not len(share.rows):
            break
        trial.assume(share)
        taken.append(share)
        number -= int(share.counts.sum())
    return taken


def _step(
    pod_class: PodClass, number: int, within: BoolArray | None, trial: Trial, profile: Profile
) -> Share | None:
    """Return room for as many members as may be placed at once; None if no node has any."""
    is_coupled = coupled(pod_class, trial, profile)
    caps = at_once(pod_class, trial, profile) if is_coupled else None
    if is_coupled and caps is None:
        found = place_one_by_one(pod_class, number, within, trial, profile)
        if found is not None:
            return found
    slots = offer_slots(pod_class, trial, profile).clip(max=number)
    if within is not None:
        slots = np.where(within, slots, 0)
    if not slots.any():
        return None
    if not is_coupled:
        return scoring.fill(pod_class, slots, min(number, int(slots.sum())), trial, profile)
    rows = scoring.rank(pod_class, slots, trial, profile)
    if caps is None:
        return Share(pod_class, rows[:1], np.ones(1, dtype=np.int64))
    counts = _capped(slots[rows], caps.domains[rows], np.append(caps.most, number))
    counts = _capped(counts, np.zeros_like(rows), np.array([number]))
    return Share(pod_class, rows[counts > 0], counts[counts > 0])


def _capped(counts: IntArray, codes: IntArray, most: IntArray) -> IntArray:
    """Cut the counts to the most that each domain may have.

    Earlier entries are served first. A code of -1 stands for the last domain.
    """
    order = np.argsort(codes, kind="stable")
    together = np.cumsum(counts[order])
    first = np.searchsorted(codes[order], codes[order])
    before = together - counts[order] - (together - counts[order])[first]
    allowed = np.zeros_like(counts)
    allowed[order] = (most[codes[order]] - before).clip(0, counts[order])
    return allowed


# Place pods of one class one by one, where each changes the room that nodes offer to the next.
# Running all filters on all nodes for each pod would cost too much. So only the changes that a pod
# makes are updated, in a few vector operations.

NODES_A_LOOK: Final = 5_000
"""The number of nodes to which one look offers a pod."""


def place_one_by_one(
    pod_class: PodClass, number: int, rows: BoolArray | None, trial: Trial, profile: Profile
) -> Share | None:
    """Return the nodes for this many pods, or for as many as fit. The trial does not change.

    `rows` are the nodes where pods may be; None is all. The result is None if a filter has to look
    at all nodes again after each pod.
    """
    found = feasible_slots.one_by_one(pod_class, trial, profile)
    if found is None:
        return None
    left, filters = found
    left = left.copy() if rows is None else np.where(rows, left, 0)
    preferences = [
        (weight, preference.one_by_one(pod_class, trial))
        for weight, preference in profile.preferences
        if preference.concerns(pod_class, trial)
    ]
    everywhere = np.arange(len(left))
    # A key is split into as many parts as there are nodes, so that ties go by `scoring.order`.
    ties = np.argsort(np.argsort(scoring.order(pod_class, everywhere, trial)))
    keys = profile.fill_order(1, pod_class, everywhere, trial) * len(left) + ties
    counts = np.zeros_like(left)
    for _ in range(number):
        open_ = left > 0
        for each in filters:
            open_ &= each.open()
        row = _first(open_, keys, preferences)
        if row is None:
            break
        counts[row] += 1
        left[row] -= 1
        here = everywhere[row : row + 1]
        key = int(profile.fill_order(int(counts[row]) + 1, pod_class, here, trial)[0])
        keys[row] = key * len(left) + ties[row]
        for each in filters:
            each.placed(row)
        for _, preference in preferences:
            preference.placed(row)
    taken = np.flatnonzero(counts)
    trial.effort.spend(int(counts.sum()) * (1 + len(left) // NODES_A_LOOK))
    return Share(pod_class, taken, counts[taken])


def _first(
    open_: BoolArray, keys: IntArray, preferences: Sequence[tuple[int, ScoresOneByOne]]
) -> int | None:
    """Return the open node with the best score, then the least key; None if none is open."""
    if preferences and open_.any():
        raw = [(weight, preference.score()) for weight, preference in preferences]
        total = scoring.weighed(raw, open_)
        open_ &= total == total.max(where=open_, initial=-UNLIMITED)
    row = int(np.where(open_, keys, UNLIMITED).argmin())
    return row if open_[row] else None
