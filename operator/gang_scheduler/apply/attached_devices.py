"""Whether the devices of members are attached, so that the members may be bound.

Devices with binding conditions are allocated first; then their drivers attach them to the node, and
set the conditions in the status of the claim. The time for this begins with the allocation, also
after a restart. Meanwhile no claim of the members may change, whether or not it needs a driver.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.decode import fields
from gang_scheduler.model.causes.devices import DeviceNotAttached, DevicesAwaited
from gang_scheduler.model.causes.gangs import DeviceClaimFailed
from gang_scheduler.model.device_needs import ClaimAllocation
from gang_scheduler.model.devices import Allocation, Claim, DeviceId
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.reasons import Cause
from gang_scheduler.state.devices.attaching import (
    Failure,
    Pending,
    failures,
    is_attached_later,
    pending,
)
from gang_scheduler.state.devices.device_cache import DeviceCache

ATTACH_SECONDS = 600.0
LOST: Final = "it has lost its allocation"


class Held(NamedTuple):
    """A claim as it was reserved for the users with these uids.

    Its devices must be attached until this time of the event loop.
    """

    claim: str
    uid: str
    allocation: Allocation
    users: frozenset[str]
    until: float


@dataclass(frozen=True, slots=True)
class Attachment:
    """The claims of members while some of their devices are being attached.

    `until`, in the event loop's time, is when the attachment must be done.
    """

    claims: tuple[Held, ...]
    until: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Why devices are given up, and the devices that are at fault."""

    cause: Cause
    devices: tuple[DeviceId, ...] = ()


class AttachedDevices:
    """Looks at the claims of members, for at most `seconds` after their allocation."""

    def __init__(self, devices: DeviceCache, seconds: float = ATTACH_SECONDS) -> None:
        self._devices = devices
        self._seconds = seconds
        self._waits: dict[str, tuple[Allocation, float]] = {}

    def begin(self, binds: Iterable[Bind]) -> Attachment | None:
        """Return the claims to hold; None if all devices can be used at once."""
        found: dict[str, ClaimAllocation] = {}
        users: dict[str, set[str]] = defaultdict(set)
        for bind in binds:
            for each in bind.claims:
                found[each.claim] = each
                users[each.claim].add(self._devices.user_of(bind.pod, each).uid)
        if not any(is_attached_later(each.allocation) for each in found.values()):
            return None
        self._forget_gone()
        held = []
        for key, each in found.items():
            known = self._devices.claims.get(key)
            uid = "" if known is None else known.uid
            held.append(Held(key, uid, each.allocation, frozenset(users[key]), self._until(each)))
        return Attachment(tuple(held), max(each.until for each in held))

    def _until(self, of: ClaimAllocation) -> float:
        """Return when the wait for the devices of a claim ends."""
        now = asyncio.get_running_loop().time()
        if not is_attached_later(of.allocation):
            return now
        found = self._devices.allocated(of.claim)
        if not of.is_new and found is not None and not any(pending(*found)):
            return now + self._seconds
        left = self._seconds - (0.0 if of.is_new else _age(of.allocation))
        allocation, until = self._waits.get(of.claim, (None, 0.0))
        if left <= 0 and allocation is not None and allocation.is_same(of.allocation):
            return until
        # Seen for the first time, and too old already: the clock of its writer may be wrong.
        until = now + (left if left > 0 else self._seconds)
        self._waits[of.claim] = of.allocation, until
        return until

    def _forget_gone(self) -> None:
        for key in [each for each in self._waits if self._devices.allocated(each) is None]:
            del self._waits[key]

    def awaited(self, attachment: Attachment) -> DevicesAwaited | None:
        """Return the devices that are still to be attached; None if there are none."""
        return self._devices.awaited_of(each.claim for each in attachment.claims)

    def failed(self, attachment: Attachment) -> Failed | None:
        """Return why the devices are to be given up; None as long as there is hope."""
        now = asyncio.get_running_loop().time()
        late: list[Pending] = []
        broken: list[Failure] = []
        for each in attachment.claims:
            found = self._devices.allocated(each.claim)
            if found is None:
                return Failed(DeviceClaimFailed(each.claim, LOST))
            # The watch may be late with the users, too, so it proves nothing about them.
            users = each.users if self._devices.is_shown(each.claim) else frozenset[str]()
            change = _change_of(each, *found, users)
            if change:
                return Failed(DeviceClaimFailed(each.claim, change))
            broken += failures(*found)
            late += pending(*found) if now >= each.until else ()
        if broken:
            first = broken[0]
            cause = DeviceNotAttached(first.claim, str(first.device), first.condition)
            return Failed(cause, tuple(each.device for each in broken))
        if late:
            claim, device, condition = late[0]
            cause = DeviceNotAttached(claim, str(device), condition, self._seconds)
            return Failed(cause, tuple(each.device for each in late))
        return None


def change_of(held: Held, claim: Claim) -> str:
    """Return why a claim, as read now, is not as it was reserved; empty if it is."""
    if claim.allocation is None:
        return LOST
    return _change_of(held, claim, claim.allocation, held.users)


def _change_of(held: Held, claim: Claim, allocation: Allocation, users: frozenset[str]) -> str:
    if held.uid and claim.uid and claim.uid != held.uid:
        return "it is another claim now"
    if claim.deleting:
        return "it is being deleted"
    if not allocation.is_same(held.allocation):
        return "it has other devices now"
    if users - {each.uid for each in claim.reserved_for}:
        return "it is not reserved for its pod any more"
    return ""


def _age(allocation: Allocation) -> float:
    """Return the seconds since an allocation; 0 if it does not say when it was made."""
    made = fields.timestamp_or_zero(allocation.timestamp)
    return max(0.0, time.time() - made) if made else 0.0
