"""Tells administrators of kinds that the scheduler may not read, by Events on its own Deployment.

The pods of such a kind wait with what users can see. What is wrong is the ClusterRole, which
others have to look after.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from gang_scheduler.api.kinds import DEPLOYMENTS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Api
from gang_scheduler.decode import fields
from gang_scheduler.internal_errors import confined
from gang_scheduler.report.events import About, Events
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.wire.metadata import Identified

LOOK_SECONDS: Final = 30.0
REASON: Final = "KindForbidden"

log = Logger()


class ForbiddenKinds:
    """An Event for all of them, for as long as there are some; while we are the leader.

    `forbidden` gives their names. The Deployment is called like the Lease, as the chart has it.
    """

    def __init__(
        self,
        api: Api,
        events: Events,
        *,
        forbidden: Callable[[], Collection[str]],
        namespace: str,
        name: str,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._api = api
        self._events = events
        self._forbidden = forbidden
        self._namespace = namespace
        self._name = name
        self._may_write = may_write
        self._told: tuple[str, ...] = ()

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            if self._may_write():
                with confined("report", "forbidden kinds"):
                    await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Tell of the kinds that may not be read, if any; of the same ones once."""
        names = tuple(sorted(self._forbidden()))
        if names == self._told:
            return
        if names:
            deployment = await self._deployment()
            if deployment is None:
                return
            note = f"may not list {', '.join(names)}: pods of these wait; update the ClusterRole"
            self._events.record(deployment, REASON, note, warning=True)
        self._told = names

    async def _deployment(self) -> About | None:
        """Return the Deployment that this process is of; None where it cannot be read."""
        try:
            body = await self._api.get(DEPLOYMENTS, self._namespace, self._name)
            found = fields.read(body, Identified).metadata
        except (ApiError, InvalidField) as error:
            log.info("deployment_unread", deployment=self._name, error=str(error))
            return None
        return About(DEPLOYMENTS.api_version, "Deployment", self._namespace, self._name, found.uid)
