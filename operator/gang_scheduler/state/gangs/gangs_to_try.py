"""The gangs to try in the next cycle, and which others must be tried with them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs import set_aside
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.grouping import Grouping
from gang_scheduler.state.gangs.retries import LAST_RETRY_SECONDS, QueueingHints, Retries
from gang_scheduler.state.gangs.set_aside import SetAside, Untried
from gang_scheduler.state.gangs.vain_preemptions import VainRounds
from gang_scheduler.state.queues.quota_waits import QuotaWaits
from gang_scheduler.state.queues.reservations_in_force import Reservations

MANY = 1000
"""If a cycle has this many gangs, they are sorted by the order of the last such cycle."""


class GangsToTry:
    """The gangs to try: changed gangs, gangs whose pause has ended, and gangs that a cycle left."""

    def __init__(
        self,
        infos: Mapping[GangKey, GangInfo],
        schedulers: frozenset[str],
        grouping: Grouping,
        *,
        retries: Retries,
        queueing_hints: QueueingHints,
        quota_waits: QuotaWaits,
        reservations: Reservations,
    ) -> None:
        self.to_try: set[GangKey] = set()
        """Gangs that are due because they, or something that helps them, changed."""
        self.untried = Untried()
        self.set_aside = SetAside()
        self.vain_rounds = VainRounds()
        self._infos = infos
        self._schedulers = schedulers
        self._grouping = grouping
        self._retries = retries
        self._queueing_hints = queueing_hints
        self._quota_waits = quota_waits
        self._reservations = reservations
        self._round_began = 0
        self._sorted: list[GangKey] = []
        self._postponed = False

    def put_back(self, keys: Collection[GangKey]) -> None:
        """Try these gangs in the next cycle: the last one took them and did not decide."""
        self.untried.put_back(keys)
        self.to_try.update(keys)

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self.to_try.discard(key)
        self.untried.forget(key)
        self.vain_rounds.forget(key)

    def take(self, now: int, *, whole: bool) -> tuple[GangGroup, ...]:
        """Return the groups to try now, and expect a verdict on each of their waiting gangs.

        If very many gangs have changed and it is not `whole`, some of lower priority are left to
        the next cycle.
        """
        own = set(self.untried.own_turn(now))
        tried = own or self.to_try | self._due(now)
        left = set() if whole or own else self._left_out(tried)
        taken = tried - left if left else tried
        groups = list(self._grouping.groups(self._in_order(taken), now))
        groups += self._companions(groups, taken, now)
        taken = taken.union([key for group in groups for key in group.keys])
        self.untried.leave(left, now)
        self.untried.take(taken)
        self.to_try -= taken
        placed = self._grouping.take_placed()
        # Most groups are one gang, which waits.
        partly = (group for group in groups if len(group.waiting) < len(group.gangs))
        placed.update(gang.key for group in partly for gang in group.gangs if not gang.pending)
        for info in (self._infos[key] for key in placed):
            if not info.volume_waits.number:
                self._queueing_hints.note(info, None)
        waiting = self.vain_rounds.held_back((group for group in groups if group.waiting), now)
        return self._round_of(waiting, now)

    def _in_order(self, keys: set[GangKey]) -> list[GangKey]:
        """Return gangs sorted by their keys; fast if most of them were sorted before."""
        if len(keys) < MANY:
            return sorted(keys)
        found = [key for key in self._sorted if key in keys]
        if len(found) < len(keys):
            found = sorted([*found, *keys.difference(found)])
        self._sorted = found
        return found

    def _left_out(self, keys: AbstractSet[GangKey]) -> set[GangKey]:
        """Return the gangs for which this cycle has no time."""
        # Most gangs have no waiting member, and need no group.
        waiting = {key for key in keys if self._infos[key].has_pending(self._schedulers)}
        changed = self._grouping.not_kept(waiting)
        return set_aside.left_out(waiting, changed, self._infos, self._grouping.gangs_of_group)

    def _round_of(self, groups: Sequence[GangGroup], now: int) -> tuple[GangGroup, ...]:
        """Return the groups to try now; a group that was set aside comes after all others."""
        chosen, later = self.set_aside.round_of(groups, now)
        self._postponed = bool(later)
        self.put_back([gang.key for group in later for gang in group.gangs])
        return chosen

    def _due(self, now: int) -> set[GangKey]:
        """Return the gangs that are due although they have not changed since their last try.

        Gangs that a cycle has left come before gangs that were tried. The latter wait until the
        round is over, which takes a minute at most. Only preemptors whose room was freed do not
        wait.
        """
        if self.untried and now < self._round_began + LAST_RETRY_SECONDS:
            due = self.untried.keys() | self._queueing_hints.preemptors_helped()
        else:
            self._round_began = now
            due = self.untried.keys() | self._retries.due(now) | self._queueing_hints.helped()
        return due & self._infos.keys()

    def _companions(
        self, groups: Iterable[GangGroup], there: AbstractSet[GangKey], now: int
    ) -> Iterator[GangGroup]:
        """Yield the other groups that must be tried with these, because queues have an order.

        `there` are the gangs that were asked for, and `groups` are their groups.
        """
        waiting = (gang.queue for group in groups for gang in group.waiting)
        # Comparing by identity is fast: very many gangs are in few queues.
        queues = {id(queue): queue for queue in waiting if queue is not None}.values()
        if queues:
            found = self._quota_waits.companions(set(queues), there)
            found |= self._reservations.companions(now)
            found -= there
            if found:
                found.difference_update(gang.key for group in groups for gang in group.gangs)
                yield from self._grouping.groups(sorted(found), now)

    def next_retry(self) -> int | None:
        """Return the end of the first backoff, in seconds since the epoch."""
        pending = self._queueing_hints.pending or self._reservations.pending
        return 0 if pending or self._postponed else self._retries.next()
