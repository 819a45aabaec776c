"""Takes a plan into the state: its decisions count from then on, before the API server knows.

Used by the loop, by `simulate` and by tests. They differ only in the part that writes the decisions
(`Writers`).
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Protocol

from gang_scheduler import internal_errors
from gang_scheduler.apply.binder import Binder
from gang_scheduler.apply.evictor import Evictor
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.outcomes import GangBinding
from gang_scheduler.apply.workloads.starts import Admitter, Suspender
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.gangs import InternalError
from gang_scheduler.model.plan import Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.queues.reservations_in_force import News


class Writers(Protocol):
    """Writes decisions in the background; the state already counts them as done.

    If a method raises, only the gangs of that call are affected.
    """

    def stop_preempting(self, uids: Iterable[str]) -> None:
        """Stop preemptions for pods that have found room without them."""

    def bind(self, together: Sequence[Placed]) -> None:
        """Begin to bind gangs that start together. All are taken back if this raises."""

    def is_preempting(self, preemption: Preemption) -> bool:
        """Return whether everything that a preemption would do is under way."""

    def preempt(self, preemption: Preemption) -> None:
        """Begin to make room, or only to clear the nominations of displaced pods."""

    def admit(self, admission: Admission) -> None:
        """Begin to start a suspended workload."""

    def suspend(self, suspension: Suspension) -> None:
        """Begin to suspend a workload that was started."""


class BinderAndEvictor:
    """Writes plans to the API server, in the background. Every binding has a plan id of its own."""

    def __init__(
        self,
        binder: Binder,
        evictor: Evictor,
        admitter: Admitter | None = None,
        suspender: Suspender | None = None,
    ) -> None:
        self._binder = binder
        self._evictor = evictor
        self._admitter = admitter
        self._suspender = suspender
        self._run_id = token_hex(4)
        self._plans = 0
        self.cycle = 0

    def stop_preempting(self, uids: Iterable[str]) -> None:
        """Stop preemptions for pods that have found room without them."""
        self._evictor.placed(uids)

    def bind(self, together: Sequence[Placed]) -> None:
        """Queue the bindings of gangs that start together, after their claims."""
        self._binder.submit([GangBinding(placed, self._plan_id()) for placed in together])

    def is_preempting(self, preemption: Preemption) -> bool:
        """Return whether everything that a preemption would do is under way."""
        return self._evictor.is_preempting(preemption)

    def preempt(self, preemption: Preemption) -> None:
        """Queue the writes of a preemption."""
        self._evictor.submit(preemption)

    def admit(self, admission: Admission) -> None:
        """Queue the start of a suspended workload."""
        if self._admitter is not None:
            self._admitter.submit(admission)

    def suspend(self, suspension: Suspension) -> None:
        """Queue the suspension of a workload that was started."""
        if self._suspender is not None:
            self._suspender.submit(suspension)

    def _plan_id(self) -> str:
        self._plans += 1
        return f"{self._run_id}-{self.cycle}-{self._plans}"


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A plan that counts in the state, the pods whose nominations it ended, and new reservations.

    Gangs that failed with an error are among the refused. `admissions` are for suspended workloads
    that may start. `unchanged` are refused gangs that wait as before: there is nothing to report.
    """

    plan: Plan
    lost: tuple[Pod, ...]
    reservations: tuple[News, ...] = ()
    admissions: tuple[Admission, ...] = ()
    unchanged: AbstractSet[GangKey] = frozenset()


def take_in(
    cache: Cache,
    plan: Plan,
    now_seconds: int,
    *,
    lost_nominations: LostNominations,
    writers: Writers,
) -> TakenIn:
    """Count all decisions of a plan, and hand the needed writes to the writers.

    Bindings come first, then preemptions, then the refusals of waiting gangs.
    """
    lost = tuple(lost_nominations.note(plan, now_seconds))
    failed = [
        each
        for gangs in _together(each for each in plan.placed if each.gang.suspended is None)
        for each in _bind(cache, gangs, now_seconds, writers)
    ]
    admissions: list[Admission] = []
    for placed in plan.admissions:
        failed += _admit(cache, placed, writers, admissions)
    for preemption in plan.preemptions:
        with confined("preempt", str(preemption.gangs[0].key)):
            _preempt(cache, preemption, now_seconds, writers)
    if plan.placed or plan.admissions or plan.preemptions:
        # A gang that is deleted before the next cycle has used quota, which is free then.
        cache.queue_state(now_seconds)
    # Other gangs may have waited for the quota of failed gangs.
    cache.gang_queue.quota_waits.freed(each.gang.queue for each in failed if each.gang.queue)
    if lost:
        _preempt(cache, Preemption((), (), displaced=lost), now_seconds, writers)
    plan = replace(plan, refused=(*plan.refused, *failed))
    unchanged = _note_verdicts(cache, plan, now_seconds)
    cache.gang_queue.quota_waits.take_in(plan)
    cache.gang_queue.untried(plan.untried, now_seconds)
    cache.note_node_requests(plan, now_seconds)
    news = cache.gang_queue.reservations.take_in(plan, now_seconds)
    cache.gang_queue.changed.update(each.key for each in news)
    for suspension in cache.suspended.overdue(now_seconds):
        writers.suspend(suspension)
    return TakenIn(plan, lost, tuple(news), tuple(admissions), unchanged)


def _together(placed: Iterable[Placed]) -> list[list[Placed]]:
    """Return lists of gangs that start together, in the order of the first gang of each."""
    found: dict[tuple[GangKey, ...], list[Placed]] = {}
    for each in placed:
        found.setdefault(each.together or (each.gang.key,), []).append(each)
    return list(found.values())


def _bind(
    cache: Cache, together: Sequence[Placed], now_seconds: int, writers: Writers
) -> list[Refused]:
    """Assume the members of gangs that start together, all or none; return gangs that failed."""
    names = ", ".join(str(placed.gang.key) for placed in together)
    binds = [bind for placed in together for bind in placed.binds]
    decisions = cache.decisions
    with confined("bind", names) as step:
        for placed in together:
            writers.stop_preempting(bind.pod.uid for bind in placed.binds)
            decisions.placed(placed.gang.key)
            decisions.admitted(placed, now_seconds)
            decisions.grown(placed, now_seconds)
        for bind in binds:
            cache.assume(bind)
        writers.bind(together)
    if step.error is None:
        return []
    for bind in binds:
        cache.forget(bind.pod.uid)
    cause = InternalError.of(step.error)
    gangs = (placed.gang for placed in together)
    return [Refused(each, Reason.INTERNAL_ERROR, each.pending, cause=cause) for each in gangs]


def _admit(
    cache: Cache, placed: Sequence[Placed], writers: Writers, admissions: list[Admission]
) -> list[Refused]:
    """Keep room and quota for a suspended workload, and let it start; return gangs that failed."""
    names = ", ".join(str(each.gang.key) for each in placed)
    decisions = cache.decisions
    with confined("admit", names) as step:
        for each in placed:
            decisions.placed(each.gang.key)
            decisions.planned(each)
        admission = cache.suspended.place(placed)
        if admission is not None:
            writers.admit(admission)
            admissions.append(admission)
    if step.error is None:
        return []
    cause = InternalError.of(step.error)
    gangs = (each.gang for each in placed)
    return [Refused(each, Reason.INTERNAL_ERROR, each.pending, cause=cause) for each in gangs]


def _preempt(cache: Cache, preemption: Preemption, now_seconds: int, writers: Writers) -> None:
    """Count nominations and victims, unless the same preemption is under way already."""
    if writers.is_preempting(preemption):
        return
    # Members of suspended workloads are planned one by one from now on.
    cache.suspended.nominate(preemption.gangs)
    # Written first: if this raises, nothing is counted.
    writers.preempt(preemption)
    cache.clear_nominations(pod.uid for pod in preemption.displaced)
    cache.nominate(preemption.nominations)
    decisions = cache.decisions
    decisions.nominated(preemption)
    victims = [each.pod.uid for each in preemption.victims]
    decisions.shrunk(preemption.victims, now_seconds)
    cache.victims.decided(victims)
    if victims:
        keys = [gang.key for gang in preemption.gangs]
        decisions.preempting(keys, now_seconds, victims, str(preemption.domain or ""))
        if keys:
            cache.gang_queue.vain_rounds.begin(preemption.gangs, now_seconds)


def _note_verdicts(cache: Cache, plan: Plan, now_seconds: int) -> set[GangKey]:
    """Note why gangs wait; return the gangs that wait as before.

    If that raises for a gang, the gang is tried again.
    """
    unchanged = set()
    for refused in plan.refused:
        key = refused.gang.key
        # For very many gangs that wait as before, `confined` would cost as much as the note.
        try:
            if not cache.decisions.refused(refused, now_seconds, soon=key in plan.unsearched):
                unchanged.add(key)
        except Exception as error:
            internal_errors.note("refuse", str(key), error)
            cache.gang_queue.undecided([key])
    for warned in plan.warned:
        with confined("refuse", warned.gang.key) as step:
            cache.decisions.warned(warned)
        if step.error is not None:
            cache.gang_queue.undecided([warned.gang.key])
    return unchanged
