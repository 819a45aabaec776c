"""Faults of the calls of a client."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Body


class Call(NamedTuple):
    """One call of the port."""

    method: str
    namespace: str
    name: str
    arguments: Body


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a call: the call takes time, then fails or never ends.

    `after`: the write has happened by then, and only its answer is late or lost.
    """

    error: ApiError | None = None
    after: bool = False
    delay_seconds: float = 0.0
    hangs: bool = False

    async def strike(self) -> None:
        """Make the fault happen."""
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(self.delay_seconds)
        if self.error is not None:
            raise ApiError(*self.error.details)


NO_FAULT = Fault()

Script = Callable[[Call], Fault | None]
"""Decides the fault of a call. May change the cluster, as another writer that was faster."""
