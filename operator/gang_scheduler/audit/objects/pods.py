"""A pod as the auditor reads it: the fields that rules ask for, taken from the raw object."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit.objects import quantities
from gang_scheduler.audit.objects.quantities import Amounts
from gang_scheduler.audit.stream.events import Object

ENDED: Final = frozenset({"Succeeded", "Failed"})
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - what a manifest says, nothing is listened on.


class HostPort(NamedTuple):
    """A port of the node that a container takes."""

    protocol: str
    address: str
    number: int

    def meets(self, other: "HostPort") -> bool:
        """Return whether both cannot be on one node."""
        same = (self.protocol, self.number) == (other.protocol, other.number)
        return same and (ANY_ADDRESS in (self.address, other.address) or other == self)


@dataclass(frozen=True, eq=False)
class Pod:
    """A version of a pod."""

    raw: Object

    @cached_property
    def metadata(self) -> Object:
        """Its metadata."""
        return mapping(self.raw, "metadata")

    @cached_property
    def spec(self) -> Object:
        """Its spec."""
        return mapping(self.raw, "spec")

    @cached_property
    def status(self) -> Object:
        """Its status."""
        return mapping(self.raw, "status")

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.metadata.get("namespace") or "")

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.metadata.get("name") or "")

    @property
    def uid(self) -> str:
        """Its uid."""
        return str(self.metadata.get("uid") or "")

    @property
    def about(self) -> str:
        """The pod as findings name it."""
        return f"Pod {self.namespace}/{self.name}"

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return mapping(self.metadata, "labels")

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        return mapping(self.metadata, "annotations")

    @cached_property
    def node(self) -> str:
        """The node that it is bound to, or ""."""
        return str(self.spec.get("nodeName") or "")

    @cached_property
    def nominated(self) -> str:
        """The node that it is nominated to, or ""."""
        return str(self.status.get("nominatedNodeName") or "")

    @cached_property
    def has_ended(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.status.get("phase") in ENDED

    @cached_property
    def is_deleted(self) -> bool:
        """Whether it has a time of deletion."""
        return bool(self.metadata.get("deletionTimestamp"))

    @cached_property
    def is_gated(self) -> bool:
        """Whether it has scheduling gates."""
        return bool(self.spec.get("schedulingGates"))

    @property
    def scheduler(self) -> str:
        """The name of its scheduler."""
        return str(self.spec.get("schedulerName") or "default-scheduler")

    @property
    def priority(self) -> int:
        """Its priority, as admission has filled it in."""
        return int(self.spec.get("priority") or 0)

    @property
    def holds_its_node(self) -> bool:
        """Whether it uses the room of a node."""
        return bool(self.node) and not self.has_ended

    @cached_property
    def plan(self) -> str:
        """The plan that has bound it, "" if it was not bound by this scheduler."""
        return str(self.annotations.get(keys.PLAN_ID) or "") if self.node else ""

    @cached_property
    def requests(self) -> Amounts:
        """What it uses of a node, `pods: 1` included."""
        return {**_requests(self), "pods": 1}

    @cached_property
    def host_ports(self) -> Sequence[HostPort]:
        """The ports of the node that it takes."""
        return tuple(_host_ports(self))

    @cached_property
    def controller(self) -> Object:
        """The reference to the object that controls it; {} without one."""
        owners = [each for each in rows(self.metadata, "ownerReferences") if each.get("controller")]
        return owners[0] if owners else {}

    def condition(self, kind: str) -> Object:
        """Return its condition of a type; {} without one."""
        found = [each for each in rows(self.status, "conditions") if each.get("type") == kind]
        return found[0] if found else {}


def mapping(parent: Object, name: str) -> Mapping[str, Any]:
    """Return a field that is an object; {} if it is absent or something else."""
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def rows(parent: Object, name: str) -> Sequence[Object]:
    """Return the objects of a field that is a list; () if it is absent or something else."""
    found = parent.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else ()


def _host_ports(pod: Pod) -> Iterator[HostPort]:
    sidecars = [e for e in rows(pod.spec, "initContainers") if e.get("restartPolicy") == "Always"]
    for container in (*rows(pod.spec, "containers"), *sidecars):
        for port in rows(container, "ports"):
            if port.get("hostPort"):
                protocol = str(port.get("protocol") or "TCP")
                yield HostPort(protocol, str(port.get("hostIP") or ANY_ADDRESS), port["hostPort"])


def _requests(pod: Pod) -> dict[str, int]:
    """Count as component-helpers' `resource.PodRequests` does."""
    wanted = _of_containers(pod, lambda each: _requested(mapping(each, "resources")))
    own = quantities.amounts(mapping(pod.spec, "resources").get("requests"))
    limits = quantities.amounts(mapping(pod.spec, "resources").get("limits"))
    if pod.node:
        wanted = _during_a_resize(pod, wanted)
        own = _own_during_a_resize(pod, own)
    whole = {**limits, **wanted, **own}
    return quantities.total((whole, quantities.amounts(pod.spec.get("overhead"))))


def _requested(resources: Object) -> dict[str, int]:
    limits = quantities.amounts(resources.get("limits"))
    return {**limits, **quantities.amounts(resources.get("requests"))}


def _of_containers(pod: Pod, count: Any) -> dict[str, int]:  # noqa: ANN401 - a function of objects.
    """Return the larger of the running containers and of each init container in its turn."""
    running = quantities.total(count(each) for each in rows(pod.spec, "containers"))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in rows(pod.spec, "initContainers"):
        asked = count(container)
        if container.get("restartPolicy") == "Always":
            sidecars = quantities.total((sidecars, asked))
            asked = {}
        peak = quantities.largest((peak, quantities.total((sidecars, asked))))
    return quantities.largest((quantities.total((running, sidecars)), peak))


def _is_infeasible(pod: Pod) -> bool:
    return pod.condition("PodResizePending").get("reason") == "Infeasible"


def _during_a_resize(pod: Pod, wanted: dict[str, int]) -> dict[str, int]:
    """Return the most of what containers want, were given, and use."""
    infeasible = _is_infeasible(pod)
    said = {
        each.get("name"): each
        for name in ("initContainerStatuses", "containerStatuses")
        for each in rows(pod.status, name)
    }

    def given(container: Object) -> dict[str, int]:
        status = said.get(container.get("name"), {})
        if status.get("allocatedResources"):
            return quantities.amounts(status["allocatedResources"])
        return {} if infeasible else _requested(mapping(container, "resources"))

    def used(container: Object) -> dict[str, int]:
        status = said.get(container.get("name"), {})
        requests = mapping(mapping(status, "resources"), "requests")
        return quantities.amounts(requests) if requests else given(container)

    parts = (_of_containers(pod, given), _of_containers(pod, used))
    return quantities.largest(parts if infeasible else (wanted, *parts))


def _own_during_a_resize(pod: Pod, own: dict[str, int]) -> dict[str, int]:
    said = mapping(pod.status, "resources")
    if not own or not said:
        return own
    given = quantities.amounts(pod.status.get("allocatedResources"))
    used = quantities.amounts(said.get("requests"))
    found = quantities.largest(({} if _is_infeasible(pod) else own, given, used))
    return {
        name: count
        for name, count in found.items()
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }
