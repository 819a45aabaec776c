"""Requests to save work over HTTP, each to the first member of a gang and nowhere else.

What answers is the code of a tenant: it may be slow, send anything, or name another place. So an
answer is short, is waited for briefly, and leads nowhere.
"""

import asyncio
import ipaddress
import time
from collections.abc import Callable
from typing import Final

import msgspec

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.apply.checkpoints.asked import AskedGang
from gang_scheduler.client.pod_port import PodAnswer, PodHttp, PodRequest
from gang_scheduler.decode.checkpoints import reports
from gang_scheduler.decode.checkpoints.policies import LEAST_PORT
from gang_scheduler.model.checkpoints import Outcome
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry.logger import Logger

AT_ONCE: Final = 16
"""How many requests are under way at once, of all gangs."""
PAUSE_SECONDS: Final = 1.0
SAVED, UNDER_WAY = 200, 202

log = Logger()

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_of_a_pod(address: Address) -> bool:
    """Return whether an address can be that of a pod: not ours, of a node's link, or of many."""
    return not (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    )


class Posting:
    """Asks gangs at their first members, and goes on asking while they save their work."""

    def __init__(
        self,
        cache: Cache,
        http: PodHttp,
        *,
        allowed: Callable[[Address], bool] = is_of_a_pod,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._http = http
        self._allowed = allowed
        self._clock = clock
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def ask(self, gang: AskedGang) -> None:
        """Ask a gang until it answers, or is asked no longer; cancelled when its time is over."""
        method = "POST"
        while True:
            member = self._cache.pod(gang.pods[0].uid)
            host = self._host_of(member)
            if not host:
                return self._failed(gang, "its first member has no address of its own")
            if gang.policy.port < LEAST_PORT:
                return self._failed(gang, f"its port is not at least {LEAST_PORT}")
            answer = await self._answer(method, host, gang)
            if answer is not None:
                if answer.status == SAVED:
                    return self._saved(gang, answer)
                if answer.status == UNDER_WAY:
                    method = "GET"
                elif answer.status < 500:
                    return self._failed(gang, f"it answered {answer.status}")
            await asyncio.sleep(PAUSE_SECONDS)

    async def _answer(self, method: str, host: str, gang: AskedGang) -> PodAnswer | None:
        """Return an answer; None where none came, which another try may bring."""
        asked = {"requestId": gang.request.id, "requestedAt": rfc3339(gang.request.at)}
        body = msgspec.json.encode(asked) if method == "POST" else None
        policy, request_id = gang.policy, gang.request.id
        request = PodRequest(method, host, policy.port, policy.path, request_id, body)
        async with self._slots:
            try:
                return await self._http.ask(request)
            except OSError as error:
                log.info("checkpoint_unanswered", gang=str(gang.key), error=str(error))
                return None

    def _host_of(self, member: Pod | None) -> str:
        """Return the address of a member; "" for none that may be asked."""
        if member is None or not member.living or not member.address:
            return ""
        try:
            address = ipaddress.ip_address(member.address)
        except ValueError:
            return ""
        return str(address) if self._allowed(address) else ""

    def _saved(self, gang: AskedGang, answer: PodAnswer) -> None:
        now = int(self._clock())
        save = reports.of_answer(answer.body, now, gang.request.id)
        if save is None:
            self._failed(gang, "its answer cannot be read")
        else:
            self._cache.checkpoints.answered(gang.key, save, now)

    def _failed(self, gang: AskedGang, why: str) -> None:
        self._cache.checkpoints.gave_up(gang.key, gang.request.id, Outcome.FAILED, why)
