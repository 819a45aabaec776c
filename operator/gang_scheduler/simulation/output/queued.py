"""What the row of a gang says where there are queues."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api.annotations import REPLICATED_JOB_LABEL
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.simulation.output import queues
from gang_scheduler.simulation.run import Outcome
from gang_scheduler.state.gangs.gang_info import GangInfo

MAIN: Final = "main"
"""The name of a podset that has none, as in Kueue."""
PODSET_LABELS: Final = ("kueue.x-k8s.io/podset", REPLICATED_JOB_LABEL)

Flavors = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Queued:
    """What was decided of gangs: their places, the flavors of pods by uid, and which borrow."""

    queue_of: Callable[[GangKey], QueueRef | None]
    places: Mapping[GangKey, int]
    flavors: Mapping[str, Flavors]
    borrowers: frozenset[GangKey]

    @classmethod
    def of(cls, outcome: Outcome) -> "Queued":
        """Return what an outcome decided."""
        return cls(
            outcome.cache.queue_of,
            queues.places(outcome.queues),
            {bind.pod.uid: bind.flavors for bind in _binds(outcome)},
            frozenset(each.gang.key for each in outcome.placed if each.borrows),
        )

    def row(self, info: GangInfo) -> dict[str, Any]:
        """Return the fields of a gang that are about its queue."""
        ref = self.queue_of(info.key)
        return {
            "queue": ref.name if ref else None,
            "flavors": self._by_podset(info),
            "borrows": info.key in self.borrowers,
            "position": self.places.get(info.key),
        }

    def _by_podset(self, info: GangInfo) -> dict[str, dict[str, str]]:
        """Return the flavors of members that are charged; podsets with the same ones are one."""
        found: dict[str, dict[str, str]] = {}
        for pod in info.observed.living:
            flavors = dict(self.flavors.get(pod.uid) or _written(pod))
            if flavors and flavors not in found.values():
                name = _podset_of(pod)
                found[f"{name}-{len(found) + 1}" if name in found else name] = flavors
        return found


def _binds(outcome: Outcome) -> Iterator[Bind]:
    yield from (bind for _, bind in outcome.nominated)
    yield from (bind for placed in outcome.placed for bind in placed.binds)


def _written(pod: Pod) -> Flavors:
    return pod.charged_to.flavors if pod.charged_to else ()


def _podset_of(pod: Pod) -> str:
    return next((pod.labels[key] for key in PODSET_LABELS if key in pod.labels), MAIN)
