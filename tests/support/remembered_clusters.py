"""A cluster of the page that has Events, a time and readings, which a test changes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.sources import OfFiles
from gang_scheduler.page.view import Reading
from support.listed_clusters import Body
from support.pages import source_of

NOON = 1767268800


class Remembered(OfFiles):
    """Counts its readings; each finds the cluster `at` a time, with these `events`."""

    still = False

    def __init__(self, directory: Path, bodies: Sequence[Body], at: int = NOON) -> None:
        made = source_of(directory, bodies)
        cluster = made.read().cluster
        super().__init__(cluster, [str(directory / "cluster.json")], cluster.policy)
        self.at = at
        self.events: Sequence[SchedulerEvent] = ()
        self.readings = 0

    def read(self) -> Reading:
        """Return the cluster at that time."""
        self.readings += 1
        return Reading(replace(super().read().cluster, read_at=self.at), events=self.events)
