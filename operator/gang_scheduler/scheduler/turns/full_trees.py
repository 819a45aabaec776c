"""Groups that no turn can help: their tree has no quota left, and evictions would free none.

In a full cluster these are most groups, in each cycle. Groups of one queue that ask for the same
are judged once until anything is charged, so each group costs a look at what is known.
"""

from collections.abc import Callable, Hashable
from typing import Final

from gang_scheduler.model.api_words import Strategy
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import Queue
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle_decisions import Decided, Progress
from gang_scheduler.scheduler.turns import limits
from gang_scheduler.scheduler.turns.known_lines import Refusals
from gang_scheduler.scheduler.turns.lines import QueueLine
from gang_scheduler.scheduler.turns.quota import Quota, refusals_of
from gang_scheduler.scheduler.turns.shortages import KnownShortage

A_KNOWN_REQUEST: Final = 0.1
"""The cost of comparing the request of a group with the quota of its tree, in looks."""
A_KIND: Final = 0.3
"""The cost, in looks, of judging requests of one kind: their shortage, and what could be freed."""
A_REFUSAL: Final = 0.2
"""The cost of a refusal without a turn, in looks."""


class FullTrees:
    """Says which groups no turn can help, and refuses them without one.

    `part` is the part of the cycle's work until which groups are looked at. `note` is called with
    each refused group of a line with reserved room; with all refused groups if the cycle
    `is_watched`.
    """

    def __init__(
        self,
        quota: Quota,
        decided: Decided,
        progress: Progress,
        *,
        part: float,
        note: Callable[[GangGroup], None],
        is_watched: bool,
    ) -> None:
        self._quota = quota
        self._decided = decided
        self._progress = progress
        self._part = part
        self._note = note
        self._is_watched = is_watched
        self._short: dict[GangKey, KnownShortage] = {}

    def any_hope(self, line: QueueLine, groups: list[GangGroup]) -> bool:
        """Return whether a turn may help any of these groups of a line, looking from the last on.

        Groups that no turn can help are dropped. A group that the cycle has no work left to examine
        counts as one that a turn may help.
        """
        decided, progress, queue = self._decided, self._progress, line.queue
        may_promise = self._quota.reservations.may_give_more
        known = line.known
        is_known = not may_promise and self._quota.asks_as_known(known)
        alike: dict[object, KnownShortage | None] = {}
        while groups and progress.takes(A_KNOWN_REQUEST, self._part):
            place = len(groups) - 1
            if is_known and alike.get(known.kinds[place]) is not None:
                # No turn helps groups of this kind, whether or not they were decided already.
                del groups[known.first_alike(place) :]
                continue
            group = decided.deciding = groups[-1]
            key = group.waiting[0].key
            if key not in decided.refused and key not in decided.gangs:
                # A group that may be promised a start gets a turn: its shortage is not asked for.
                if may_promise and self._quota.may_be_promised(group, queue):
                    break
                if self._may_have_quota(group, queue, alike):
                    break
                if is_known and (short := self._short.get(key)) is not None:
                    known.kinds[place] = short.request.kind
            groups.pop()
        decided.deciding = None
        return bool(groups)

    def refuse(self, line: QueueLine, groups: list[GangGroup]) -> None:
        """Refuse groups of a line for lack of quota, from the last on, until a turn may help one.

        Refused groups are dropped. Facts that are the same for all groups of a queue are found
        once.
        """
        quota, queue = self._quota, line.queue
        if queue.strategy is Strategy.STRICT_FIFO or self._has_all_its_jobs(queue):
            return
        state = quota.reclaim_requests.state
        is_noted = self._is_watched or line.reserved > 0
        is_known = groups is line.groups and not is_noted
        is_known = is_known and not quota.reservations.may_give_more
        is_known = is_known and quota.asks_as_known(line.known)
        alike: dict[object, KnownShortage | None] = {}
        lendable: KnownShortage | None = None
        # A cycle without a turn goes on until there was one, and here there is none.
        progress, is_bounded = self._progress, bool(quota.tried)
        while groups and not (is_bounded and progress.is_done()):
            kind = line.known.kinds[len(groups) - 1] if is_known else None
            known = short = None if kind is None else quota.shortages.known_for_good(kind)
            if short is None:
                self._decided.deciding = groups[-1]
                short = self._shortage(groups[-1], queue, alike, state)
            if short is None or (short is not lendable and self._keeps_quota(queue, short)):
                break
            lendable = short
            if known is None:
                self._refuse_one(groups[-1], short.problem)
                if is_noted:
                    self._note(groups[-1])
                groups.pop()
            else:
                self._refuse_alike(line, short.problem)
        self._decided.deciding = None

    def _shortage(
        self,
        group: GangGroup,
        queue: Queue,
        alike: dict[object, KnownShortage | None],
        state: Hashable,
    ) -> KnownShortage | None:
        """Return the shortage of a group in this state of charges; None if a turn may help it."""
        key = group.waiting[0].key
        short = self._short.get(key)
        if short is None or short.judged_at != state:
            if self._may_have_quota(group, queue, alike):
                return None
            short = self._short.get(key)
        # A promise may have been withdrawn since the shortage was found.
        return None if self._quota.may_be_promised(group, queue) else short

    def _refuse_one(self, group: GangGroup, problem: Problem) -> None:
        self._progress.effort.count(A_REFUSAL)
        self._quota.set_aside(group, problem)

    def _refuse_alike(self, line: QueueLine, problem: Problem) -> None:
        """Refuse the groups at the end of a line whose requests are of one kind, and drop them."""
        last = len(line.groups)
        first = line.known.first_alike(last - 1)
        refusals = line.known.refusals(first, last, problem)
        if refusals is None:
            groups = self._decided.each(line.groups[: first - 1 if first else None : -1])
            by_gang = {
                each.gang.key: each for group in groups for each in refusals_of(group, problem)
            }
            refusals = Refusals(first, last, problem, by_gang)
            line.known.keep(refusals)
        self._progress.effort.count(A_REFUSAL * (last - first))
        self._decided.refused.update(refusals.by_gang)
        del line.groups[first:]

    def _may_have_quota(
        self, group: GangGroup, queue: Queue, alike: dict[object, KnownShortage | None]
    ) -> bool:
        """Return whether a group may have quota, now or by evictions; keep its shortage if not.

        `alike` are the shortages of its queue by kind of request, as long as nothing is charged.
        """
        key, shortages = group.waiting[0].key, self._quota.shortages
        request = self._quota.plain_request(group, queue)
        if request is None or not request.assignments:
            self._short.pop(key, None)
            return request is None
        kind = shortages.kind_of(request)
        if kind not in alike:
            self._progress.effort.count(A_KIND)
            alike[kind] = shortages.permanent_shortage(request)
        short = alike[kind]
        if short is None:
            self._short.pop(key, None)
            return True
        self._short[key] = short
        return False

    def _has_all_its_jobs(self, queue: Queue) -> bool:
        """Return whether a queue runs as many groups as it may: its groups wait for that first."""
        return limits.job_limit_problem(queue, self._quota.ledger.running[queue.ref]) is not None

    def _keeps_quota(self, queue: Queue, short: KnownShortage) -> bool:
        """Return whether a queue would keep quota for a group that lacks some."""
        charges = (assignment.charge for assignment in short.request.assignments)
        return bool(self._quota.ledger.kept(queue, charges))
