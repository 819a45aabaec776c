"""Claims that keep devices for pods that are gone, because no controller has freed them.

kube-controller-manager takes a pod that is gone out of its claims. But while its watch is
interrupted, it may not notice that a pod was replaced by another one of the same name. The devices
would then be lost until that controller is restarted.
"""

import asyncio
from typing import Final

from gang_scheduler.api.kinds import RESOURCE_CLAIMS
from gang_scheduler.client import patches
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import Writes
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.devices import Claim
from gang_scheduler.model.refs import PodRef
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry.logger import Logger

WHAT: Final = "device claim freed"
ABANDONED_SECONDS: Final = 120.0
"""How long kube-controller-manager has for a claim whose pods are gone."""
LOOK_SECONDS: Final = 30.0
WRITE_SECONDS: Final = 60.0

log = Logger()


class AbandonedClaims:
    """Frees claims that this scheduler has allocated, and whose pods are all gone."""

    def __init__(self, api: Api, cache: Cache, *, writes: Writes) -> None:
        self._api = api
        self._devices = cache.devices
        self._writes = writes
        self._seen: dict[tuple[str, str], float] = {}

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            with confined("free", "device claims"):
                await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Free the claims that have had no known user for some time."""
        if not self._writes.allowed():
            self._seen.clear()
            return
        now = asyncio.get_running_loop().time()
        found = {(each.uid, each.resource_version): each for each in self._devices.held_by_none()}
        self._seen = {key: self._seen.get(key, now) for key in found}
        for key, claim in found.items():
            if now - self._seen[key] >= ABANDONED_SECONDS:
                await self._free(claim)

    async def _free(self, claim: Claim) -> None:
        """Free a claim, unless one of its pods exists. No plan uses the claim meanwhile."""
        namespace, _, name = claim.key.partition("/")
        is_held = False

        async def write() -> None:
            nonlocal is_held
            is_held = not await self._are_gone(claim)
            if not is_held:
                body = patches.withdrawing_devices(claim, None)
                written = await self._api.patch(
                    RESOURCE_CLAIMS, namespace, name, body, subresource="status"
                )
                self._devices.withdrawn(claim.key, patches.version_of(written))

        self._devices.begin_withdrawal(claim.key)
        try:
            # A claim that was changed meanwhile has a new version, and its time begins again.
            refusal = await self._writes.send(WHAT, write, about=namespace, seconds=WRITE_SECONDS)
        finally:
            self._devices.end_withdrawal(claim.key)
        if refusal is None and not is_held:
            log.warning("device_claim_abandoned", claim=claim.key)

    async def _are_gone(self, claim: Claim) -> bool:
        """Ask the API server whether no pod of a claim exists: the watch may be late."""
        for each in claim.reserved_for:
            try:
                await self._api.bound_node(PodRef(claim.namespace, each.name, each.uid))
            except ApiError as error:
                if error.kind is not Kind.GONE:
                    raise
            else:
                return False
        return True
