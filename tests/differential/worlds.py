"""A small random cluster as manifests, and the tools by which features add to it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeVar

Manifest = dict[str, Any]
T = TypeVar("T")

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
RACK: Final = "example.com/rack"
DISK: Final = "example.com/disk"
GENERATION: Final = "example.com/generation"
NAMESPACES: Final = ("red", "green", "blue")
BIG: Final = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}


@dataclass
class Thing:
    """Another object: where it is created, its body with the status to be, and if it is deleted.

    A deleted one has a finalizer, and stays.
    """

    path: str
    body: Manifest
    deleted: bool = False


@dataclass
class Drawn:
    """A pod to be created, and what becomes of it then.

    `status` is merged into its status. A `deleted` one is deleted, and stays for its grace period.
    `own` is created after it, and owned by it.
    """

    manifest: Manifest
    features: tuple[str, ...] = ()
    status: Manifest = field(default_factory=dict)
    deleted: bool = False
    own: list[Thing] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Unique in all namespaces."""
        name: str = self.manifest["metadata"]["name"]
        return name

    @property
    def namespace(self) -> str:
        """One of NAMESPACES."""
        namespace: str = self.manifest["metadata"]["namespace"]
        return namespace

    @property
    def spec(self) -> Manifest:
        """Its spec, to be added to."""
        spec: Manifest = self.manifest["spec"]
        return spec

    @property
    def container(self) -> Manifest:
        """Its main container, to be added to."""
        container: Manifest = self.spec["containers"][0]
        return container

    @property
    def waits(self) -> bool:
        """It is to be judged."""
        return "nodeName" not in self.spec


@dataclass
class World:
    """What is put on the control plane; `things` in order of creation."""

    seed: int
    dice: Random
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    nodes: list[Manifest] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    bound: list[Drawn] = field(default_factory=list)
    pending: list[Drawn] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def chance(self, probability: float) -> bool:
        """Throw a coin."""
        return self.dice.random() < probability

    def add(self, path: str, name: str, body: Manifest, *, deleted: bool = False) -> None:
        """Have an object of this name created."""
        metadata = {"name": name, **body.get("metadata", {})}
        if deleted:
            metadata["finalizers"] = ["example.com/stay"]
        self.things.append(Thing(path, {**body, "metadata": metadata}, deleted))

    def name(self, what: str) -> str:
        """Return a name that no other case has."""
        return f"{what}-{self.seed}"

    @property
    def node_names(self) -> list[str]:
        """Of all nodes."""
        return [node["metadata"]["name"] for node in self.nodes]

    def some(self, things: Iterable[T], probability: float) -> list[T]:
        """Return each with this probability."""
        return [each for each in things if self.chance(probability)]


Furnish = Callable[[World], None]
Ask = Callable[[World, Drawn], None]


@dataclass(frozen=True)
class Feature:
    """Something to be compared: what it adds to a cluster, and what a pod may ask of it."""

    name: str
    furnish: Furnish
    ask: Ask


def plain(_world: World) -> None:
    """Add nothing to the cluster."""


def modest(_world: World, _pod: Drawn) -> None:
    """Ask for nothing."""


def empty(seed: int) -> World:
    """Return nodes with labels and big enough for everyone, and labelled namespaces."""
    world = World(seed, Random(seed))  # noqa: S311 - for cases, not for secrets.
    world.nodes = [_node(world, i) for i in range(world.dice.randint(6, 10))]
    world.namespaces = {name: _labels_of_namespace(world) for name in NAMESPACES}
    return world


def pod(world: World, name: str, features: tuple[str, ...] = ()) -> Drawn:
    """Return a pod with labels that asks for nothing."""
    labels = {
        "app": world.dice.choice("abc"),
        "tier": world.dice.choice(["front", "back"]),
        "version": world.dice.choice("12"),
    }
    for key in list(labels):
        if world.chance(0.1):
            del labels[key]
    return Drawn(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": world.name(name),
                "namespace": world.dice.choice(NAMESPACES),
                "labels": labels,
            },
            "spec": {
                "schedulerName": "default-scheduler",
                "containers": [{"name": "main", "image": "none"}],
            },
        },
        features,
    )


def ready(status: str = "True") -> Manifest:
    """Return the condition of a node."""
    return {"type": "Ready", "status": status, "reason": "Differential"}


def node(name: str, labels: Mapping[str, str]) -> Manifest:
    """Return a big ready node."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": []},
        "status": {"allocatable": dict(BIG), "capacity": dict(BIG), "conditions": [ready()]},
    }


def taint(node: Manifest, key: str, effect: str, value: str = "") -> None:
    """Taint a node, once an effect of a key."""
    taints = node["spec"]["taints"]
    if all((each["key"], each["effect"]) != (key, effect) for each in taints):
        taints.append({"key": key, "value": value, "effect": effect})


def _node(world: World, index: int) -> Manifest:
    name = world.name(f"n{index}")
    dice = world.dice
    labels = {
        HOSTNAME: name,
        ZONE: dice.choice(["z0", "z1", "z2"]),
        RACK: dice.choice(["r0", "r1", "r2", "r3"]),
        DISK: dice.choice(["ssd", "hdd"]),
        GENERATION: dice.choice(["1", "2", "007", "10", "9223372036854775807", "new"]),
    }
    for key in (ZONE, RACK, DISK, GENERATION):
        if world.chance(0.12):
            del labels[key]
    return node(name, labels)


def _labels_of_namespace(world: World) -> dict[str, str]:
    labels = {"team": world.dice.choice(["one", "two"]), "stage": world.dice.choice("pq")}
    return {key: value for key, value in labels.items() if world.chance(0.8)}
