"""Rules on claims of devices: no device twice (`devices`), nothing held in vain (`claims`).

Source: docs/devices.md. The claims of all members of a gang are written before any of them is
bound, and if the gang is not bound, they lose their devices again.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gang_auditor import claims, gangs
from gang_auditor.auditor import Limits
from gang_auditor.claims import CLAIM, Claim
from gang_auditor.findings import Finding
from gang_auditor.gangs import GangName
from gang_auditor.objects import Pod
from gang_auditor.rules.room import Binding, binding_of
from gang_auditor.world import Change, Due, World

LOOK_SECONDS: Final = 1.0
"""The pause between two comparisons of all claims."""

# Rule `devices`: no device is in two allocations, except in shares. Not flagged: devices that only
# pods of other schedulers have; admin access. A device that another scheduler gave to a claim as
# well is flagged: one scheduler has to place the pods with claims on the nodes of a driver.


class Devices:
    """Judges whether a device is in more than one allocation."""

    name = "devices"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._looked = float("-inf")
        self._reported: set[tuple[str, str, str]] = set()

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:  # noqa: ARG002 - a rule's.
        """Judge nothing: only claims say which devices are in use."""
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Compare all allocations, at most every LOOK_SECONDS."""
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        found = set()
        for device, first, second in claims.in_two(claims.all_of(world)):
            case = (device, first.uid, second.uid)
            found.add(case)
            if case not in self._reported and any(
                _is_ours(e, world, self._limits) for e in (first, second)
            ):
                yield _in_two(now, device, first, second)
        self._reported = found


def _in_two(at: float, device: str, first: Claim, second: Claim) -> Finding:
    message = f"is allocated to {first.key} and {second.key}"
    return Finding(at, Devices.name, f"Device {device}", message, {"device": device})


def _is_ours(claim: Claim, world: World, limits: Limits) -> bool:
    users = (world.pods.get(uid) for uid in claim.users)
    return any(each is not None and limits.schedules(each) for each in users)


def standing(world: World, limits: Limits, now: float) -> Iterator[Finding]:
    """Yield the devices that are in two allocations now."""
    for device, first, second in claims.in_two(claims.all_of(world)):
        if any(_is_ours(each, world, limits) for each in (first, second)):
            yield _in_two(now, device, first, second)


# Rule `claims`: a bound pod has its claims, and no pod that waits holds one for long. A claim that
# is allocated and reserved for a pod without a node is an attempt to bind the pod. It must end
# within a time (`partial`), with the pod on a node or the claim without the pod. So no gang has
# devices for a part of its members for longer. If drivers must attach some of them first, the time
# begins when they have. Not flagged: claims that were allocated before, and that running pods
# share; pods of other schedulers; claims that are gone or changed about the time of the binding.


class Claims:
    """Reports pods that are bound without their claims, or hold claims without being bound."""

    name = "claims"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._looked = float("-inf")
        self._since: dict[tuple[str, str], float] = {}
        self._reported: set[tuple[str, str]] = set()
        self._due: Due[Binding] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note bindings of pods with claims."""
        for change in changes:
            pod = change.bound
            if pod is not None and self._limits.judges(pod) and claims.claims_of(pod):
                self._due.add(change.at, binding_of(pod, change, world, self._limits))
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Judge bindings by the claims at that time, and pods that hold claims for too long."""
        for binding in self._due.take(now):
            begin, end = binding.about(self._limits)
            for key in claims.claims_of(binding.pod):
                kept = world.objects(CLAIM).between(key, begin, end)
                versions = [Claim(each) for each in kept if each is not None]
                if versions and not any(_has(each, binding.pod) for each in versions):
                    message = f"bound to {binding.pod.node}, without the devices of its claim {key}"
                    details = {"claim": key}
                    yield Finding(binding.at, self.name, binding.pod.about, message, details)
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            yield from self._held(now, world)

    def _held(self, now: float, world: World) -> Iterator[Finding]:
        """Yield the pods that have held a claim for too long without being bound."""
        since = {}
        everything = claims.all_of(world)
        attaching = _attaching(everything, world)
        for claim in everything:
            for pod in claims.held_by_unbound(claim, world):
                if self._limits.schedules(pod) and _waits_as(pod) not in attaching:
                    case = claim.uid, pod.uid
                    since[case] = self._since.get(case, now)
                    if now - since[case] > self._limits.partial and case not in self._reported:
                        self._reported.add(case)
                        yield self._finding(now, claim, pod, everything, world)
        self._since = since
        self._reported &= since.keys()

    def _finding(
        self, at: float, claim: Claim, pod: Pod, everything: Sequence[Claim], world: World
    ) -> Finding:
        seconds = f"{self._limits.partial:g}"
        message = f"is allocated to {pod.key}, which has not been bound for {seconds} s"
        gang = gangs.gang_of(pod)
        lacking = _lacking(gang, everything, world) if gang is not None else []
        if gang is not None and lacking:
            message += f", and {', '.join(lacking)} of {gang.about} has no devices"
        return Finding(at, self.name, claim.about, message, {"pod": pod.key, "lacking": lacking})


def _has(claim: Claim, pod: Pod) -> bool:
    """Return whether a claim has devices, and is reserved for this pod or for its group."""
    return bool(claim.allocation) and (pod.uid in claim.users or claim.is_of_group)


def _attaching(everything: Sequence[Claim], world: World) -> frozenset[GangName | str]:
    """Return the gangs for which drivers still prepare devices, and such pods without a gang."""
    attached_later = (each for each in everything if each.is_being_attached)
    pods = (pod for each in attached_later for pod in claims.held_by_unbound(each, world))
    return frozenset(map(_waits_as, pods))


def _waits_as(pod: Pod) -> GangName | str:
    return gangs.gang_of(pod) or pod.uid


def _lacking(gang: GangName, everything: Sequence[Claim], world: World) -> list[str]:
    """Return the claims of members that have no devices."""
    unallocated = {each.key for each in everything if not each.allocation}
    named = (each for pod in world.members(gang) if not pod.node for each in claims.claims_of(pod))
    return sorted(unallocated.intersection(named))
