"""Tells administrators what has no effect in their queues, and of quotas that are not enforced.

Names that nothing is called by are told once they were there at two looks: what they mean may be on
its way.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from gang_scheduler.decode.queues.declared import AdmissionCheck, DeclaredQueue
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.queues import Product, QueueKind
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.queues import unknown_names

LOOK_SECONDS: Final = 5.0
WITHOUT_EFFECT: Final = "WithoutEffect"
UNKNOWN_NAME: Final = "UnknownName"
NOT_ENFORCED: Final = "QuotaNotEnforced"
KINDS_IN_MANIFESTS: Final = {
    "queues": "Queue",
    "clusterqueues": "ClusterQueue",
    "cohorts": "Cohort",
}
_CONTROLLERS: Final = {Product.KUEUE: "Kueue's controller", Product.VOLCANO: "Volcano's scheduler"}


_NO_CHECKS: Final[Mapping[str, AdmissionCheck]] = {}
_Found = dict[tuple[str, str], tuple[About, tuple[str, ...]]]
"""What there is to tell, by uid and reason."""


def _no_resources() -> Collection[str]:
    return ()


class QueueNotes:
    """An Event on each object with fields that have no effect, once for each state of these.

    `declared` are the queues by uid and `checks` the AdmissionChecks by name, and change.
    `resources` returns those that pods can be charged for, none while they are not known.
    """

    def __init__(
        self,
        declared: Mapping[str, DeclaredQueue],
        events: Events,
        checks: Mapping[str, AdmissionCheck] = _NO_CHECKS,
        resources: Callable[[], Collection[str]] = _no_resources,
    ) -> None:
        self._declared = declared
        self._checks = checks
        self._resources = resources
        self._events = events
        self._told: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unknown: dict[str, tuple[str, ...]] = {}

    async def run(self) -> None:
        """Tell every LOOK_SECONDS, until cancelled."""
        while True:
            with confined("report", "notes on queues"):
                self.tell()
            await asyncio.sleep(LOOK_SECONDS)

    def tell(self) -> None:
        """Tell of the objects that came or changed since the last time."""
        found = self._found()
        told = {key: notes for key, notes in self._told.items() if key in found}
        self._told = {key: notes for key, (_, notes) in found.items() if notes}
        for key, notes in self._told.items():
            if notes != told.get(key):
                self._events.record(found[key][0], key[1], "; ".join(notes), warning=True)

    def _found(self) -> _Found:
        found: _Found = {}
        for uid, each in self._declared.items():
            found[uid, WITHOUT_EFFECT] = _about(each), each.notes
        for uid, notes in self._stays_unknown():
            found[uid, UNKNOWN_NAME] = _about(self._declared[uid]), notes
        for check in self._checks.values():
            about = About(check.api_version, "AdmissionCheck", "", check.name, check.uid)
            found[check.uid, WITHOUT_EFFECT] = about, check.notes
        return found

    def _stays_unknown(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the names in our Queues that mean nothing now, and meant nothing the last time."""
        before = self._unknown
        queues = {
            uid: each.queue
            for uid, each in self._declared.items()
            if each.queue.ref.kind is QueueKind.QUEUE
        }
        names, resources = {each.ref.name for each in queues.values()}, self._resources()
        self._unknown = {
            uid: unknown_names.notes(each, names, resources) for uid, each in queues.items()
        }
        for uid, notes in self._unknown.items():
            yield uid, tuple(note for note in notes if note in before.get(uid, ()))

    def decided_elsewhere(self, product: Product, lease: tuple[str, str], uid: str) -> None:
        """Tell that another controller decides quota, on its Lease."""
        about = About("coordination.k8s.io/v1", "Lease", *lease, uid)
        words = (
            f"{_CONTROLLERS[product]} decides the quota of its queues: py-gang-scheduler charges "
            "and shows them, and lets no gang wait for quota in them"
        )
        self._events.record(about, NOT_ENFORCED, words)


def _about(declared: DeclaredQueue) -> About:
    kind = KINDS_IN_MANIFESTS[declared.gvr.plural]
    return About(declared.gvr.api_version, kind, "", declared.queue.ref.name, declared.uid)
