"""How far each gang has come: how many there are of each sort, and when the run of one ended.

Gangs are looked at again when they have changed, and what they add to a gauge is added or taken
away. So what is shown costs what changed, and a step for each gang that waits.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.measures.seen import ENDED, Seen, became_whole_at, see
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import Gauge, Values

SLICE: Final = 200
"""So many gangs are looked at before other tasks have a turn."""
PART: Final = "gangs"
"""What is counted here of gauges that others show, too."""


class FollowedGangs:
    """All gangs as they were last looked at."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._clock = clock
        self._seen: dict[GangKey, Seen] = {}
        self._waiting: dict[GangKey, Seen] = {}
        self._counts: defaultdict[Gauge, Counter[Values]] = defaultdict(Counter)
        self._changed: set[GangKey] = set()
        self._evicted: set[GangKey] = set()
        self._has_looked = False

    def changed(self, keys: Collection[GangKey]) -> None:
        """Note which gangs are to be looked at again."""
        self._changed.update(keys)

    def evicted(self, keys: Iterable[GangKey]) -> None:
        """Note which gangs lose members now: if their run ends, that is why."""
        self._evicted.update(keys)

    def look(self) -> Iterator[None]:
        """Look at what has changed, and yield now and then for other tasks to have a turn."""
        infos = self._cache.gang_queue.infos
        due = self._changed | self._cache.gang_queue.changed if self._has_looked else set(infos)
        self._changed = set()
        for key in self._seen.keys() - infos.keys():
            self._gone(key)
        for number, key in enumerate(due, start=1):
            info = infos.get(key)
            if info is not None:
                with confined("measure", str(key)):
                    self._look_at(info)
            if not number % SLICE:
                yield
        self._evicted &= infos.keys()
        self._has_looked = True

    def show(self) -> None:
        """Show how many gangs there are, and for how long the oldest ones wait."""
        gauges = (metrics.GANGS, metrics.QUEUE_LENGTH, metrics.ELASTIC_MEMBERS)
        for gauge in gauges:
            gauge.show(self._counts[gauge].items(), of=PART)
        metrics.PARTIAL_GANGS.set(self._counts[metrics.PARTIAL_GANGS][()])
        now = self._clock()
        ages = (((each.reason, now - each.created_at)) for each in self._waiting.values())
        waits = (((reason.value,), max(0, age)) for reason, age in ages if reason is not None)
        metrics.OLDEST_WAIT.show(waits, max)

    def asked(self) -> frozenset[str]:
        """Return the resources that gangs wait for which have all their members."""
        return frozenset().union(*{each.asks for each in self._waiting.values()})

    def _look_at(self, info: GangInfo) -> None:
        before, now = self._seen.get(info.key), self._clock()
        seen = see(info, self._cache, before, now)
        self._replace(info.key, seen)
        if before is not None and before.whole_at is not None and seen.whole_at is None:
            self._ended(info.key, seen.phase, before, before.whole_at)
        elif seen.phase in ENDED and self._is_news(before) and _ran(info):
            # Whole and over since the last look.
            self._ended(info.key, seen.phase, seen, became_whole_at(info, before, now))
        if seen.whole_at is not None and not info.preempted.by:
            self._evicted.discard(info.key)

    def _is_news(self, before: Seen | None) -> bool:
        """Return whether a gang that has ended had not at the last look of this process."""
        return self._has_looked if before is None else before.phase not in ENDED

    def _ended(self, key: GangKey, phase: Phase | None, seen: Seen, whole_at: float) -> None:
        if phase is Phase.FINISHED:
            status = "succeeded"
        elif phase is Phase.FAILED:
            status = "failed"
        else:
            status = "evicted" if key in self._evicted else "deleted"
        self._evicted.discard(key)
        series = metrics.COMPLETION_SECONDS.labels(seen.queue, seen.job_type, status)
        series.observe(max(0, self._clock() - whole_at))

    def _gone(self, key: GangKey) -> None:
        seen = self._seen[key]
        if seen.whole_at is not None:
            self._ended(key, None, seen, seen.whole_at)
        elif seen.complete_since is not None:
            series = metrics.SCHEDULING_SECONDS.labels(seen.queue, seen.job_type, "deleted")
            series.observe(max(0, self._clock() - seen.complete_since))
        self._replace(key, None)

    def _replace(self, key: GangKey, seen: Seen | None) -> None:
        before = self._seen.pop(key, None)
        self._waiting.pop(key, None)
        if before is not None:
            self._count(before, -1)
        if seen is not None:
            self._seen[key] = seen
            self._count(seen, 1)
            if seen.reason is not None:
                self._waiting[key] = seen

    def _count(self, seen: Seen, sign: int) -> None:
        for gauge, values, number in seen.figures():
            counts = self._counts[gauge]
            counts[values] += sign * number
            if not counts[values]:
                del counts[values]


def _ran(info: GangInfo) -> bool:
    """Return whether so many members had a node that the gang was whole."""
    return info.attempt.holds_quorum([pod for pod in info.observed.members.values() if pod.node])
