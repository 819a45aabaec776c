"""Lets Volcano create the pods of its Jobs that are ours: writes the phase `Inqueue`.

The controller of these Jobs creates pods only in that phase. It is written when the queue would
admit the gang, and only over the phase `Pending`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple

from gang_scheduler.api.kinds import VOLCANO_JOBS, VOLCANO_POD_GROUPS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.background_tasks import every
from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.queues import QueueRef, QueueSet
from gang_scheduler.model.reasons import Problem
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.words.text import text_of
from gang_scheduler.round_robin import ByNamespace
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.turns import shortages
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads.volcano import VOLCANO_JOB, Job

LOOK_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 30.0
"""The pause before a Job is looked at again, after a failure or after its phase was written."""
LAST_PAUSE_SECONDS: Final = 3600.0
"""The longest pause for a Job that does not exist: a user may make a thousand such PodGroups."""
MOST_ASKED: Final = 100
"""This many Jobs are asked for in one look."""
PENDING: Final = frozenset({"", "Pending"})
IN_QUEUE: Final = "Inqueue"

log = Logger()


class _Quota(NamedTuple):
    """The charges of queues, including members that do not exist yet."""

    forest: Forest
    declared: QueueSet


class VolcanoEnqueue:
    """Watches PodGroups of waiting Jobs."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        events: Events,
        *,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._events = events
        self._writes = writes
        self._clock = clock
        self._ours: dict[str, bool] = {}
        self._not_before: dict[str, float] = {}
        # How long to wait for each Job that does not exist.
        self._backoffs: dict[str, Backoff] = {}
        # When each Job continued, or was first seen to have continued, by the uid of its PodGroup.
        self._went_on: dict[str, float] = {}

    async def run(self) -> None:
        """Check now and then, until cancelled."""
        when = self._writes.allowed
        await every(LOOK_SECONDS, self.look, "write", "phases of Volcano", when=when)

    async def look(self) -> None:
        """Let Jobs continue that their queues would admit, the oldest first."""
        now = self._clock()
        found = {each.uid: each for each in self._pod_groups()}
        self._forget_others(found)
        due = [each for each in found.values() if self._is_due(each, now)]
        due.sort(key=lambda it: (it.created_at, it.uid))
        await self._ask(due)
        waiting = [each for each in due if self._ours.get(each.uid)]
        if not waiting:
            return
        quota = self._quota(found.values(), int(now))
        for each in waiting:
            why = self._why_not(each, quota)
            if why is None:
                await self._let_go_on(each)
            else:
                self._report(each, why)

    def _pod_groups(self) -> Iterator[GangSpec]:
        """Yield the PodGroups that were made for Jobs of Volcano."""
        queue = self._cache.gang_queue
        for uid, keys in queue.objects(VOLCANO_POD_GROUPS.name).items():
            for key in keys:
                spec = queue.infos[key].observed.specs.get(uid)
                if spec is not None and spec.made_for and spec.made_for.source == VOLCANO_JOB:
                    yield spec

    def _forget_others(self, found: dict[str, GangSpec]) -> None:
        self._ours = {uid: each for uid, each in self._ours.items() if uid in found}
        self._not_before = {uid: at for uid, at in self._not_before.items() if uid in found}
        self._backoffs = {uid: each for uid, each in self._backoffs.items() if uid in found}
        self._went_on = {uid: at for uid, at in self._went_on.items() if uid in found}

    def _is_due(self, spec: GangSpec, now: float) -> bool:
        is_pending = spec.status.get("phase") in PENDING
        return is_pending and now >= self._not_before.get(spec.uid, 0)

    async def _ask(self, due: Iterable[GangSpec]) -> None:
        """Ask for some of the Jobs that are not known yet. Namespaces take turns."""
        unknown = ByNamespace[str, GangSpec]()
        for each in due:
            if each.uid not in self._ours:
                unknown.put(each.key.namespace, each.uid, each)
        for _ in range(min(MOST_ASKED, len(unknown))):
            _, each = unknown.take()
            if not await self._is_answered(each):
                break  # The others would probably wait as long, and so would what is known.

    async def _is_answered(self, spec: GangSpec) -> bool:
        """Note whether the Job of a PodGroup is for this scheduler: only the Job shows that.

        Return False if the API server has not answered.
        """
        if spec.made_for is None:
            return True
        _, namespace, name = spec.made_for
        try:
            job = fields.read(await self._api.get(VOLCANO_JOBS, namespace, name), Job)
        except (ApiError, InvalidField) as error:
            kind = error.kind if isinstance(error, ApiError) else Kind.REFUSED
            pause = PAUSE_SECONDS
            if kind in (Kind.GONE, Kind.REFUSED):
                first = Backoff(PAUSE_SECONDS, LAST_PAUSE_SECONDS, jitter=0)
                pause = self._backoffs.setdefault(spec.uid, first).seconds()
            self._not_before[spec.uid] = self._clock() + pause
            log.warning("volcano_job_unread", job=f"{namespace}/{name}", error=str(error))
            return kind is not Kind.UNKNOWN
        self._ours[spec.uid] = job.spec.scheduler_name in self._cache.schedulers
        return True

    # Quota.

    def _quota(self, specs: Iterable[GangSpec], now: int) -> _Quota | None:
        """Return the quota that is left after Jobs that may continue and have no pods yet."""
        state = self._cache.queue_state(now)
        if state is None:
            return None
        quota = _Quota(Forest(state, self._cache.node_usage.table()), state.declared)
        for each in specs:
            ref = self._queue_of(each)
            if ref is not None and self._is_expected(each, now):
                _charge(quota, ref, each)
        return quota

    def _is_expected(self, spec: GangSpec, now: float) -> bool:
        """Return whether the pods of a Job are about to be created.

        After the time in which the pods of a started workload must come, they are no longer
        expected: a user may have made the PodGroup by hand.
        """
        if spec.status.get("phase") == IN_QUEUE:
            self._went_on.setdefault(spec.uid, now)
        went_on = self._went_on.get(spec.uid)
        if went_on is None or now >= went_on + self._cache.suspended.rules.pods_timeout_seconds:
            return False
        return not self._cache.gang_queue.infos[spec.key].observed.members

    def _queue_of(self, spec: GangSpec) -> QueueRef | None:
        resolved = self._cache.gang_queue.queues.of(spec.key)
        return None if resolved is None else resolved.ref

    def _why_not(self, spec: GangSpec, quota: _Quota | None) -> Problem | None:
        """Return why the pods of a Job must not be created yet; then nothing is charged."""
        resolved = self._cache.gang_queue.queues.of(spec.key)
        problem = spec.problem or (None if resolved is None else resolved.problem)
        if problem is not None or resolved is None or resolved.ref is None or quota is None:
            return problem
        return _charge(quota, resolved.ref, spec)

    # The result of the charge.

    async def _let_go_on(self, spec: GangSpec) -> None:
        self._not_before[spec.uid] = self._clock() + PAUSE_SECONDS
        _, namespace, name = spec.key
        status = {"phase": IN_QUEUE}
        write = partial(self._api.patch_status, VOLCANO_POD_GROUPS, namespace, name, status)
        refusal = await self._writes.send("volcano_phase", write)
        if refusal is None:
            self._went_on[spec.uid] = self._clock()
            log.info("volcano_job_in_queue", pod_group=f"{namespace}/{name}")
        elif refusal.kind in (Kind.REFUSED, Kind.DENIED):
            log.warning("status_refused", what="PodGroup", name=name, error=str(refusal.error))

    def _report(self, spec: GangSpec, why: Problem) -> None:
        about = About(
            *(VOLCANO_POD_GROUPS.api_version, "PodGroup", *spec.key[1:], spec.uid), gang=spec.key
        )
        note = f"no pods are created yet: {text_of(why.cause)}"
        self._events.record(about, why.reason.value, note, warning=True)


def _charge(quota: _Quota, ref: QueueRef, spec: GangSpec) -> Problem | None:
    """Charge a queue for the whole gang, unless it would not admit that."""
    found = shortages.charge_of(quota.forest, quota.declared, ref, spec.min_resources)
    if isinstance(found, Problem):
        return found
    quota.forest.charge(ref, found)
    return None
