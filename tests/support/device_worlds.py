"""Nodes with devices, pods that use claims on them, and gangs that wait for some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices, Holders, PodClaim
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    ClaimSpec,
    Consumer,
    Device,
    DeviceResult,
    Request,
)
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import bound_pod, bound_pods, gang, node, pod, snapshot
from support.device_builders import CLASSES, DRIVER, slice_of


@dataclass
class DeviceWorld:
    """A cluster to which pods with claims are added, and a cycle that decides on it.

    `given` are the devices of each node.
    """

    given: Mapping[str, Sequence[Device]]
    cpu: int = 64
    there: list[BoundPod] = field(default_factory=list)
    gangs: list[Gang] = field(default_factory=list)
    claims: dict[str, Claim] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """Claims with a user that is not known."""
    ending: set[str] = field(default_factory=set)
    """Claims whose users have ended."""
    waiting: dict[str, Claim] = field(default_factory=dict)

    def running(self, name: str, at: str, *claims: str, **fields: Any) -> BoundPod:
        """Add a pod on a node that uses these claims: a gang of one, unless told otherwise."""
        made = bound_pod(name, at, **{"priority": 1, "cpu": 1, **fields})
        entries = tuple(PodClaim(f"c{i}", claim) for i, claim in enumerate(claims))
        made = replace(made, pod=replace(made.pod, claims=entries))
        self.there.append(made)
        return made

    def allocated(self, name: str, at: str, *names: str) -> None:
        """Add a claim that has these devices of a node."""
        results = tuple(DeviceResult("gpu", DRIVER, at, each) for each in names)
        self.claims[f"default/{name}"] = Claim("default", name, allocation=Allocation(results))

    def asking(self, name: str, *requests: Request, priority: int = 10, **asks: Any) -> Gang:
        """Add a waiting gang with a member, and its claim, for each request."""
        members = []
        for i, request in enumerate(requests):
            claim = Claim("default", f"{name}-{i}", uid=f"{name}-{i}", requests=(request,))
            self.waiting[claim.key] = claim
            members.append(self._member(claim, name, priority, asks))
        made = gang(name, members=members, priority=priority)
        self.gangs.append(made)
        return made

    def _member(self, claim: Claim, of: str, priority: int, asks: Mapping[str, Any]) -> Pod:
        made = pod(claim.name, gang=of, priority=priority, **{"cpu": 1, **asks})
        needs = DeviceNeeds((DeviceNeed(ClaimSpec(claim.requests)),))
        pod_class = replace(made.pod_class, devices=needs)
        return replace(made, pod_class=pod_class, claims=(PodClaim("gpu", claim.name),))

    def nominate(self, to: Mapping[str, str]) -> None:
        """Nominate members to nodes, by name."""
        self.gangs = [
            replace(
                each,
                pending=tuple(
                    replace(member, nominated=to.get(member.name, "")) for member in each.pending
                ),
            )
            for each in self.gangs
        ]

    def devices(self) -> Devices:
        """Return the devices, with the users of each claim."""
        users: dict[str, set[str]] = {key: set() for key in self.claims}
        gone = {f"default/{each}": "gone" for each in self.ending}
        for each in self.there:
            for claim, uid in each.pod.uses:
                users[claim].add(uid)
        return Devices(
            classes=CLASSES,
            slices=tuple(
                slice_of(some, name=at, pool=at, node_name=at) for at, some in self.given.items()
            ),
            claims={
                key: replace(
                    each,
                    reserved_for=tuple(
                        Consumer("", "pods", uid, uid) for uid in users[key] or [*gone.get(key, "")]
                    ),
                )
                for key, each in self.claims.items()
            },
            holders={
                key: Holders(frozenset(uids), key.partition("/")[2] in self.others)
                for key, uids in users.items()
            },
            ending=tuple(sorted(gone)),
            waiting=self.waiting,
        )

    def snapshot(self) -> Snapshot:
        """Return the snapshot."""
        nodes = [node(name, cpu=self.cpu) for name in self.given]
        found = snapshot(nodes, self.gangs, bound_pods=bound_pods(*self.there))
        return replace(found, devices=self.devices())

    def decide(self) -> Plan:
        """Return the plan of a cycle."""
        return schedule(self.snapshot(), PROFILES["binpack"])


def devices_of(binds: Sequence[Bind]) -> dict[str, list[str]]:
    """Return NODE/DEVICE of each pod's claims, by the name of the pod."""
    return {
        bind.pod.name: [
            f"{each.pool}/{each.device}"
            for claim in bind.claims
            for each in claim.allocation.results
        ]
        for bind in binds
    }


def nominated_devices(plan: Plan) -> dict[str, list[str]]:
    """Return NODE/DEVICE that are kept for each nominated pod, by its name."""
    return devices_of([bind for made in plan.preemptions for bind in made.nominations])


def freed_by(plan: Plan) -> dict[str, list[str]]:
    """Return the devices that each victim frees, by its name."""
    return {
        each.pod.name: [f"{it.pool}/{it.device}" for it in made.frees.get(each.pod.uid, ())]
        for made in plan.preemptions
        for each in made.victims
    }
