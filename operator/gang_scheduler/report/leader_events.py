"""Events on the Lease: which replica began to lead and which ended, and how long that took."""

import time
from collections.abc import Callable
from typing import Final

from gang_scheduler.client.leader_election import Predecessor, Sign
from gang_scheduler.client.port import Api, Body
from gang_scheduler.report import events
from gang_scheduler.report.events import About
from gang_scheduler.telemetry.logger import Logger

REASON: Final = "LeaderElection"
"""That of client-go, whose Events say the same of other controllers."""

log = Logger()


class LeaderEvents:
    """Written beside the Lease: neither bindings nor the loss of the leadership hold them up.

    `lease` gives the Lease as it was written last, None if that is not known.
    """

    def __init__(
        self,
        api: Api,
        identity: str,
        lease: Callable[[], Body | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._identity = identity
        self._lease = lease
        self._clock = clock

    async def began(self, predecessor: Predecessor | None, seconds: float) -> None:
        """Tell that this replica schedules, so many seconds after the last sign of another."""
        note = f"{self._identity} became leader"
        if predecessor is not None:
            how = (
                "released the Lease"
                if predecessor.ended is Sign.RELEASED
                else "was last seen to renew the Lease"
            )
            note += f" {seconds:.1f} s after {predecessor.identity} {how}"
        await self._tell(note)

    async def ended(self, *, released: bool) -> None:
        """Tell that this replica leads no more."""
        how = "released the Lease" if released else "did not release the Lease: it has to run out"
        await self._tell(f"{self._identity} stopped leading, and {how}")

    async def _tell(self, note: str) -> None:
        lease = self._lease()
        if lease is None:
            return
        metadata = lease["metadata"]
        about = About(
            *("coordination.k8s.io/v1", "Lease", metadata["namespace"], metadata["name"]),
            uid=str(metadata.get("uid", "")),
        )
        event = events.event_of(about, REASON, note, self._clock(), warning=False)
        error = await events.create(self._api, about.namespace, event)
        if error is not None:
            log.warning("leader_event_not_written", note=note, error=str(error))
