"""The amounts that queues count for the claims of a pod: devices by class, and their capacity.

A claim that pods share is charged once: to the pod that came first, and to the next when it ends.
Until a claim has its devices, its requests are charged. `deviceclass/NAME` is a number of
devices, and `CAPACITY.deviceclass/NAME` a sum of capacity, as in Volcano.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Protocol

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.device_quantities import Quantity
from gang_scheduler.model.devices import (
    Allocation,
    ClaimSpec,
    DeviceResult,
    Mode,
    Request,
    SubRequest,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import natural_key
from gang_scheduler.model.resources import DEVICE_CLASS, ENORMOUS, Requests, of_sources
from gang_scheduler.state.devices import needs
from gang_scheduler.state.devices.needs import Known

NANOS = 10**9


class FirstUsers:
    """The first of the pods that use a claim: only this pod is charged for the claim.

    `users` returns the uids of the pods that use a claim. The time of a change grows only with the
    logarithm of their number.
    """

    def __init__(self, users: Callable[[str], Collection[str]]) -> None:
        self._users = users
        self._ordered: dict[str, list[tuple[Any, ...]]] = {}
        self._first: dict[str, str] = {}

    def of(self, claim: str) -> str:
        """Return the uid of the first user of a claim; empty without any."""
        return self._first.get(claim, "")

    def add(self, claim: str, pod: Pod) -> Collection[str]:
        """Note a new user of a claim; return the uids of pods with changed charges."""
        entry = (pod.created_at, natural_key(pod.name), pod.uid)
        ordered = self._ordered.setdefault(claim, [])
        heapq.heappush(ordered, entry)
        users = self._users(claim)
        if len(ordered) > 2 * len(users) + 8:
            # Too many of the remembered users have ended.
            ordered[:] = sorted({each for each in ordered if each[-1] in users})
        return self.look_again(claim)

    def look_again(self, claim: str) -> Collection[str]:
        """Find the first user again; return the uids of pods with changed charges."""
        before, ordered = self.of(claim), self._ordered.get(claim, [])
        users = self._users(claim)
        while ordered and ordered[0][-1] not in users:
            heapq.heappop(ordered)
        if not ordered:
            self._ordered.pop(claim, None)
            self._first.pop(claim, None)
            return {before} - {""}
        first = self._first[claim] = ordered[0][-1]
        return {before, first} - {""} if first != before else ()


class OfDevices(Protocol):
    """The facts about devices on which charges depend; see `needs.Known`."""

    def of(self, devices: Devices, asked: SubRequest, result: DeviceResult | None) -> int | None:
        """Return the amount that quotas count for a device, if not simply one."""

    def number_of_all(self, devices: Devices, asked: SubRequest) -> int:
        """Return how many devices a request for all of them may get."""


class Amounts:
    """The amounts that quotas count for devices, and those that pods were charged last."""

    def __init__(self, of_devices: OfDevices | None, snapshot: Callable[[], Devices]) -> None:
        self._of_devices = of_devices
        self._snapshot = snapshot
        self._charged: dict[SubRequest, int] = {}
        self._numbers: dict[SubRequest, int] = {}

    def of(self, asked: SubRequest, result: DeviceResult | None) -> int | None:
        """Return the amount for an allocated device; without one, for the largest selectable."""
        if self._of_devices is None:
            return None
        found = self._of_devices.of(self._snapshot(), asked, result)
        if result is None and found is not None:
            self._charged[asked] = found
        return found

    def differ(self) -> bool:
        """Return whether pods would be charged other amounts now; ask once after a change."""
        before, self._charged = self._charged, {}
        numbers, self._numbers = self._numbers, {}
        differ = [self.of(asked, None) != amount for asked, amount in before.items()]
        differ += [self.number_of_all(asked) != number for asked, number in numbers.items()]
        return any(differ)

    def number_of_all(self, asked: SubRequest) -> int:
        """Return how many devices a request with `allocationMode: All` may get, at least one."""
        if self._of_devices is None:
            return 1
        number = self._of_devices.number_of_all(self._snapshot(), asked)
        self._numbers[asked] = found = max(number, 1)
        return found


def charged_for(pod: Pod, known: Known) -> Requests:
    """Return the amounts that queues charge for the claims of a pod, sorted by name."""
    sums = Counter[str]()
    for spec, allocation in _claims(pod, known):
        if allocation is None:
            for request in spec.requests:
                sums.update(_most_of(request, known))
        else:
            sums.update(_taken(spec, allocation, known))
    return tuple(sorted((name, min(n, ENORMOUS)) for name, n in sums.items() if n))


def _claims(pod: Pod, known: Known) -> Iterator[tuple[ClaimSpec, Allocation | None]]:
    """Yield the claims that a pod is charged for, with their allocations; templates before that."""
    seen = set[str]()
    for entry in pod.claims:
        claim = known.claim(f"{pod.namespace}/{entry.claim}") if entry.claim else None
        if claim is not None:
            if claim.key not in seen and known.first(claim.key) in {"", pod.uid}:
                seen.add(claim.key)
                yield claim.spec, known.allocation(claim)
        elif entry.template and not entry.unneeded:
            of_group = needs.key_of_group(pod, entry)
            if known.is_of_group(pod, entry) and known.first(of_group) not in {"", pod.uid}:
                continue
            template = known.template(f"{pod.namespace}/{entry.template}")
            if template is not None:
                yield template.spec, None


def _most_of(request: Request, known: Known) -> Mapping[str, int]:
    """Return the largest amount in any alternative of a request, resource by resource."""
    most = Counter[str]()
    for each in request.alternatives:
        if not each.admin_access:
            is_exact = each.mode is Mode.EXACT_COUNT
            number = each.count if is_exact else known.number_of_all(each)
            found = _amounts(each, number)
            amount = known.amount(each, None)
            if amount is not None:
                found[of_sources(each.device_class)] = number * amount
            most |= Counter(found)
    return most


def _taken(spec: ClaimSpec, allocation: Allocation, known: Known) -> Mapping[str, int]:
    """Return the amounts to charge for the devices of a claim, by resource."""
    asked = {
        request.name_of(each): each for request in spec.requests for each in request.alternatives
    }
    taken = Counter[str]()
    for result in allocation.results:
        alternative = asked.get(result.request)
        if alternative is not None and not result.admin:
            taken.update(_amounts(alternative, 1, result.consumed or alternative.capacity))
            amount = known.amount(alternative, result)
            if amount is not None:
                taken[of_sources(alternative.device_class)] += amount
    return taken


def _amounts(
    asked: SubRequest, number: int, capacity: Mapping[str, Quantity] | None = None
) -> dict[str, int]:
    """Return the amounts to charge for this many devices, each with this capacity."""
    device_class = f"{DEVICE_CLASS}{asked.device_class}"
    found = {device_class: number}
    for name, amount in (asked.capacity if capacity is None else capacity).items():
        found[f"{name}.{device_class}"] = number * -(-amount.nanos // NANOS)
    return found
