"""The claims of a plan: the devices that each claim of its pods is given, by name.

A trial only keeps how many members use which devices of a node. This module gives each member its
devices, in the order of their ranks where that is possible.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from gang_scheduler.model.device_needs import ClaimAllocation, DeviceNeeds
from gang_scheduler.model.devices import Allocation, Claim
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler.devices.allocating import given_to
from gang_scheduler.scheduler.devices.device_ledger import DeviceLedger
from gang_scheduler.scheduler.devices.extended import at_node, name_of, own_claim
from gang_scheduler.scheduler.devices.free_devices import Chosen, claims_of
from gang_scheduler.scheduler.devices.members import Members
from gang_scheduler.scheduler.devices.outcomes import Found


def named(
    ledger: DeviceLedger, binds: Iterable[Bind], *, nominated: bool = False
) -> Iterator[Bind]:
    """Yield the binds of a whole plan, each with the allocations of its claims.

    `nominated`: these are its nominations, with the devices that are kept for them.
    """
    all_binds = list(binds)
    by_row: dict[int, list[Pod]] = {}
    for bind in all_binds:
        if bind.pod.pod_class.devices is not None:
            by_row.setdefault(ledger.nodes.rows[bind.node], []).append(bind.pod)
    allocated: dict[str, Allocation] = {}
    known: _Known = {}
    for row, pods in by_row.items():
        allocated |= dict(_allocations(ledger, row, pods, known, nominated=nominated))
    joined = set[str]()
    for bind in all_binds:
        has_claims = bind.pod.pod_class.devices is not None
        row = ledger.nodes.rows[bind.node]
        claims = tuple(_of_pod(ledger, bind.pod, row, allocated, joined)) if has_claims else ()
        yield replace(bind, claims=claims) if claims else bind


class _FoundBefore(NamedTuple):
    """The devices that some claims found on a node."""

    row: int
    asked: Sequence[object]
    chosen: Chosen


_Known = dict[Hashable, _FoundBefore]
"""Earlier results. Nodes with the same key give the same requests devices at the same places."""


def _allocations(
    ledger: DeviceLedger, row: int, pods: Sequence[Pod], known: _Known, *, nominated: bool
) -> Iterator[tuple[str, Allocation]]:
    """Yield the claims of the pods that a plan binds to a node, with their allocations."""
    by_needs: dict[DeviceNeeds, deque[Pod]] = {}
    for each in pods:
        if each.pod_class.devices is not None:
            needs = at_node(ledger.nodes, row, each.pod_class.devices)
            by_needs.setdefault(needs, deque()).append(each)
    rank = {each.uid: place for place, each in enumerate(pods)}
    before = ledger.elsewhere(row)
    seen = set[str]()
    for members in ledger.gangs_on(row):
        asking: list[tuple[int, Claim]] = []
        for needs in members.each():
            waiting = by_needs.get(needs) if members.nominated == nominated else None
            pod: Pod | None = waiting.popleft() if waiting else None
            claims = _claims_of(ledger, pod, needs)
            place = len(pods) if pod is None else rank[pod.uid]
            asking += ((place, each) for _, each in ledger.asked(row, needs, claims, seen))
        chosen = members.allocations
        if members.chosen is None:
            # The order of members decides which devices each one gets, not whether all get devices.
            in_rank = sorted(asking, key=itemgetter(0))
            asking, chosen = _search(ledger, row, (in_rank, asking), before, members, known)
        before += chosen
        for (_, claim), allocation in zip(asking, chosen, strict=False):
            if claim.name:
                yield claim.key, given_to(claim, allocation, ledger.devices.classes)


def _search(  # noqa: PLR0917 - a question, and all that its answer depends on
    ledger: DeviceLedger,
    row: int,
    orders: Iterable[list[tuple[int, Claim]]],
    before: Sequence[Allocation],
    members: Members,
    known: _Known,
) -> tuple[list[tuple[int, Claim]], Chosen]:
    """Return the first of these orders in which the claims find devices, and the devices."""
    free, taken = ledger.free_for(row, members), [*before, *members.avoided]
    by_place = None if free or taken else _by_place(ledger, row, members)
    for asking in orders:
        asked = [(each.requests, each.constraints) for _, each in asking]
        found_before = known.get(by_place) if by_place is not None else None
        if found_before is not None and found_before.asked == asked:
            return asking, ledger.free_devices.moved(found_before.chosen, found_before.row, row)
        # A trial found the devices before, and the search may take as long again.
        ledger.free_devices.renew()
        found = ledger.free_devices.search(row, [claim for _, claim in asking], taken, free)
        if isinstance(found, Found):
            if by_place is not None:
                known[by_place] = _FoundBefore(row, asked, found.allocations)
            return asking, found.allocations
    if members.nominated:
        return [], ()  # The devices that are kept for them may be lost, with their slice.
    node = ledger.nodes.nodes[row].name
    raise RuntimeError(f"devices of node {node} that were free are not found again")


def _by_place(ledger: DeviceLedger, row: int, members: Members) -> Hashable | None:
    """Return a key of nodes on which members like these get devices at the same places, if known.

    It is known only for members that all have the same needs.
    """
    numbers = members.numbers()
    needs = numbers[0][0] if len(numbers) == 1 else None
    if needs is None or any(each.shared for each in needs.claims):
        return None
    key = ledger.free_devices.by_place(row, needs)
    return None if key is None else (needs, key)


def _claims_of(ledger: DeviceLedger, pod: Pod | None, needs: DeviceNeeds) -> tuple[Claim, ...]:
    """Return the claims of a pod that are still to be allocated, in the order of its needs.

    Claims of a member that is not bound now, or does not exist yet, have no names.
    """
    if pod is None or pod.virtual:
        return claims_of(needs)
    keys = dict.fromkeys(f"{pod.namespace}/{each.claim}" for each in pod.claims if each.claim)
    waiting = ledger.devices.waiting
    claims = [waiting[key] for key in keys if key in waiting]
    if len(needs.claims) > len(claims):
        # The claim for its extended resources is the last one.
        requests = needs.claims[-1].spec.requests
        claims.append(Claim(pod.namespace, name_of(pod), pod.uid, requests=requests))
    return tuple(claims)


def _of_pod(
    ledger: DeviceLedger,
    pod: Pod,
    row: int,
    allocated: Mapping[str, Allocation],
    joined: set[str],
) -> Iterator[ClaimAllocation]:
    """Yield the allocations of a pod's claims; only the first user of a claim has a new one."""
    for entry in pod.claims:
        key = f"{pod.namespace}/{entry.claim}"
        known = ledger.devices.claims.get(key)
        if known is not None and known.allocation is not None:
            yield ClaimAllocation(entry.entry, key, known.allocation, is_new=False)
        elif key in allocated:
            yield ClaimAllocation(entry.entry, key, allocated[key], is_new=key not in joined)
            joined.add(key)
    yield from own_claim(pod, ledger.nodes, row, ledger.devices.claims, allocated)
