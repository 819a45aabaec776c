"""Tells administrators what has no effect in their queues, and of quotas that are not enforced."""

import asyncio
from collections.abc import Mapping
from typing import Final

from gang_scheduler.decode.queues.declared import DeclaredQueue
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


class QueueNotes:
    """An Event on each queue with fields that have no effect, once for each state of these.

    `declared` are the queues by uid, and change.
    """

    def __init__(self, declared: Mapping[str, DeclaredQueue], events: Events) -> None:
        self._declared = declared
        self._events = events
        self._told: dict[str, tuple[str, ...]] = {}

    async def run(self) -> None:
        """Tell every LOOK_SECONDS, until cancelled."""
        while True:
            with confined("report", "notes on queues"):
                self.tell()
            await asyncio.sleep(LOOK_SECONDS)

    def tell(self) -> None:
        """Tell of the queues that came or changed since the last time."""
        self._told = {uid: notes for uid, notes in self._told.items() if uid in self._declared}
        for uid, each in self._declared.items():
            if each.notes != self._told.get(uid, ()):
                self._told[uid] = each.notes
                self._record(each)

    def decided_elsewhere(self, product: Product, lease: tuple[str, str], uid: str) -> None:
        """Tell that another controller decides quota, on its Lease."""
        about = About("coordination.k8s.io/v1", "Lease", *lease, uid)
        words = (
            f"{_CONTROLLERS[product]} decides the quota of its queues: py-gang-scheduler charges "
            "and shows them, and lets no gang wait for quota in them"
        )
        self._events.record(about, NOT_ENFORCED, words)

    def _record(self, declared: DeclaredQueue) -> None:
        if declared.notes:
            ref = declared.queue.ref
            kind = KINDS_IN_MANIFESTS[declared.gvr.plural]
            about = About(declared.gvr.api_version, kind, "", ref.name, declared.uid)
            self._events.record(about, WITHOUT_EFFECT, "; ".join(declared.notes), warning=True)
