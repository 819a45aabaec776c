"""One cycle: many gangs decided on one snapshot. Open this file first."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Failure, Plan
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle_decisions import Decided
from gang_scheduler.scheduler.devices.extended import with_devices
from gang_scheduler.scheduler.elastic_pace import hold_back
from gang_scheduler.scheduler.place_or_preempt import Placing
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.turns.by_turns import by_turns
from gang_scheduler.scheduler.turns.quota import Quota

IN_ORDER: Final = 0.05
"""The cost of putting one group in order, in looks."""
FOR_ADMISSION: Final = 0.3
FOR_PLACES: Final = 0.7
"""Parts of the work that remains when a cycle comes to the groups of one priority.

The groups are checked until `FOR_ADMISSION` of it is used, and places are searched until
`FOR_PLACES` is. The rest is left for preemption, so that every cycle is done with some groups.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Cycle:
    """A cycle in progress, as a watch sees it; `quota` is None without queues."""

    placing: Placing
    quota: Quota | None


Watch = Callable[[Cycle, GangGroup], None]
"""Called right before a group is decided, with the decisions until then.

It must not change them.
"""


def schedule(
    snapshot: Snapshot,
    profile: Profile,
    watch: Watch | None = None,
    *,
    to_the_end: bool = False,
    begun: Callable[[Decided], None] | None = None,
) -> Plan:
    """Decide every group of the snapshot. Pure: the same snapshot gives the same plan.

    Groups that remain when the cycle has done its share of work are `untried`, except with
    `to_the_end`. If the decision of a group raises, the group is set aside as a failure, and all
    others are decided as if it did not exist. An error that is not about one group is raised.
    `begun` is called with the decisions before the first group, and `watch` before each group;
    neither may change anything.
    """
    paced = hold_back(with_devices(snapshot))
    failures: list[Failure] = []
    done: float = 0
    while True:
        decided = Decided()
        placing = Placing(paced.snapshot, profile, decided, to_the_end=to_the_end)
        queues, effort = paced.snapshot.queues, placing.trial.effort
        quota = None if queues is None else Quota(placing, queues)
        if watch is not None:
            placing.watch = functools.partial(watch, Cycle(placing, quota))
        # After a failure the cycle begins again. The work of earlier tries counts, so that failures
        # do not make a cycle longer.
        effort.count(done)
        if begun is not None:
            begun(decided)
        try:
            if quota is None:
                return paced.with_held_back(by_priority(placing, failures))
            return paced.with_held_back(by_turns(placing, quota, failures))
        except Exception as error:
            if decided.deciding is None:
                raise
            failures.append(Failure(decided.deciding, error))
            done = effort.done


def by_priority(placing: Placing, failures: Sequence[Failure]) -> Plan:
    """Decide all groups that have not failed, without queues: the highest priority comes first."""
    decided, progress, order = placing.decided, placing.progress, placing.profile.order
    # 1. Order the groups.
    failed = {each.group.name for each in failures}
    groups = (each for each in placing.snapshot.groups if each.name not in failed)
    keyed = [(order(group), group) for group in decided.each(groups)]
    ordered = [group for _, group in sorted(keyed, key=itemgetter(0))]
    progress.effort.count(IN_ORDER * len(ordered))
    for _, level in groupby(ordered, key=attrgetter("priority")):
        if decided.untried or (failures and progress.is_over()):
            # A lower priority takes no room before all groups of a higher one were tried.
            decided.leave_untried(*level)
        else:
            _decide_level(level, placing)
    # 8. Return the decisions, with a reason for every gang that waits.
    return placing.plan(failures)


def _decide_level(level: Iterable[GangGroup], placing: Placing) -> None:
    """Decide the groups of one priority: all of them, or as many as the cycle has looks for."""
    decided, progress, effort = placing.decided, placing.progress, placing.trial.effort
    is_first = not decided.groups
    for_admission, for_places = effort.limit_at(FOR_ADMISSION), effort.limit_at(FOR_PLACES)
    # 2. Set groups aside that cannot be tried, each with its reason.
    timely = progress.in_time(level, for_admission, one=is_first)
    ready = [each for group in timely if (each := placing.admitted(group))]
    # 3. At one priority every quorum comes before any surplus.
    tried = []
    for group in progress.in_time(ready, for_places, one=is_first):
        placing.place_quorums(group)
        tried.append(group)
    # 4. Then the surplus of elastic gangs, if room is left: none while quorums are untried.
    for group in decided.each(decided.with_room(tried)):
        if (decided.untried or progress.is_over(for_places)) and decided.with_surplus(group):
            decided.leave_untried(group)
        else:
            placing.place_surplus(group)
    # 5. If that moved quorums, try again the groups that did not fit, before lower priorities.
    for group in decided.each(placing.worth_another_try(tried)):
        placing.place_quorums(group)
    if decided.moved:
        placing.refresh_surplus(tried, placing.place_quorums, placing.place_surplus)
    # 6. A group that still does not fit may take the room of lower priorities.
    short = decided.short_of_room(tried)
    for group in progress.in_time(short, one=is_first):
        placing.make_room(group)
    # 7. If nothing made room, nodes may be requested.
    for group in decided.each(decided.without_room(tried) if placing.node_requests.is_on else ()):
        if group.waiting[0].key not in decided.untried:
            placing.ask_for_nodes(group)
