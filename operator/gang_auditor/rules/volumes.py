"""`volumes`: the node of a pod reaches its volumes, and has a slot for each.

Source: VolumeBinding, VolumeRestrictions and NodeVolumeLimits of kube-scheduler.

The claims of a bound pod exist, and are bound to volumes whose node affinity matches the node. A
ReadWriteOncePod claim has one pod. A node has no more volumes of a CSI driver than its CSINode
allows.

Not flagged: claims and volumes that changed after the binding; volumes of drivers without a limit.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gang_auditor import objects
from gang_auditor.auditor import Limits
from gang_auditor.findings import Finding
from gang_auditor.objects import Kind, Pod, mapping, rows
from gang_auditor.rules.room import Binding, binding_of
from gang_auditor.watch_events import Object
from gang_auditor.world import Change, Due, World

CLAIM: Final = Kind("", "PersistentVolumeClaim")
VOLUME: Final = Kind("", "PersistentVolume")
CSI_NODE: Final = Kind("storage.k8s.io", "CSINode")
ALONE: Final = "ReadWriteOncePod"


class Volumes:
    """Judges whether the claims and volumes of a pod fit its node."""

    name = "volumes"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[Binding] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note bindings of pods with claims."""
        for change in changes:
            pod = change.bound
            if pod is None or not self._limits.judges(pod) or not claims_of(pod):
                continue
            self._due.add(change.at, binding_of(pod, change, world, self._limits))
            for other in self._with_same_claim(pod, world):
                message = f"bound to {pod.node}, and {other[0].key} uses its claim {other[1]}, too"
                yield Finding(change.at, self.name, pod.about, message, {"claim": other[1]})

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Judge bindings by the claims, volumes and nodes around that time."""
        for binding in self._due.take(now):
            pod = binding.pod
            about = _Moment(world, *binding.about(self._limits))
            for claim in claims_of(pod):
                if fault := about.fault(claim, pod.node):
                    details = {"node": pod.node, "claim": claim}
                    message = f"bound to {pod.node}: {fault}"
                    yield Finding(binding.at, self.name, pod.about, message, details)
            for fault in about.over(pod, binding.beside):
                message = f"bound to {pod.node}, {fault}"
                yield Finding(binding.at, self.name, pod.about, message, {"node": pod.node})

    def _with_same_claim(self, pod: Pod, world: World) -> Iterator[tuple[Pod, str]]:
        alone = [each for each in claims_of(pod) if is_for_one(world, each)]
        for other in world.pods.values() if alone else ():
            if other.uid != pod.uid and other.holds_its_node and self._limits.judges(other):
                yield from ((other, each) for each in set(alone) & set(claims_of(other)))


def claims_of(pod: Pod) -> Sequence[str]:
    """Return the claims of a pod, as `namespace/name`."""
    found = []
    for volume in rows(pod.spec, "volumes"):
        named = mapping(volume, "persistentVolumeClaim").get("claimName")
        if volume.get("ephemeral"):
            named = f"{pod.name}-{volume.get('name')}"
        if named:
            found.append(f"{pod.namespace}/{named}")
    return found


def is_for_one(world: World, claim: str) -> bool:
    """Return whether only one pod may use a claim (ReadWriteOncePod)."""
    found = world.objects(CLAIM).latest(claim)
    return found is not None and ALONE in (mapping(found, "spec").get("accessModes") or ())


class _Moment:
    """The state of claims, volumes and nodes around one time."""

    def __init__(self, world: World, begin: float, end: float) -> None:
        self._world = world
        self._begin = begin
        self._end = end

    def fault(self, claim: str, node: str) -> str:
        """Return why a claim does not fit a pod on a node; "" if it fits."""
        claims = self._versions(CLAIM, claim)
        if not claims:
            return f"its claim {claim} does not exist"
        names = {str(mapping(each, "spec").get("volumeName") or "") for each in claims}
        if names == {""}:
            return f"its claim {claim} is not bound"
        volumes = [found for name in names for found in self._versions(VOLUME, name)]
        nodes = [e for e in self._world.nodes.between(node, self._begin, self._end) if e]
        required = [mapping(mapping(e, "spec"), "nodeAffinity").get("required") for e in volumes]
        reached = any(
            not term or objects.node_selector_matches(term, each)
            for term in required
            for each in nodes
        )
        if volumes and nodes and not reached:
            return f"the volume of its claim {claim} cannot be reached from there"
        return ""

    def over(self, pod: Pod, beside: Sequence[Pod]) -> Iterator[str]:
        """Yield the drivers with too many volumes on a node, if the pod brings one of them."""
        limits: dict[str, int] = {}
        for csi_node in self._versions(CSI_NODE, pod.node):
            for driver in rows(mapping(csi_node, "spec"), "drivers"):
                count = mapping(driver, "allocatable").get("count")
                if isinstance(count, int):
                    name = str(driver.get("name"))
                    limits[name] = max(limits.get(name, 0), count)
        before = {each for other in beside for each in self._attached(other)}
        brought = set(self._attached(pod)) - before
        for name in sorted({driver for driver, _ in brought} & set(limits)):
            used = sum(driver == name for driver, _ in brought | before)
            if used > limits[name]:
                yield f"which has {used} of {limits[name]} volumes of {name} then"

    def _attached(self, pod: Pod) -> Iterator[tuple[str, str]]:
        """Yield the driver and the handle of each volume of a pod."""
        for claim in claims_of(pod):
            for found in self._versions(CLAIM, claim)[-1:]:
                name = str(mapping(found, "spec").get("volumeName") or "")
                for volume in self._versions(VOLUME, name)[-1:]:
                    source = mapping(mapping(volume, "spec"), "csi")
                    if source:
                        yield str(source.get("driver")), str(source.get("volumeHandle"))

    def _versions(self, kind: Kind, name: str) -> list[Object]:
        return [e for e in self._world.objects(kind).between(name, self._begin, self._end) if e]
