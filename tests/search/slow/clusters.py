"""The cluster of a slow world: nodes, network, queues, budgets, volumes and devices."""

from collections.abc import Iterator
from typing import Final

from search import manifests
from search.manifests import GPU, Manifest
from search.slow import devices
from search.slow.recipes import NODES, Genes

LAYERS: Final = tuple((f"L{i}", f"layer-{i}") for i in range(5))
PRODUCTS: Final = ("", "ours", "kueue", "volcano")
OURS, KUEUE = "py-gang-scheduler.io/v1alpha1", "kueue.x-k8s.io/v1beta1"
QUEUE_LABELS: Final = {
    "ours": "py-gang-scheduler.io/queue",
    "kueue": "kueue.x-k8s.io/queue-name",
    "volcano": "scheduling.volcano.sh/queue-name",
}
CHILDREN: Final = 3
ZONE: Final = "zone"


def draw(genes: Genes) -> Iterator[Manifest]:
    """Yield the objects of a cluster."""
    if genes["layers"]:
        yield manifests.network(LAYERS[: genes["layers"]])
    yield from _nodes(genes)
    yield from _queues(genes)
    for number in range(genes["budgets"]):
        yield manifests.budget(f"budget-{number}", {f"b{number}": "1"}, number % 3)
    yield from _volumes(genes)
    yield from devices.draw(genes)


def product(genes: Genes) -> str:
    """Return whose queues there are; "" for none."""
    return PRODUCTS[genes["product"]]


def queue_of(genes: Genes, number: int) -> str:
    """Return the name of a queue that gangs can be in."""
    return f"q{number % genes['queues']}"


def namespace_of(genes: Genes, number: int) -> str:
    """Return the namespace of a gang."""
    found = number % genes["namespaces"]
    return f"team-{found}" if found else "default"


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"n{number}"


def cpu_of(genes: Genes, number: int) -> int:
    """Return how many CPUs a node has."""
    return genes["cpu"] + number % genes["shapes"]


def _nodes(genes: Genes) -> Iterator[Manifest]:
    for number in range(min(genes["nodes"], NODES)):
        labels = {ZONE: f"z{number % genes['zones']}", "pool": f"f{number % genes['flavors']}"}
        width = genes["fan"]
        # The lowest layer has as many nodes a domain as its fan; each above has that many of these.
        for _, key in reversed(LAYERS[: genes["layers"]]):
            labels[key] = f"{key}-{number // width}"
            width *= genes["fan"]
        offered = {"cpu": cpu_of(genes, number), "memory": 64 << 30, "pods": 110}
        if genes["gpus"]:
            offered[GPU] = genes["gpus"]
        kind = number % (genes["taints"] + 1)
        taints = [{"key": f"t{kind}", "value": "x", "effect": "NoSchedule"}] if kind else []
        ready = number % 100 >= genes["unready"]
        yield manifests.node(
            node_name(number), offered, labels, spec={"taints": taints}, ready=ready
        )


def _queues(genes: Genes) -> Iterator[Manifest]:
    whose = product(genes)
    if whose == "ours":
        yield from _ours(genes)
    elif whose == "kueue":
        yield from _kueue(genes)
    elif whose == "volcano":
        for number in range(genes["queues"]):
            spec = {
                "weight": 1 + number % 3,
                "reclaimable": bool(genes["reclaim"]),
                "deserved": {"cpu": str(genes["quota"])},
            }
            body = _global("scheduling.volcano.sh/v1beta1", "Queue", f"q{number}")
            yield {**body, "spec": spec}


def _ours(genes: Genes) -> Iterator[Manifest]:
    flavors = [f"f{number}" for number in range(genes["flavors"])]
    fairness = {"fairness": "FairShare"} if genes["fair"] else {}
    yield {**_global(OURS, "Queue", "root"), "spec": fairness}
    for flavor in flavors if len(flavors) > 1 else ():
        body = _global(OURS, "ResourceFlavor", flavor)
        yield {**body, "spec": {"nodeLabels": {"pool": flavor}}}
    for parent, above in _tree(genes["depth"], "p"):
        lends = {"borrowing": {"enabled": True}, **({"parent": above} if above else {})}
        yield {**_global(OURS, "Queue", parent), "spec": lends}
    leaves = [name for name, _ in _tree(genes["depth"], "p")][-(CHILDREN ** genes["depth"]) :]
    reclaim = ("Never", "LowerPriority", "Any")[genes["reclaim"]]
    for number in range(genes["queues"]):
        soft = {"soft": {"cpu": str(genes["quota"])}}
        shift = [*flavors[number % len(flavors) :], *flavors[: number % len(flavors)]]
        amounts: Manifest = (
            {"flavors": [{"name": each, "quota": soft} for each in shift]}
            if len(flavors) > 1
            else {"quota": soft}
        )
        spec: Manifest = {
            **amounts,
            "borrowing": {"enabled": True},
            "weight": 1 + number % 3,
            "preemption": {"withinQueue": "LowerPriority", "reclaim": reclaim},
            **({"parent": leaves[number % len(leaves)]} if genes["depth"] else {}),
        }
        yield {**_global(OURS, "Queue", f"q{number}"), "spec": spec}


def _kueue(genes: Genes) -> Iterator[Manifest]:
    tree = [("c", ""), *((name, above or "c") for name, above in _tree(genes["depth"], "c"))]
    for cohort, above in tree:
        parent = {"parentName": above} if above else {}
        yield {**_global("kueue.x-k8s.io/v1beta2", "Cohort", cohort), "spec": parent}
    leaves = [name for name, _ in tree][-(CHILDREN ** genes["depth"]) :]
    yield {**_global("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "default"), "spec": {}}
    nominal = str(genes["quota"])
    reclaim = ("Never", "LowerPriority", "Any")[genes["reclaim"]]
    for number in range(genes["queues"]):
        amounts = [
            {"name": name, "nominalQuota": quota}
            for name, quota in (("cpu", nominal), ("memory", "9000Gi"))
        ]
        group = {
            "coveredResources": ["cpu", "memory"],
            "flavors": [{"name": "default", "resources": amounts}],
        }
        spec: Manifest = {
            "cohortName": leaves[number % len(leaves)],
            "namespaceSelector": {},
            "resourceGroups": [group],
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": reclaim},
        }
        yield {**_global("kueue.x-k8s.io/v1beta2", "ClusterQueue", f"q{number}"), "spec": spec}
        for space in range(min(genes["namespaces"], 5)):
            metadata = {"namespace": namespace_of(genes, space)}
            body = manifests.manifest(
                "kueue.x-k8s.io/v1beta2", "LocalQueue", f"q{number}", **metadata
            )
            yield {**body, "spec": {"clusterQueue": f"q{number}"}}


def _tree(depth: int, root: str) -> list[tuple[str, str]]:
    """Return names and the names above them, the highest first."""
    found: list[tuple[str, str]] = []
    level = [""]
    for _ in range(depth):
        children = [(above, f"{above or root}{i}") for above in level for i in range(CHILDREN)]
        found += [(child, above) for above, child in children]
        level = [child for _, child in children]
    return found


def _volumes(genes: Genes) -> Iterator[Manifest]:
    if not genes["volumes"]:
        return
    local = _global("storage.k8s.io/v1", "StorageClass", "local")
    yield {
        **local,
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    for number in range(genes["volumes"]):
        # Some are reached by one node, others by a zone.
        node, zone = number % genes["nodes"], f"z{number % genes['zones']}"
        key, value = ("kubernetes.io/hostname", node_name(node)) if number % 4 else (ZONE, zone)
        reached = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
        spec = {
            "capacity": {"storage": f"{1 + number % 9}Gi"},
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": [reached]}},
        }
        yield {**_global("v1", "PersistentVolume", f"pv{number}"), "spec": spec}


def _global(api_version: str, kind: str, name: str) -> Manifest:
    body = manifests.manifest(api_version, kind, name)
    metadata = {key: each for key, each in body["metadata"].items() if key != "namespace"}
    return {**body, "metadata": metadata}
