"""The devices, and the shares of devices with their capacity, that allocations of claims use.

A device in use by admin access alone is not taken. The slices of a device play no part.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gang_scheduler.model.devices import Allocation, Claim, DeviceId, DeviceResult
from gang_scheduler.scheduler.devices.change_history import ChangeHistory
from gang_scheduler.scheduler.devices.pools import PoolId

MOST_CHANGES: Final = 256
"""With more changed devices than this, the changes are merged into the base."""
_NO_CAPACITY: Final[Mapping[str, int]] = {}


class Taken:
    """Devices and shares in use. A copy is linear in the changes since the copy it is based on.

    The values are counts: two claims may name one device, which the API server never checks.
    """

    def __init__(self) -> None:
        self._base: Taken | None = None
        self._whole: dict[DeviceId, int] = {}
        self._shares: dict[DeviceId, int] = {}
        self._capacity: dict[DeviceId, dict[str, int]] = {}
        self._history: ChangeHistory[PoolId] = ChangeHistory()

    @classmethod
    def of_claims(cls, claims: Iterable[Claim]) -> "Taken":
        """Return the devices that the allocations of claims use, in any state of the claims."""
        taken = cls()
        for each in claims:
            if each.allocation is not None:
                taken.add(each.allocation)
        return taken

    def following(
        self, before: Mapping[str, Claim], after: Mapping[str, Claim], keys: Iterable[str]
    ) -> "Taken":
        """Return the devices that claims use `after` some changed; this has the ones of `before`.

        This one stays as it is. Linear in the changes, as a rule.
        """
        taken = self.copy() if self._own() <= MOST_CHANGES else self._flat()
        changed: set[PoolId] = set()
        for key in keys:
            old, new = before.get(key), after.get(key)
            if old is new:
                continue
            if old is not None and old.allocation is not None:
                taken.remove(old.allocation)
                changed.update(_pools_of(old.allocation))
            if new is not None and new.allocation is not None:
                taken.add(new.allocation)
                changed.update(_pools_of(new.allocation))
        taken._history = self._history.followed_by(frozenset(changed))  # noqa: SLF001 - of this class
        return taken

    def differs_in(self, before: "Taken") -> frozenset[PoolId] | None:
        """Return the pools whose taken devices differ; None if that is not known."""
        return self._history.since(before._history)  # noqa: SLF001 - of this class

    def _own(self) -> int:
        """Return the number of devices that differ from the base."""
        return 0 if self._base is None else len(self._whole) + len(self._shares)

    def _flat(self) -> "Taken":
        """Return a copy without a base."""
        flat = Taken()
        below = self._base or flat
        for device in (*below._whole, *self._whole):  # noqa: SLF001 - of this class
            flat._whole[device] = self.holders(device)
        for device in (*below._shares, *self._shares):  # noqa: SLF001
            flat._shares[device] = self.shares(device)
            flat._capacity[device] = dict(self.capacity(device))
        flat._whole = {device: number for device, number in flat._whole.items() if number}
        return flat

    def copy(self) -> "Taken":
        """Return a copy that can be changed without changing this one.

        This one must not be changed while the copy is used.
        """
        copied = Taken()
        if self._base is None:
            copied._base = self
            return copied
        copied._base = self._base
        copied._whole = dict(self._whole)
        copied._shares = dict(self._shares)
        copied._capacity = {device: dict(amounts) for device, amounts in self._capacity.items()}
        return copied

    def add(self, allocation: Allocation) -> None:
        """Take the devices of an allocation."""
        for each in allocation.results:
            self._count(each, 1)

    def remove(self, allocation: Allocation) -> None:
        """Give the devices of an allocation back. The opposite of `add`."""
        for each in allocation.results:
            self._count(each, -1)

    def _count(self, result: DeviceResult, by: int) -> None:
        if result.admin:
            return
        counted = self._shares if result.share_id else self._whole
        counted[result.id] = counted.get(result.id, 0) + by
        if result.share_id:
            amounts = self._capacity.setdefault(result.id, {})
            for name, amount in result.consumed.items():
                amounts[name] = amounts.get(name, 0) + by * amount.nanos

    def has(self, device: DeviceId) -> bool:
        """Return whether a device is taken whole."""
        count = self._whole.get(device, 0)
        return count > 0 or (self._base is not None and count + self._base.holders(device) > 0)

    def holders(self, device: DeviceId) -> int:
        """Return how many allocations have a device whole: more than one is a conflict."""
        below = 0 if self._base is None else self._base.holders(device)
        return self._whole.get(device, 0) + below

    def shares(self, device: DeviceId) -> int:
        """Return the number of shares of a device."""
        below = 0 if self._base is None else self._base.shares(device)
        return self._shares.get(device, 0) + below

    def is_used(self, device: DeviceId) -> bool:
        """Return whether a device is taken, whole or by shares, and so consumes its counters."""
        here = device in self._whole or device in self._shares
        if not here:
            return self._base is not None and self._base.is_used(device)
        return self.has(device) or self.shares(device) > 0

    def capacity(self, device: DeviceId) -> Mapping[str, int]:
        """Return the capacity that shares of a device take, in billionths."""
        own = self._capacity.get(device, _NO_CAPACITY)
        below = _NO_CAPACITY if self._base is None else self._base.capacity(device)
        if not (own and below):
            return own or below
        return {name: own.get(name, 0) + below.get(name, 0) for name in (*own, *below)}

    def conflicts(self) -> list[DeviceId]:
        """Return the devices that more than one allocation has whole."""
        devices = dict.fromkeys(self._whole)
        if self._base is not None:
            devices |= dict.fromkeys(self._base._whole)  # noqa: SLF001 - of this class
        return sorted(each for each in devices if self.holders(each) > 1)


def _pools_of(allocation: Allocation) -> Iterator[PoolId]:
    return (PoolId(each.driver, each.pool) for each in allocation.results)
