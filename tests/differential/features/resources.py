"""How much: every way in which a pod can ask for resources, and nodes that have little of them."""

from collections.abc import Mapping
from typing import Final

from differential.worlds import Drawn, Feature, Manifest, World, modest

CPUS: Final = ("0", "100m", "250m", "500m", "1", "1500m", "2", "3")
MEMORIES: Final = ("64Mi", "128Mi", "512Mi", "1Gi", "1500M", "2Gi", "0.5Gi")
HUGE: Final = "hugepages-2Mi"
DEVICES: Final = ("example.com/gpu", "example.com/nic")
RUNTIME_CLASSES: Final = ("/apis/node.k8s.io/v1/runtimeclasses", ("sandbox", "picky"))
MEASURED: Final = ("cpu", "memory")


def _shrink(world: World) -> None:
    for node in world.nodes:
        offer(
            node,
            cpu=world.dice.choice(["1", "2", "3500m", "4"]),
            memory=world.dice.choice(["1Gi", "2Gi", "3G", "4Gi"]),
        )


def offer(node: Manifest, **amounts: str) -> None:
    """Set what a node offers; names have underscores for dashes."""
    for name, amount in amounts.items():
        for part in ("allocatable", "capacity"):
            node["status"][part][name.replace("_", "-")] = amount


def _few_pods(world: World) -> None:
    for node in world.nodes:
        offer(node, pods=world.dice.choice(["0", "1", "2", "3", "4"]))
        if world.chance(0.1):
            del node["status"]["allocatable"][world.dice.choice(["pods", "cpu"])]


def _request(world: World, pod: Drawn) -> None:
    _set(pod.container, "requests", _some_amounts(world))
    if world.chance(0.3):
        _set(pod.container, "limits", {"cpu": "4", "memory": "4Gi"})
    if world.chance(0.4) and len(pod.spec["containers"]) == 1:
        second: Manifest = {"name": "second", "image": "none"}
        _set(second, "requests", _some_amounts(world))
        pod.spec["containers"].append(second)


def _only_limits(world: World, pod: Drawn) -> None:
    _set(pod.container, "limits", _some_amounts(world))


def _some_amounts(world: World) -> dict[str, str]:
    amounts = {"cpu": world.dice.choice(CPUS), "memory": world.dice.choice(MEMORIES)}
    return {name: amount for name, amount in amounts.items() if world.chance(0.75)}


def _set(container: Manifest, kind: str, amounts: Mapping[str, str]) -> None:
    container.setdefault("resources", {}).setdefault(kind, {}).update(amounts)


def _init(world: World, pod: Drawn) -> None:
    _request(world, pod)
    for number in range(world.dice.randint(1, 3)):
        _add_init(world, pod, f"init-{number}", restartable=False)


def _sidecars(world: World, pod: Drawn) -> None:
    _request(world, pod)
    for number in range(world.dice.randint(1, 4)):
        _add_init(world, pod, f"side-{number}", restartable=world.chance(0.6))


def _add_init(world: World, pod: Drawn, name: str, *, restartable: bool) -> None:
    container: Manifest = {"name": name, "image": "none"}
    _set(container, "requests", _some_amounts(world))
    if restartable:
        container["restartPolicy"] = "Always"
    found = pod.spec.setdefault("initContainers", [])
    if all(each["name"] != name for each in found):
        found.append(container)


def _classes(world: World) -> None:
    _shrink(world)
    path, _ = RUNTIME_CLASSES
    sandbox: Manifest = {"overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}}
    picky: Manifest = {
        "overhead": {"podFixed": {"cpu": "500m"}},
        "scheduling": {
            "nodeSelector": {"example.com/disk": "ssd"},
            "tolerations": [{"key": "example.com/reserved", "operator": "Exists"}],
        },
    }
    for name, rest in (("sandbox", sandbox), ("picky", picky)):
        world.add(path, world.name(name), {"handler": "none", **rest})


def _overhead(world: World, pod: Drawn) -> None:
    _request(world, pod)
    pod.spec["runtimeClassName"] = world.name(world.dice.choice(RUNTIME_CLASSES[1]))


def _whole_pod(world: World, pod: Drawn) -> None:
    kind = world.dice.choice(["requests", "limits", "both"])
    small = {"requests": {"cpu": "100m", "memory": "64Mi"}} if world.chance(0.6) else {}
    pod.container["resources"] = small
    for each in pod.spec["containers"][1:] + pod.spec.get("initContainers", []):
        each["resources"] = {}
    cpu, memory = world.dice.choice(CPUS[2:]), world.dice.choice(MEMORIES[1:])
    whole = {"cpu": cpu, "memory": memory}
    if kind == "requests" and world.chance(0.5):
        del whole[world.dice.choice(MEASURED)]
    own = {"requests": dict(whole)} if kind != "limits" else {}
    if kind != "requests":
        own["limits"] = dict(whole)
    pod.spec["resources"] = own


def _ephemeral(world: World) -> None:
    for node in world.nodes:
        offer(node, ephemeral_storage=world.dice.choice(["1Gi", "2Gi", "5G"]))


def _ask_ephemeral(world: World, pod: Drawn) -> None:
    amount = world.dice.choice(["500Mi", "1Gi", "1500M", "2Gi"])
    _set(pod.container, "requests", {"ephemeral-storage": amount})


def _huge(world: World) -> None:
    for node in world.some(world.nodes, 0.7):
        offer(node, **{"hugepages-2Mi": world.dice.choice(["0", "4Mi", "8Mi", "16Mi"])})


def _ask_huge(world: World, pod: Drawn) -> None:
    amount = world.dice.choice(["2Mi", "4Mi", "8Mi"])
    for kind in ("requests", "limits"):
        _set(pod.container, kind, {HUGE: amount, "cpu": "100m", "memory": "64Mi"})


def _devices(world: World) -> None:
    for node in world.some(world.nodes, 0.8):
        for name in DEVICES:
            if world.chance(0.7):
                offer(node, **{name: world.dice.choice(["0", "1", "2", "4"])})


def _ask_devices(world: World, pod: Drawn) -> None:
    for name in world.dice.sample(DEVICES, world.dice.choice([1, 1, 2])):
        amount = world.dice.choice(["0", "1", "2", "3"])
        for kind in ("requests", "limits"):
            _set(pod.container, kind, {name: amount})


def _resize(world: World, pod: Drawn) -> None:
    """Have the kubelet of a bound pod say something else than its spec."""
    _sidecars(world, pod) if world.chance(0.4) else _request(world, pod)
    if pod.waits:
        return
    for kind, containers in (
        ("containerStatuses", pod.spec["containers"]),
        ("initContainerStatuses", pod.spec.get("initContainers", [])),
    ):
        pod.status[kind] = [_status(world, each) for each in containers if world.chance(0.8)]
    if world.chance(0.4):
        reason = world.dice.choice(["Infeasible", "Deferred"])
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        pod.status["conditions"] = [condition]


def _status(world: World, container: Manifest) -> Manifest:
    status: Manifest = {"name": container["name"], "image": "none", "imageID": ""}
    status.update(ready=True, restartCount=0)
    if world.chance(0.8):
        status["resources"] = {"requests": _some_amounts(world)} if world.chance(0.9) else {}
    if world.chance(0.6):
        status["allocatedResources"] = _some_amounts(world)
    return status


def _resize_whole(world: World, pod: Drawn) -> None:
    """Have the kubelet of a bound pod say something else than its pod-level resources."""
    _whole_pod(world, pod)
    if pod.waits:
        return
    if world.chance(0.8):
        pod.status["resources"] = {"requests": _some_amounts(world)} if world.chance(0.9) else {}
    if world.chance(0.7):
        pod.status["allocatedResources"] = _some_amounts(world)
    if world.chance(0.4):
        reason = world.dice.choice(["Infeasible", "Deferred"])
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        pod.status["conditions"] = [condition]


FEATURES = (
    Feature("cpu-memory", _shrink, _request),
    Feature("only-limits", _shrink, _only_limits),
    Feature("pod-count", _few_pods, modest),
    Feature("init-containers", _shrink, _init),
    Feature("sidecars", _shrink, _sidecars),
    Feature("overhead", _classes, _overhead),
    Feature("pod-level", _shrink, _whole_pod),
    Feature("resize", _shrink, _resize),
    Feature("resize-pod-level", _shrink, _resize_whole),
    Feature("ephemeral-storage", _ephemeral, _ask_ephemeral),
    Feature("hugepages", _huge, _ask_huge),
    Feature("extended-resources", _devices, _ask_devices),
)
