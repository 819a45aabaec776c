"""When an elastic gang last grew or shrank by a decision of the scheduler."""

from collections.abc import Collection, Iterable

from gang_scheduler.api.pod_group import ScaleReason
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.model.gangs import Elastic, Pace
from gang_scheduler.state.gangs.records.observed import Observed
from gang_scheduler.state.gangs.records.version import Version


class Scaling:
    """The last change of size: `size` workers then, `by` more than before, and why.

    `changed_at` is in seconds since the epoch; None for a gang that has not started, or has no
    member on a node any more. `reason` is None where it is not known. Workers that are `leaving`
    were evicted by the last changes.
    """

    __slots__ = ("_leaving", "_observed", "_version", "by", "changed_at", "reason", "size")

    def __init__(self, observed: Observed, version: Version) -> None:
        self.size = 0
        self.by = 0
        self.changed_at: int | None = None
        self.reason: ScaleReason | None = None
        self._leaving: frozenset[str] = frozenset()
        self._observed = observed
        self._version = version

    @property
    def elastic(self) -> Elastic | None:
        """How the gang grows and shrinks, as declared."""
        return self._observed.elastic

    @property
    def pace(self) -> Pace | None:
        """What the scheduler must know; None for a gang that does not say how it grows."""
        if self.elastic is None:
            return None
        return Pace(self.elastic, len(self.workers()), self.size, self.changed_at)

    @property
    def most_at_start(self) -> int | None:
        """How many members start at once if there is room; None where they may come one by one."""
        elastic = self.elastic
        if elastic is None or elastic.role or not (elastic.up_cooldown or elastic.up_step > 1):
            return None
        return elastic.max_workers

    def workers(self) -> frozenset[str]:
        """Return the uids of the workers that live and have a node."""
        elastic = self.elastic
        with_node = self._observed.with_node()
        return frozenset(pod.uid for pod in with_node if elastic and elastic.counts(pod))

    def begin_or_end(self, now: int) -> None:
        """Forget the past of a gang without members on nodes; begin anew for one that is found."""
        if self.elastic is None:
            return
        workers = self.workers()
        if not workers and not any(self._observed.with_node()):
            if self.changed_at is not None:
                self._change(0, 0, None, None)
            self._leaving = frozenset()
        elif self.changed_at is None:
            # It started under another process: its youngest worker says when it last grew.
            self._change(len(workers), 0, min(now, self._last_grown() or now), None)

    def _last_grown(self) -> int:
        """Return when the youngest worker found its node; 0 where that is not known."""
        elastic = self.elastic
        workers = (pod for pod in self._observed.with_node() if elastic and elastic.counts(pod))
        return max((int(pod.scheduled_at or pod.started_at) for pod in workers), default=0)

    def take_over(self, gang_spec: GangSpec) -> None:
        """Take in what the status of an object says that describes the gang from now on."""
        if gang_spec.scaled is not None and self.changed_at is None:
            changed_at, size, by, reason = gang_spec.scaled
            known = ScaleReason(reason) if reason in {*ScaleReason} else None
            self._change(size, by, changed_at, known)

    def grow(self, uids: Iterable[str], now: int) -> int:
        """Note that members find a place now; return how many workers more than before these are.

        0 if they only replace others.
        """
        workers = self.workers()
        after = len(workers.union(uid for uid in uids if self._is_worker(uid)))
        more = after - len(workers)
        elastic = self.elastic
        if elastic is None or not more:
            return 0
        if self.changed_at is None:
            self._change(after, more, now, ScaleReason.STARTED)
            return more
        if after <= max(self.size, elastic.min_workers):
            return 0
        self._change(after, more, now, ScaleReason.ROOM_FREE)
        return more

    def shrink(self, uids: Collection[str], now: int) -> int:
        """Note that members are evicted; return how many workers these are."""
        workers = self.workers() - self._leaving
        gone = workers & frozenset(uids)
        if gone:
            self._leaving = (self._leaving & self.workers()) | gone
            left = len(workers) - len(gone)
            self._change(left, -len(gone), now, ScaleReason.PREEMPTED)
        return len(gone)

    def _is_worker(self, uid: str) -> bool:
        pod, elastic = self._observed.members.get(uid), self.elastic
        return pod is not None and elastic is not None and elastic.counts(pod)

    def _change(self, size: int, by: int, at: int | None, reason: ScaleReason | None) -> None:
        self.size, self.by, self.changed_at, self.reason = size, by, at, reason
        self._version.changed()
