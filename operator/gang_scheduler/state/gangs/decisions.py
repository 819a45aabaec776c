"""Decisions on gangs and their outcomes: verdicts, bindings, preemptions.

Each gang's record keeps the decision, the reason and the end of its wait.
"""

from collections.abc import Collection, Iterable
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.causes.gangs import CoolingDown, DecisionTooLong, SavesAwaited
from gang_scheduler.model.causes.queues import AskedAgain, DelaysReserved
from gang_scheduler.model.consequences import RetryAfter, Room
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Placed, Preemption, Refused, Warned
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import HELD, MAKING_ROOM, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.gangs.retries import (
    LAST_RETRY_SECONDS,
    REST_RETRY_SECONDS,
    TRIED_WITH_NODES,
)

WITH_BACKOFF = those_with(lambda rule: RetryAfter.TIME in rule.retry_after)
INCOMPLETE = those_with(lambda rule: Room.KEPT_FOR_MEMBERS in rule.room)
"""The reasons not to try a gang: it lacks members, or its group has a gang that cannot be tried."""
NOTED_ONCE: Final = TRIED_WITH_NODES - INCOMPLETE - MAKING_ROOM - HELD
"""For these reasons, a second refusal that equals the first changes at most the gang's pause."""


class Decisions:
    """Notes decisions on the gangs of a queue, and their outcomes."""

    def __init__(self, queue: GangQueue) -> None:
        self._queue = queue
        self._infos = queue.infos

    def placed(self, key: GangKey) -> None:
        """Note that the scheduler found room for a gang's quorum."""
        info = self._queue.info(key)
        # A refusal of the API server stands until the server accepts the binding.
        stands = self.failed_binds(key) > 0
        self._queue.queueing_hints.placed(info, info.verdict.refusal if stands else None)
        self._queue.grouping.release([key])
        self._queue.retries.placed(key)
        info.preemptor.end()
        info.preemptor.await_none()
        self._queue.vain_rounds.placed(key)
        info.attempt.placed()
        self._queue.changed.add(key)

    def has_room(self, key: GangKey) -> None:
        """Note that a gang would start by a plan that is not carried out: it is not refused."""
        info = self._infos.get(key)
        if info is not None and info.verdict.refusal is not None:
            self._queue.queueing_hints.note(info, None)

    def grown(self, placed: Placed, now: int) -> None:
        """Note that members of a gang are being bound, and grow the gang if it is elastic."""
        self._queue.info(placed.gang.key).scaling.grow((bind.pod.uid for bind in placed.binds), now)

    def shrunk(self, victims: Iterable[BoundPod], now: int) -> None:
        """Note the members that gangs lose by a decision that is carried out."""
        by_gang: dict[GangKey, list[str]] = {}
        for each in victims:
            by_gang.setdefault(each.gang, []).append(each.pod.uid)
        for key in self._infos.keys() & by_gang:
            if self._infos[key].scaling.shrink(by_gang[key], now):
                self._queue.changed.add(key)

    def refused(self, refusal: Refused, now: int, *, soon: bool = False) -> bool:
        """Note why a gang waits, and when to try again if no event comes before.

        `soon`: the same try may succeed if other gangs are not tried before it. Returns whether
        there is anything new: a gang may wait as before, and no moment has come for it.
        """
        info = self._queue.info(refusal.gang.key)
        if info.verdict.refusal is refusal and not soon and self._stands(info, refusal, now):
            return self._pause_again(info, refusal, now)
        refusal = info.preemptor.shown(refusal)
        known = info.verdict.refusal
        if known is not None and known is not refusal and known == refusal:
            # Many refusals repeat the refusal of the last cycle: all its consequences are kept.
            refusal = known
        deadline = self._queue.deadlines.of(info)
        late = deadline is not None and now >= deadline
        stands = self._queue.queueing_hints.stands(info, refusal, late=late)
        is_news = not stands or soon or late or self._queue.retries.has_come(info.key, now)
        if not stands:
            if info.verdict.is_news(refusal, late=late):
                self._queue.changed.add(info.key)
            elif known is not refusal:
                self._queue.reworded.add(info.key)
            self._queue.queueing_hints.refused(info, refusal, late=late)
        if refusal.reason not in TRIED_WITH_NODES:
            # The kept group depends on the nodes, which may have changed by the next try.
            self._queue.grouping.release([info.key])
        self._queue.vain_rounds.refused(info.key, refusal.reason)
        if refusal.reason not in MAKING_ROOM:
            info.preemptor.end()
            info.passes = None
        if refusal.reason in INCOMPLETE and any(True for _ in refusal.gang.nominated_members()):
            info.preemptor.await_members(now)
        elif info.preemptor.held_until is not None:
            info.preemptor.await_none()
        self._try_again(info, refusal, deadline, now, soon=soon)
        return is_news

    def _stands(self, info: GangInfo, refusal: Refused, now: int) -> bool:
        """Return whether all consequences of the refusal of a gang are noted already.

        This is so for most gangs that wait, after every cycle. Only a pause may start again.
        """
        queue = self._queue
        return (
            refusal.reason in NOTED_ONCE
            and not isinstance(refusal.cause, DelaysReserved)
            and info.preemptor.held_until is None
            and queue.queueing_hints.stands(info, refusal, late=info.verdict.late)
            and queue.reservations.first_overrun(info.key, now) is None
            and not queue.retries.has_come(info.key, now)
        )

    def _pause_again(self, info: GangInfo, refusal: Refused, now: int) -> bool:
        """Start the pause of a gang again, if its reason has one; return whether it is reported.

        A gang whose schedule timeout has ended is reported after each try: Events expire.
        """
        if refusal.reason not in WITH_BACKOFF:
            return False
        self._try_again(info, refusal, self._queue.deadlines.of(info), now, soon=False)
        return info.verdict.late

    def _try_again(
        self, info: GangInfo, refusal: Refused, deadline: int | None, now: int, *, soon: bool
    ) -> None:
        """Set the moment when a gang is tried again if no event comes before."""
        key, cause = info.key, refusal.cause
        overrun = self._queue.reservations.first_overrun(key, now)
        if soon or refusal.reason in WITH_BACKOFF or isinstance(cause, DelaysReserved):
            self._queue.retries.later(key, now, _first_after(now, deadline, overrun))
            return
        waited = self._queue.reservations.first_wait_ends(refusal, now)
        until = (
            cause.until if isinstance(cause, (CoolingDown, AskedAgain, DecisionTooLong)) else None
        )
        known = next_one = _first_after(now, deadline, overrun, waited, until)
        # Protection of running gangs ends with time alone: a minimum or maximum run time passes.
        if self._queue.quota_waits.may_take_back(refusal):
            look = now + LAST_RETRY_SECONDS
            next_one = look if next_one is None else min(look, next_one)
        if next_one is not None:
            self._queue.retries.at(key, next_one, known)
        held_until = info.preemptor.held_until
        if held_until is not None and now < held_until:
            self._queue.retries.no_later(key, held_until, now)

    def nominated(self, preemption: Preemption) -> None:
        """Note which gang the gangs of a preemption will start ahead of, once room is made."""
        if preemption.backfilled is not None:
            for gang in preemption.gangs:
                self._queue.info(gang.key).passes = preemption.backfilled.ahead_of

    def planned(self, placed: Placed) -> None:
        """Note which gang a suspended gang will start ahead of, once its pods are bound."""
        if placed.backfilled is not None:
            self._queue.info(placed.gang.key).passes = placed.backfilled.ahead_of

    def admitted(self, placed: Placed, now: int) -> None:
        """Record that a gang has found room, with the facts that are needed while it runs."""
        self._queue.queueing_hints.started_gangs.admitted(placed)
        if placed.gang.queue is None:
            return
        if placed.gang.quorum:
            info = self._queue.info(placed.gang.key)
            info.backfilled, info.admitted_here = placed.backfilled, True
            lasts = placed.gang.duration
            if placed.backfilled is None and info.passes is not None and lasts is not None:
                info.backfilled = Backfilled(now + lasts, info.passes)
            info.passes = None
            if info.backfilled is not None:
                self._queue.reservations.let_pass(info.backfilled)

    def warned(self, warned: Warned) -> None:
        """Record a problem that users should know, after the decision about the gang."""
        info = self._queue.info(warned.gang.key)
        info.verdict.warn(warned.problem)
        self._queue.changed.add(info.key)

    def confirmed(self, key: GangKey) -> None:
        """Note that the API server shows the node of a member, which can be evicted from now on."""
        info = self._infos.get(key)
        if info is not None and not info.observed.is_being_bound:
            self._queue.queueing_hints.started_gangs.runs(key)

    def bound(self, key: GangKey) -> None:
        """Note that all members of a plan were bound."""
        info = self._infos.get(key)
        if info is not None:
            self._queue.retries.bound(key)
            self._queue.queueing_hints.note(info, None)
            self._queue.changed.add(key)
            self._became_whole(info)

    def surplus_bound(self, gang: Gang, pods: Collection[Pod]) -> None:
        """Note that surplus members were bound: their gang does not wait for them."""
        info = self._infos.get(gang.key)
        if info is None:
            return
        self._queue.changed.add(gang.key)
        if gang.placed_singly or gang.quorum <= 1:
            self._became_whole(info)
        uids = {pod.uid for pod in pods}
        refusal = info.verdict.refusal
        if refusal is not None and uids.issuperset(pod.uid for pod in refusal.pods):
            self._queue.retries.bound(gang.key)
            self._queue.queueing_hints.note(info, None)

    def bind_failed(self, refusal: Refused, now: int) -> None:
        """Note why a binding failed, and pause before the next try, which may fail again."""
        key = refusal.gang.key
        info = self._infos.get(key)
        if info is not None:
            self._queue.queueing_hints.note(info, refusal)
            self._queue.changed.add(key)
            self._queue.to_try.discard(key)
            most = REST_RETRY_SECONDS if refusal.gang.partially_bound else LAST_RETRY_SECONDS
            self._queue.retries.after_failed_bind(key, now, self._queue.deadlines.of(info), most)

    def failed_binds(self, key: GangKey) -> int:
        """Return the number of bindings of a gang that failed in a row; it counts up to 5."""
        return self._queue.retries.failed_binds(key)

    def hold(self, key: GangKey, *, joins: bool = False) -> None:
        """Note that members wait for claims while their room is held.

        `joins`: the gang does not wait for these members.
        """
        info = self._infos.get(key)
        if info is not None:
            info.volume_waits.hold(joins=joins)

    def held(self, refusal: Refused) -> None:
        """Note the claims that keep a gang waiting while it holds room."""
        info = self._infos.get(refusal.gang.key)
        if info is None or not info.volume_waits.number:
            return
        before = info.verdict.refusal
        if before is None or before.cause != refusal.cause:
            self._queue.queueing_hints.note(info, refusal)
            self._queue.changed.add(info.key)

    def let_go(self, key: GangKey, *, joins: bool = False) -> None:
        """Note that members no longer wait for claims, and try the gang again."""
        info = self._infos.get(key)
        if info is None or not info.volume_waits.let_go(joins=joins):
            return
        refusal, left = info.verdict.refusal, info.volume_waits.number
        if not left and refusal and refusal.reason in HELD:
            self._queue.queueing_hints.note(info, None)
        self._queue.changed.add(key)
        self._queue.to_try.add(key)

    def preempting(
        self, keys: Iterable[GangKey], now: int, victims: Collection[str] = (), domain: str = ""
    ) -> None:
        """Note that victims, by their uids, are being evicted for these gangs."""
        for key in keys:
            self._queue.info(key).preemptor.begin(now, victims, domain)
            self._queue.changed.add(key)

    def saving(self, keys: Iterable[GangKey], awaited: SavesAwaited | None) -> None:
        """Record that these gangs wait until others have saved their work; None for no longer."""
        for key in self._infos.keys() & set(keys):
            info = self._infos[key]
            info.preemptor.await_saves(awaited)
            refusal = info.verdict.refusal
            if refusal is not None and refusal.reason in MAKING_ROOM:
                self._queue.queueing_hints.note(info, info.preemptor.shown(refusal))
            self._queue.changed.add(key)

    def preemption_over(self, keys: Iterable[GangKey]) -> None:
        """Note that the preemption for these gangs was given up; they are to be tried again."""
        for key in self._infos.keys() & set(keys):
            if self._infos[key].preemptor.end():
                self._queue.changed.add(key)
                self._queue.to_try.add(key)

    def preempted(self, key: GangKey, by: str) -> None:
        """Note the gang for which members of this one are evicted, until it is whole again."""
        info = self._infos.get(key)
        if info is not None:
            info.preempted.begin(by)
            self._queue.changed.add(key)

    def _became_whole(self, info: GangInfo) -> None:
        """Note that a gang is whole, before the watch shows it: a member may be gone by then."""
        if info.attempt.become_whole():
            # The gang holds back no other gang of its group any more. The cycle would not notice
            # this.
            mates = self._queue.grouping.gangs_of_group(info.key)
            waiting = (key for key in mates if not self._infos[key].attempt.was_whole)
            self._queue.to_try.update(waiting)


def _first_after(now: int, *moments: int | None) -> int | None:
    """Return the first moment after `now`; None if there is none."""
    # This runs for each gang that waits, after every cycle; `min` would take thrice as long.
    first = None
    for each in moments:
        if each is not None and now < each and (first is None or each < first):
            first = each
    return first
