"""What the builders of parts share: settings, the API server, the state, and the reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gang_scheduler import policy
from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.apply.eviction.lost_nominations import LostNominations
from gang_scheduler.apply.outcomes import Outcomes
from gang_scheduler.apply.partial_gangs import PartialGangs
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.report.backpressure import Backpressure
from gang_scheduler.report.events import Events
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.measures.measures import Measures
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.queues.evictions import EvictionTexts
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.queue_notes import QueueNotes
from gang_scheduler.report.queues.queue_places import QueuePlaces
from gang_scheduler.settings.choices import OnPartialGang
from gang_scheduler.settings.run import Settings
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes


class Runs(Protocol):
    """A part of the operator."""

    async def run(self) -> None:
        """Work until cancelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What most parts share."""

    settings: Settings
    api: KubernetesApi
    may_write: Callable[[], bool]
    cache: Cache
    changes: Changes
    naming: Naming
    outcomes: Outcomes
    lost_nominations: LostNominations
    partial_gangs: PartialGangs | None


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """What tells users of decisions."""

    backpressure: Backpressure
    events: Events
    pod_events: PodEvents
    gang_events: GangEvents
    queue_metrics: QueueMetrics
    measures: Measures
    queue_notes: QueueNotes
    queue_places: QueuePlaces


def shared_by_all(settings: Settings, api: KubernetesApi, may_write: Callable[[], bool]) -> Shared:
    """Return what is shared, of the settings."""
    changes, naming = Changes(), policy.naming(settings)
    cache = policy.cache(settings, changes, most_checkpoints=settings.max_checkpoints)
    releases = settings.on_partial_gang is OnPartialGang.RELEASE
    return Shared(
        settings=settings,
        api=api,
        may_write=may_write,
        cache=cache,
        changes=changes,
        naming=naming,
        outcomes=Outcomes(),
        lost_nominations=LostNominations(cache, naming),
        partial_gangs=PartialGangs(api, cache, may_write) if releases else None,
    )


def eviction_texts(shared: Shared) -> EvictionTexts:
    """Return the words for what gangs yield to."""
    return EvictionTexts(shared.cache, shared.naming)
