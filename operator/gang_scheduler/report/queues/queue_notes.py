"""Tells administrators what has no effect in their queues, and of quotas that are not enforced."""

import asyncio
from collections.abc import Mapping
from typing import Final

from gang_scheduler.decode.queues.declared import AdmissionCheck, DeclaredQueue
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.queues import Product
from gang_scheduler.report.events import About, Events

LOOK_SECONDS: Final = 5.0
WITHOUT_EFFECT: Final = "WithoutEffect"
NOT_ENFORCED: Final = "QuotaNotEnforced"
KINDS_IN_MANIFESTS: Final = {
    "queues": "Queue",
    "clusterqueues": "ClusterQueue",
    "cohorts": "Cohort",
}
_CONTROLLERS: Final = {Product.KUEUE: "Kueue's controller", Product.VOLCANO: "Volcano's scheduler"}


_NO_CHECKS: Final[Mapping[str, AdmissionCheck]] = {}


class QueueNotes:
    """An Event on each object with fields that have no effect, once for each state of these.

    `declared` are the queues by uid and `checks` the AdmissionChecks by name, and change.
    """

    def __init__(
        self,
        declared: Mapping[str, DeclaredQueue],
        events: Events,
        checks: Mapping[str, AdmissionCheck] = _NO_CHECKS,
    ) -> None:
        self._declared = declared
        self._checks = checks
        self._events = events
        self._told: dict[str, tuple[str, ...]] = {}

    async def run(self) -> None:
        """Tell every LOOK_SECONDS, until cancelled."""
        while True:
            with confined("report", "notes on queues"):
                self.tell()
            await asyncio.sleep(LOOK_SECONDS)

    def tell(self) -> None:
        """Tell of the objects that came or changed since the last time."""
        found = {uid: (_about(each), each.notes) for uid, each in self._declared.items()}
        for check in self._checks.values():
            about = About(check.api_version, "AdmissionCheck", "", check.name, check.uid)
            found[check.uid] = about, check.notes
        told = {uid: notes for uid, notes in self._told.items() if uid in found}
        self._told = {uid: notes for uid, (_, notes) in found.items() if notes}
        for uid, notes in self._told.items():
            if notes != told.get(uid):
                words = "; ".join(notes)
                self._events.record(found[uid][0], WITHOUT_EFFECT, words, warning=True)

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
