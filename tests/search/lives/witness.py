"""The auditor of the product, beside a life: what it finds is a complaint."""

from collections.abc import Callable

from gang_auditor.auditor import Auditor, Limits
from gang_auditor.findings import Finding
from gang_auditor.kinds_watched import WATCHED
from gang_auditor.rules import table
from gang_auditor.watch_events import Event
from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.fake.cluster import Change, Document

KINDS = {gvr: each.kind for each in WATCHED for gvr in each.versions}


class Witness:
    """Hands all changes to an auditor, with the time of the life in seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        limits = Limits()
        self._auditor = Auditor(table.rules(limits), limits.skew)
        self._clock = clock
        self._found: list[Finding] = []

    def see(self, gvr: GVR, change: Change, document: Document) -> None:
        """Hand a change on."""
        if gvr in KINDS:
            whole = {**document, "apiVersion": gvr.api_version, "kind": KINDS[gvr]}
            self._found += self._auditor.observe(Event(self._clock(), change, whole))

    def complaints(self) -> list[str]:
        """Return all that was found until now."""
        self._found += self._auditor.tick(self._clock())
        return [f"{each.rule}: {each.about}: {each.message}" for each in self._found]
