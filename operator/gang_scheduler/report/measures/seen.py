"""One gang as it was last looked at: what its series are called, and what they count."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode.workloads import table
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.problems import NOT_IN_LINE, Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.records.observed import NO_SPEC
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import Gauge, Values
from gang_scheduler.telemetry.metrics import NO_CLASS, NO_QUEUE

ENDED: Final = frozenset({Phase.FINISHED, Phase.FAILED})


@dataclass(frozen=True, slots=True)
class Seen:
    """A gang as it was.

    `reason` is why it waits, None where it does not; `asks` are the resources that it waits for.
    `complete_since` is when it had minMember members, while not all of these are bound, `whole_at`
    when they were, while it runs; in seconds since the epoch. `elastic` is how many workers it has
    at least, now, and at most.
    """

    phase: Phase
    job_type: str
    queue: str
    priority_class: str
    created_at: float
    reason: Reason | None = None
    asks: frozenset[str] = frozenset()
    complete_since: int | None = None
    whole_at: float | None = None
    is_partial: bool = False
    elastic: tuple[int, int, int] | None = None

    def figures(self) -> Iterator[tuple[Gauge, Values, int]]:
        """Yield what the gang adds to gauges. Of queues it is counted with their figures."""
        yield metrics.GANGS, (self.phase.value, self.job_type), 1
        if self.reason is not None and self.queue == NO_QUEUE:
            yield metrics.QUEUE_LENGTH, (NO_QUEUE, self.priority_class), 1
        if self.is_partial:
            yield metrics.PARTIAL_GANGS, (), 1
        for bound, number in zip(("min", "now", "max"), self.elastic or (), strict=False):
            yield metrics.ELASTIC_MEMBERS, (self.queue, bound), number


def see(info: GangInfo, cache: Cache, before: Seen | None, now: float) -> Seen:
    """Look at a gang. Linear in members."""
    attempt, phase = info.attempt, phases.phase_of(phases.counts_of(info))
    refusal = info.verdict.refusal
    waits = refusal is not None and not refusal.left_over
    runs = attempt.was_whole and phase not in ENDED
    complete = phase not in ENDED and not attempt.was_whole and attempt.quorum_since is not None
    whole_at = before.whole_at if before is not None else None
    return Seen(
        phase=phase,
        job_type=job_type_of(info),
        queue=queue_of(info, cache),
        priority_class=class_of(info),
        created_at=created_at(info),
        reason=refusal.reason if refusal is not None and waits else None,
        asks=_asked(refusal) if refusal is not None and waits and complete else frozenset(),
        complete_since=attempt.quorum_since if complete else None,
        whole_at=(whole_at or became_whole_at(info, before, now)) if runs else None,
        is_partial=any(info.observed.with_node()) and attempt.is_partially_bound(),
        elastic=_workers(info),
    )


def _asked(refusal: Refused) -> frozenset[str]:
    if refusal.reason in NOT_IN_LINE:
        return frozenset()
    classes = {pod.pod_class for pod in refusal.pods}
    return frozenset(name for each in classes for name, amount in each.requests if amount)


def _workers(info: GangInfo) -> tuple[int, int, int] | None:
    """Return how many workers an elastic gang that runs has: at least, now, and at most."""
    elastic = info.scaling.elastic
    if elastic is None or not (now := len(info.scaling.workers())):
        return None
    return elastic.min_workers, now, elastic.max_workers


def became_whole_at(info: GangInfo, before: Seen | None, now: float) -> float:
    """Return when a gang was first whole: when its last member was bound.

    What is written of a gang counts that was there before this process.
    """
    written = (info.observed.spec or NO_SPEC).scheduled_at if before is None else 0
    bound = max((pod.scheduled_at for pod in info.observed.members.values()), default=0)
    return written or bound or now


def queue_of(info: GangInfo, cache: Cache) -> str:
    """Return the name of the queue of a gang."""
    ref = cache.queue_of(info.key)
    return ref.name if ref is not None else NO_QUEUE


def job_type_of(info: GangInfo) -> str:
    """Return the kind that describes a gang."""
    source = table.BY_NAME[info.key.source]
    return source.object_kind or source.name


def class_of(info: GangInfo) -> str:
    """Return the name of the PriorityClass of a gang."""
    return next((pod.priority_class for pod in info.observed.living), "") or NO_CLASS


def created_at(info: GangInfo) -> float:
    """Return when a gang was created, in seconds since the epoch."""
    spec = info.observed.spec
    if spec is not None and spec.uid:
        return spec.created_at
    return min((pod.created_at for pod in info.observed.living), default=0)
