"""Volumes: bound ones and where they can be reached, claims in every state, and limits."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from differential.worlds import (
    HOSTNAME,
    NAMESPACES,
    RACK,
    ZONE,
    Drawn,
    Feature,
    Manifest,
    Thing,
    World,
    plain,
)

CLASSES: Final = "/apis/storage.k8s.io/v1/storageclasses"
CSI_NODES: Final = "/apis/storage.k8s.io/v1/csinodes"
CSI_DRIVERS: Final = "/apis/storage.k8s.io/v1/csidrivers"
ATTACHMENTS: Final = "/apis/storage.k8s.io/v1/volumeattachments"
CAPACITIES: Final = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACES[0]}/csistoragecapacities"
VOLUMES: Final = "/api/v1/persistentvolumes"
DRIVER: Final = "csi.example.com"
BOUND: Final = "pv.kubernetes.io/bind-completed"
SELECTED: Final = "volume.kubernetes.io/selected-node"
RWO: Final = "ReadWriteOnce"
RWOP: Final = "ReadWriteOncePod"


def _number(world: World) -> int:
    """Return a number that no other volume of the case has."""
    counter = world.notes.setdefault("volumes", itertools.count())
    return int(next(counter))


def _classes(world: World) -> None:
    """Add classes once a case, whichever features want them."""
    if world.notes.setdefault("classes", False):
        return
    world.notes["classes"] = True
    zones = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z0", "z1"]}]}]
    late = "WaitForFirstConsumer"
    for name, rest in (
        ("now", {"provisioner": DRIVER, "volumeBindingMode": "Immediate"}),
        ("late", {"provisioner": DRIVER, "volumeBindingMode": late}),
        ("zoned", {"provisioner": DRIVER, "volumeBindingMode": late, "allowedTopologies": zones}),
        ("local", {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": late}),
    ):
        world.add(CLASSES, world.name(name), dict(rest))


def _mount(pod: Drawn, source: Manifest) -> None:
    volumes = pod.spec.setdefault("volumes", [])
    volumes.append({"name": f"v{len(volumes)}", **source})


def _mount_claim(pod: Drawn, name: str) -> None:
    _mount(pod, {"persistentVolumeClaim": {"claimName": name}})


@dataclass(frozen=True)
class Claim:
    """A claim to be added. One with a `volume` is bound to it."""

    storage_class: str
    name: str = ""
    volume: str = ""
    phase: str = "Pending"
    mode: str = RWO
    deleted: bool = False
    selected: str = ""
    selector: Manifest | None = None

    @property
    def annotations(self) -> dict[str, str]:
        """What controllers have noted."""
        bound = {BOUND: "yes"} if self.volume else {}
        return {**bound, **({SELECTED: self.selected} if self.selected else {})}

    @property
    def spec(self) -> Manifest:
        """Of one GiB."""
        return {
            "accessModes": [self.mode],
            "storageClassName": self.storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
            **({"volumeName": self.volume} if self.volume else {}),
            **({"selector": self.selector} if self.selector else {}),
        }


def _claim(world: World, pod: Drawn, claim: Claim) -> str:
    """Add a claim in the pod's namespace and return its name."""
    name = claim.name or world.name(f"claim-{_number(world)}")
    body = {
        "metadata": {"annotations": claim.annotations},
        "spec": claim.spec,
        "status": {"phase": claim.phase},
    }
    path = f"/api/v1/namespaces/{pod.namespace}/persistentvolumeclaims"
    world.add(path, name, body, deleted=claim.deleted)
    return name


def _volume(world: World, labels: dict[str, str], phase: str, spec: Manifest) -> str:
    """Add a volume of one GiB, unless its spec says otherwise, and return its name."""
    name = world.name(f"pv-{_number(world)}")
    usual = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [RWO],
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    body = {"metadata": {"labels": labels}, "spec": {**usual, **spec}, "status": {"phase": phase}}
    world.add(VOLUMES, name, body)
    return name


def _within(terms: list[Manifest]) -> Manifest:
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


def _bound(
    world: World,
    pod: Drawn,
    *,
    labels: dict[str, str] | None = None,
    mode: str = RWO,
    terms: list[Manifest] | None = None,
) -> str:
    """Add a claim and the volume that it is bound to, and return the claim's name."""
    # The volume is created first, and names the claim.
    name, storage_class = world.name(f"claim-{_number(world)}"), world.name("now")
    spec: Manifest = {
        "storageClassName": storage_class,
        "accessModes": [mode],
        "claimRef": {"namespace": pod.namespace, "name": name},
        **(_within(terms) if terms else {}),
    }
    volume = _volume(world, labels or {}, "Bound", spec)
    if world.chance(0.2):
        _attach(world, volume)
    return _claim(world, pod, Claim(storage_class, name, volume, "Bound", mode))


def _by_affinity(world: World, pod: Drawn) -> None:
    _mount_claim(pod, _bound(world, pod, terms=_places(world)))


def _places(world: World) -> list[Manifest]:
    key, values = world.dice.choice(
        [(ZONE, ["z0", "z1", "z2"]), (RACK, ["r0", "r1"]), (HOSTNAME, world.node_names)]
    )
    chosen = world.dice.sample(values, world.dice.randint(1, 2))
    operator = world.dice.choice(["In", "In", "NotIn"])
    expression = {"key": key, "operator": operator, "values": chosen}
    return [{"matchExpressions": [expression]}]


def _by_zone(world: World, pod: Drawn) -> None:
    zones = world.dice.choice(["z0", "z1", "z0__z1", "z2__z1", "z9"])
    key = world.dice.choice([ZONE, ZONE, "failure-domain.beta.kubernetes.io/zone"])
    _mount_claim(pod, _bound(world, pod, labels={key: zones}))


def _odd_claim(world: World, pod: Drawn) -> None:
    """Use a claim in one of the states in which no node will do; sometimes beside a good one."""
    if world.chance(0.3):
        _by_affinity(world, pod)
    _mount_claim(pod, world.dice.choice(ODD)(world, pod))


ODD: Final[tuple[Callable[[World, Drawn], str], ...]] = (
    lambda world, _: world.name("missing"),
    lambda world, pod: _claim(world, pod, Claim(world.name("now"))),
    lambda world, pod: _claim(world, pod, Claim(world.name("no-such-class"))),
    lambda world, pod: _claim(world, pod, Claim("")),
    lambda world, pod: _claim(world, pod, Claim(world.name("now"), "", "gone", "Bound")),
    lambda world, pod: _claim(world, pod, Claim(world.name("now"), "", "gone", "Lost")),
    lambda world, pod: _claim(world, pod, Claim(world.name("late"), deleted=True)),
)


def _late(world: World, pod: Drawn) -> None:
    storage_class = world.name(world.dice.choice(["late", "zoned", "zoned"]))
    node = world.dice.choice(world.node_names) if world.chance(0.25) else ""
    _mount_claim(pod, _claim(world, pod, Claim(storage_class, selected=node)))


def _stock(world: World) -> None:
    """Have some volumes on nodes that wait for claims, once a case."""
    _classes(world)
    if world.notes.setdefault("stocked", False):
        return
    world.notes["stocked"] = True
    for node in world.some(world.node_names, 0.6):
        for _ in range(world.dice.choice([1, 1, 2])):
            _stock_one(world, node)


def _stock_one(world: World, node: str) -> None:
    here = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    spec = {
        "storageClassName": world.name("local"),
        "capacity": {"storage": world.dice.choice(["500Mi", "1Gi", "2Gi"])},
        **_within([here]),
    }
    phase = world.dice.choice(["Available", "Available", "Available", "Released"])
    _volume(world, {"tier": world.dice.choice(["gold", "silver"])}, phase, spec)


def _local(world: World, pod: Drawn) -> None:
    for _ in range(world.dice.choice([1, 1, 2])):
        selector = {"matchLabels": {"tier": "gold"}} if world.chance(0.3) else None
        claim = Claim(world.name("local"), selector=selector)
        _mount_claim(pod, _claim(world, pod, claim))


def _alone(world: World, pod: Drawn) -> None:
    """Use a claim that one pod alone may use: one that exists, or a new one."""
    shared = world.notes.setdefault("alone", {}).setdefault(pod.namespace, [])
    if not shared or world.chance(0.3):
        shared.append(_bound(world, pod, mode=RWOP))
    _mount_claim(pod, world.dice.choice(shared))


def _drivers(world: World) -> None:
    _classes(world)
    if world.chance(0.5):
        _driver(world, preventPodSchedulingIfMissing=world.chance(0.7))
    for node in world.some(world.node_names, 0.7):
        count: Manifest = {"allocatable": {"count": world.dice.randint(0, 3)}}
        if world.chance(0.15):
            count = {}
        driver = {"name": DRIVER, "nodeID": node, **count}
        world.add(CSI_NODES, node, {"spec": {"drivers": [driver]}})


def _driver(world: World, **spec: bool) -> None:
    """Describe the driver, once a case."""
    if not world.notes.setdefault("driver", False):
        world.notes["driver"] = True
        world.add(CSI_DRIVERS, DRIVER, {"spec": dict(spec)})


def _attach(world: World, volume: str) -> None:
    spec = {
        "attacher": DRIVER,
        "nodeName": world.dice.choice(world.node_names),
        "source": {"persistentVolumeName": volume},
    }
    world.add(ATTACHMENTS, world.name(f"attachment-{_number(world)}"), {"spec": spec})


def _capacities(world: World) -> None:
    """Let the driver say where there is how much room."""
    _classes(world)
    _driver(world, storageCapacity=world.chance(0.85))
    for number in range(world.dice.randint(2, 5)):
        world.add(CAPACITIES, world.name(f"capacity-{number}"), _capacity(world))


def _capacity(world: World) -> Manifest:
    key, values = world.dice.choice([(ZONE, ["z0", "z1", "z2"]), (RACK, ["r0", "r1", "r2"])])
    body: Manifest = {
        "metadata": {"namespace": NAMESPACES[0]},
        "storageClassName": world.name(world.dice.choice(["late", "late", "zoned"])),
        "nodeTopology": {"matchLabels": {key: world.dice.choice(values)}},
        "capacity": world.dice.choice(["500Mi", "1Gi", "5Gi"]),
    }
    if world.chance(0.3):
        body["maximumVolumeSize"] = world.dice.choice(["800Mi", "1Gi"])
    for optional in ("nodeTopology", "capacity"):
        if world.chance(0.1):
            del body[optional]
    return body


def _many(world: World, pod: Drawn) -> None:
    """Use volumes of the driver: new ones, or those that others use, too."""
    shared = world.notes.setdefault("many", {}).setdefault(pod.namespace, [])
    for _ in range(world.dice.choice([1, 1, 2])):
        kind = world.dice.random()
        if kind < 0.2:
            _late(world, pod)
        elif kind < 0.5 and shared:
            _mount_claim(pod, world.dice.choice(shared))
        else:
            shared.append(_bound(world, pod))
            _mount_claim(pod, shared[-1])


def _disk(world: World, pod: Drawn) -> None:
    """Name a disk in the pod itself."""
    name = world.dice.choice(["one", "two"])
    read_only = {"readOnly": True} if world.chance(0.5) else {}
    kind = world.dice.choice(["gce", "aws", "iscsi", "rbd"])
    if kind == "gce":
        _mount(pod, {"gcePersistentDisk": {"pdName": name, **read_only}})
    elif kind == "aws":
        _mount(pod, {"awsElasticBlockStore": {"volumeID": name, **read_only}})
    elif kind == "iscsi":
        target = {"targetPortal": "10.0.0.1:3260", "iqn": f"iqn.2026-01.com.example:{name}"}
        _mount(pod, {"iscsi": {**target, "lun": 0, **read_only}})
    else:
        _mount(pod, {"rbd": {"monitors": ["10.0.0.1:6789"], "image": name, **read_only}})


def _ephemeral(world: World, pod: Drawn) -> None:
    """Ask for an ephemeral claim, which exists already, or does not, or is another pod's."""
    spec = Claim(world.name(world.dice.choice(["late", "zoned", "local"]))).spec
    _mount(pod, {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
    kind = world.dice.random()
    if kind < 0.15:
        return
    name = f"{pod.name}-{pod.spec['volumes'][-1]['name']}"
    path = f"/api/v1/namespaces/{pod.namespace}/persistentvolumeclaims"
    body = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Pending"}}
    if kind < 0.25:
        world.add(path, name, body)
    else:
        pod.own.append(Thing(path, body))


FEATURES = (
    Feature("volume-affinity", _classes, _by_affinity),
    Feature("volume-zone", _classes, _by_zone),
    Feature("odd-claims", _classes, _odd_claim),
    Feature("late-claims", _classes, _late),
    Feature("local-volumes", _stock, _local),
    Feature("read-write-once-pod", _classes, _alone),
    Feature("csi-limits", _drivers, _many),
    Feature("storage-capacity", _capacities, _late),
    Feature("disks", plain, _disk),
    Feature("ephemeral-claims", _stock, _ephemeral),
)
