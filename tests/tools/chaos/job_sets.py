"""Makes the Jobs of JobSets through all outages, in the place of the JobSet controller."""

import contextlib
from typing import Self

from tools.chaos.users import TROUBLES
from tools.controlplane import access
from tools.controlplane.cluster import Cluster
from tools.errands import Errand
from tools.jobset import standin

PAUSE_SECONDS = 0.3
REQUEST_SECONDS = 15.0


class JobSets(Errand):
    """Makes them until the `with` block ends."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__("JobSets", PAUSE_SECONDS)
        self._cluster = cluster
        self._made: set[tuple[str, str]] = set()

    def __enter__(self) -> Self:
        standin.install(self._cluster)
        return super().__enter__()

    def once(self) -> None:
        """Make those that are missing; after an outage the next call does."""
        with (
            contextlib.suppress(*TROUBLES),
            access.Client(self._cluster.access, REQUEST_SECONDS) as client,
        ):
            standin.create_all(client, self._made)
