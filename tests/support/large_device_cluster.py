"""A large cluster whose nodes have devices, and gangs that wait for some: see `large_cluster`.

Each node has eight devices. Each member of the gangs needs one: by a claim of its own, or by asking
for an extended resource that stands for their class. In each cycle a claim was freed elsewhere, and
a node's slice changed, so that every gang that is short of devices is tried again.

| case              | what waits, in gangs of 20 of eight shapes                                   |
|-------------------|------------------------------------------------------------------------------|
| claims            | running pods use all devices                                                 |
| claims fit        | all devices are free, and all gangs have just been created                   |
| claims priority   | as `claims`; `outranking` gangs outrank one in ten of those that run         |
| extended          | as `claims`, with the extended resource. Its gangs are of one shape          |
| extended fit      | as `claims fit`                                                              |
| extended priority | as `claims priority`                                                         |
"""

from dataclasses import replace
from typing import Final

from gang_scheduler.api.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.model.devices import (
    Allocation,
    Attribute,
    AttributeKind,
    Claim,
    Consumer,
    Device,
    DeviceClass,
    DeviceResult,
    Owner,
    Request,
    Slice,
    SubRequest,
)
from gang_scheduler.model.extended_resources import ContainerRequest, claim_name
from gang_scheduler.model.pods import Pod
from support import builders, cache_feeding, large_cluster
from support.device_builders import DRIVER
from support.large_cluster import LOWEST, OUTRANKING, RUNNING, SHAPES, SIZE, LargeCluster, Scale

CASES: Final = (
    "claims",
    "claims fit",
    "claims priority",
    "extended",
    "extended fit",
    "extended priority",
)
DEVICES: Final = 8
MEMORY: Final = 80
GPU: Final = "nvidia.com/gpu"
CLASS: Final = DeviceClass("gpu", (f"device.driver == '{DRIVER}'",), extended_resource=GPU)
ASKED: Final = (ContainerRequest("main", 0, GPU, 0, 1),)
CPUS: Final = 1_000
BY_CLAIM: Final = builders.pod_class(cpu=1)
BY_RESOURCE: Final = builders.pod_class(cpu=1, extra={GPU: 1})


class LargeDeviceCluster(LargeCluster):
    """A cluster whose devices are all used by running pods, or all free."""

    _versions = 0

    def happens(self) -> None:
        """Let a claim be freed and allocated again elsewhere, and a node's slice change."""
        super().happens()
        self._see(replace(_elsewhere(), allocation=None))
        self._see(_elsewhere())
        self.show_slice(0, version=self.now)

    def show_slice(self, number: int, *, version: int = 0, devices: int = DEVICES) -> None:
        """Let the slice of a node be seen. Versions differ in an attribute that is not read."""
        node = f"node-{number}"
        attributes = {
            "memory": Attribute(AttributeKind.INT, MEMORY),
            "version": Attribute(AttributeKind.INT, version),
        }
        found = tuple(Device(f"gpu-{i}", attributes) for i in range(devices))
        self._feed(Slice(node, DRIVER, node, node_name=node, devices=found, uid=f"uid-{node}"))

    def _see(self, claim: Claim) -> None:
        self._versions += 1
        self._feed(replace(claim, resource_version=str(self._versions)))

    def _feed(self, found: Slice | Claim | DeviceClass) -> None:
        gvr = {Slice: RESOURCE_SLICES, Claim: RESOURCE_CLAIMS, DeviceClass: DEVICE_CLASSES}
        cache_feeding.upsert(self.cache, gvr[type(found)], found)

    def fill(self, scale: Scale) -> None:
        """Add the nodes with their devices, and the gangs that use all of them, if any do."""
        self.cache.serve_devices(served=True)
        self._feed(CLASS)
        for number in range(scale.nodes):
            self.cache.upsert(self.cache.node_store, large_cluster.plain_node(number, CPUS))
            self.show_slice(number)
        self.cache.upsert_pod(self.elsewhere)
        self._see(_elsewhere())
        running = 0 if self.case.endswith("fit") else scale.nodes * DEVICES
        for gang in range(-(-running // SIZE)):
            priority = LOWEST if gang % 10 == 0 else RUNNING
            for number in range(gang * SIZE, min((gang + 1) * SIZE, running)):
                device, node = divmod(number, scale.nodes)
                pod = self._asking(f"run-{gang}", number, priority, f"node-{node}")
                self._see(_allocated(self._claim_of(pod), f"node-{node}", f"gpu-{device}"))
            self.declare(f"run-{gang}")

    def await_gangs(self, scale: Scale) -> None:
        """Add the gangs that wait, with their claims."""
        for gang in range(scale.gangs):
            outranks = self.case.endswith("priority") and gang < scale.outranking
            priority = OUTRANKING if outranks else LOWEST
            members = [self._asking(f"wait-{gang}", i, priority) for i in range(SIZE)]
            self.first.append(members[0])
            self.declare(f"wait-{gang}")
            for pod in () if self._is_extended else members:
                self._see(self._claim_of(pod, MEMORY - gang % SHAPES))

    @property
    def _is_extended(self) -> bool:
        return self.case.startswith("extended")

    def _asking(self, gang: str, number: int, priority: int, node: str = "") -> Pod:
        if self._is_extended:
            return self.member(gang, number, BY_RESOURCE, priority, node, extended=ASKED)
        claims = (PodClaim("gpu", f"{gang}-{number}-gpu", "gpus"),)
        return self.member(gang, number, BY_CLAIM, priority, node, claims=claims)

    def _claim_of(self, pod: Pod, memory: int = 0) -> Claim:
        """Return the claim of a pod: for a device with so much memory."""
        name = claim_name(pod.name, pod.uid) if self._is_extended else f"{pod.name}-gpu"
        selector = f"device.attributes['{DRIVER}'].memory >= {memory}"
        asked = SubRequest("", CLASS.name, (selector,) if memory else ())
        return Claim(
            pod.namespace,
            name,
            uid=f"uid-{name}",
            owner=Owner("v1", "Pod", pod.name, pod.uid),
            requests=(Request("gpu", (asked,)),),
            reserved_for=(Consumer("", "pods", pod.name, pod.uid),) if pod.node else (),
        )


def _elsewhere() -> Claim:
    """Return a claim that has a device of which no slice knows."""
    return _allocated(Claim("default", "elsewhere", uid="uid-elsewhere"), "elsewhere", "gpu-0")


def _allocated(claim: Claim, node: str, device: str) -> Claim:
    results = (DeviceResult("gpu", DRIVER, node, device),)
    return replace(claim, allocation=Allocation(results))
