"""A harness with claims of devices, which checks every write of a claim and every binding."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gang_scheduler.api.kinds import GVR, POD_GROUPS, PODS, RESOURCE_CLAIMS
from gang_scheduler.apply.attached_devices import ATTACH_SECONDS
from gang_scheduler.apply.volume_binder import HOLD_SECONDS
from gang_scheduler.client.fake.cluster import Change, Document
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.device_needs import ClaimAllocation
from gang_scheduler.model.devices import Allocation, DeviceResult
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.selectors import Requirement
from support import api_objects, device_objects
from support.binder_harness import BinderHarness
from support.device_objects import DRIVER

CPU = 4
"""The room of a node, and the number of its devices."""


class DeviceHarness(BinderHarness):
    """Nodes with a device a CPU. Gangs that the core refuses are planned here, by simple rules.

    Each claim gets one device of the first node that has one.

    With binding `conditions`, a driver must attach each device before a pod is bound, and may set
    the failure condition `Failed`. `told` is what people hear of waits. `wrong` is what must never
    happen: a device in two allocations, or a pod on a node without its devices.
    """

    def __init__(
        self,
        nodes: int = 2,
        *,
        may_write: Callable[[], bool] = lambda: True,
        attach_seconds: float = ATTACH_SECONDS,
        hold_seconds: float = HOLD_SECONDS,
        conditions: tuple[str, ...] = (),
    ) -> None:
        self.wrong: list[str] = []
        self.told: list[str] = []
        self._conditions = conditions
        super().__init__(
            nodes, may_write=may_write, attach_seconds=attach_seconds, hold_seconds=hold_seconds
        )
        self.cache.serve_devices(served=True)
        names = [f"n{each}" for each in range(nodes)]
        device_objects.publish(self.cluster, *names, devices=CPU, conditions=conditions)
        self.cluster.watchers.append(self._check)

    def gang_with_devices(self, name: str, pods: int, claim: str = "") -> None:
        """Add a gang whose members have a claim each, of the member's name, or share one."""
        self.cluster.put(POD_GROUPS, api_objects.pod_group_body(name, min_member=pods))
        for number in range(pods):
            self.member(name, number, claim)

    def member(self, gang: str, number: int, claim: str = "") -> None:
        """Add a member with its claim."""
        name = f"{gang}-{number}"
        wanted = claim or name
        if not self.cluster.has(RESOURCE_CLAIMS, "default", wanted):
            self.cluster.put(RESOURCE_CLAIMS, device_objects.claim(wanted))
        entries = device_objects.naming(device_objects.by_name(wanted))["spec"]
        self.cluster.put(PODS, api_objects.pod_body(name, gang=gang, **entries))

    def devices(self) -> dict[str, str]:
        """Return NODE/DEVICE of each allocated claim, by its name."""
        return {
            body["metadata"]["name"]: _device(body)
            for body in self.cluster.all(RESOURCE_CLAIMS)
            if _device(body)
        }

    def attach(self, claim: str, *true: str, device: str = "") -> None:
        """Set conditions of the device of a claim, as its driver does."""
        node, _, name = (device or self.devices()[claim]).partition("/")
        conditions = [{"type": each, "status": "True"} for each in true]
        told = {"driver": DRIVER, "pool": node, "device": name, "conditions": conditions}
        with self.cluster.changing(RESOURCE_CLAIMS, "default", claim) as body:
            body["status"]["devices"] = [told]

    def users(self) -> dict[str, list[str]]:
        """Return the pods for which each claim is reserved."""
        return {
            body["metadata"]["name"]: [each["name"] for each in _users(body)]
            for body in self.cluster.all(RESOURCE_CLAIMS)
            if _users(body)
        }

    def plan(self, plan: Plan) -> Plan:
        """Return the plan with devices for all gangs for which there are some."""
        taken = {*self.devices().values(), *self._assumed()}
        placed, refused = [*plan.placed], []
        for each in plan.refused:
            if each.reason is not Reason.UNSCHEDULABLE:
                refused.append(each)
                continue
            given: dict[str, Allocation] = {}
            try:
                binds = tuple([self._bind(pod, taken, given) for pod in each.pods])
            except LookupError:
                refused.append(replace(each, reason=Reason.UNSCHEDULABLE, cause=None))
            else:
                placed.append(Placed(each.gang, binds))
        return replace(plan, placed=tuple(placed), refused=tuple(refused))

    def _bind(self, pod: Pod, taken: set[str], given: dict[str, Allocation]) -> Bind:
        """Return a pod on the first node where its claims get devices. Raises LookupError."""
        for node in self._room:
            try:
                return Bind(pod, node, claims=self._claims(pod, node, taken, given))
            except LookupError:
                continue
        raise LookupError(pod.key)

    def _claims(
        self, pod: Pod, node: str, taken: set[str], given: dict[str, Allocation]
    ) -> tuple[ClaimAllocation, ...]:
        found = []
        for entry in pod.claims:
            key = f"default/{entry.claim}"
            claim = self.cache.devices.claims.get(key)
            assert claim is not None
            known = self.cache.devices.allocation_of(claim)
            avoided = pod.pod_class.devices.avoided if pod.pod_class.devices else ()
            names = {f"{each.pool}/{each.device}" for each in avoided}
            allocation = known or given.get(key) or self._free(node, taken, names)
            if allocation.results[0].pool != node:
                raise LookupError(key)
            given[key] = allocation
            found.append(ClaimAllocation(entry.entry, key, allocation, is_new=known is None))
        return tuple(found)

    def _free(self, node: str, taken: set[str], avoided: set[str]) -> Allocation:
        used = taken | avoided
        free = [f"gpu-{i}" for i in range(CPU) if f"{node}/gpu-{i}" not in used]
        name = free[0]
        taken.add(f"{node}/{name}")
        only = Requirement("metadata.name", Operator.IN, (node,), on_field=True)
        result = DeviceResult(
            *("gpu", DRIVER, node, name),
            binding_conditions=self._conditions,
            binding_failure_conditions=("Failed",) if self._conditions else (),
        )
        return Allocation((result,), node_selector=((only,),))

    def _told(self, gang: Gang, words: str) -> None:  # noqa: ARG002 - of the only gang.
        self.told.append(words)

    def _assumed(self) -> Iterable[str]:
        for claim in self.cache.devices.snapshot().claims.values():
            if claim.allocation is not None:
                yield from (f"{each.pool}/{each.device}" for each in claim.allocation.results)

    def _check(self, gvr: GVR, change: Change, body: Document) -> None:
        if gvr == RESOURCE_CLAIMS:
            found = Counter(self.devices().values())
            self.wrong += (f"{each} is in two claims" for each, n in found.items() if n > 1)
        if gvr == PODS and change != "DELETED" and body["spec"].get("nodeName"):
            self.wrong += self._lacking(body)

    def _lacking(self, pod: Document) -> Iterator[str]:
        for entry in pod["spec"].get("resourceClaims", ()):
            if "resourceClaimName" not in entry:
                continue
            claim = self.cluster.get(RESOURCE_CLAIMS, "default", entry["resourceClaimName"])
            users = [each["uid"] for each in _users(claim)]
            if pod["metadata"]["uid"] not in users:
                yield f"{pod['metadata']['name']} is bound without its devices"


def _device(claim: Document) -> str:
    allocation = claim.get("status", {}).get("allocation")
    found = allocation["devices"]["results"][0] if allocation else {}
    return f"{found['pool']}/{found['device']}" if found else ""


def _users(claim: Document) -> list[Document]:
    users: list[Document] = claim.get("status", {}).get("reservedFor") or []
    return users
