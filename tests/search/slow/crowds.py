"""The crowds of a slow world: gangs that are alike, or all different, and wait or run."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from search import manifests
from search.manifests import GPU, KOORDINATOR, KUEUE, Manifest
from search.slow import clusters, devices
from search.slow.recipes import Genes

SINGLE, POD_GROUP, NATIVE, ANNOTATED, KUEUE_GROUP, SUSPENDED = range(6)
TOPOLOGY_KEYS: Final = ("kubernetes.io/hostname", clusters.ZONE, clusters.LAYERS[0][1])
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
MOST_TERMS: Final = 200_000
"""Terms of the pods of a crowd together; of more pods, each has fewer."""
DURATIONS: Final = ("", "10m", "6h")


class Rooms:
    """The CPUs that are left on the nodes, and where the next pod that runs goes."""

    def __init__(self, cluster: Genes) -> None:
        self._left = [clusters.cpu_of(cluster, number) for number in range(cluster["nodes"])]
        self._next = 0

    def take(self, cpu: int) -> str:
        """Return a node with so much room, and take it; "" if none is found soon."""
        for _ in range(8):
            row = self._next % len(self._left)
            self._next += 7 if len(self._left) % 7 else 1
            if self._left[row] >= cpu:
                self._left[row] -= cpu
                return clusters.node_name(row)
        return ""


class Crowd(NamedTuple):
    """A crowd in its cluster. `place` is that among the crowds."""

    place: int
    genes: Genes
    cluster: Genes

    def name(self, gang: int) -> str:
        """Return the name of a gang."""
        return f"c{self.place}-{gang}"

    def app(self, gang: int) -> str:
        """Return the app of the pods of a gang, by which others mean them."""
        return f"a{gang % self.genes['apps']}"


def draw(crowd: Crowd, most: int, rooms: Rooms) -> Iterator[Manifest]:
    """Yield the objects of a crowd, with so many pods at most."""
    genes = crowd.genes
    if genes["kind"] == SINGLE:
        genes = {**genes, "size": 1}
    size = min(genes["size"], most)
    gangs = min(genes["gangs"], most // size) if size else 0
    crowd = crowd._replace(genes={**genes, "size": size, "gangs": gangs})
    for gang in range(gangs):
        yield from _gang(crowd, gang, rooms)


def _gang(crowd: Crowd, number: int, rooms: Rooms) -> Iterator[Manifest]:
    genes, kind = crowd.genes, crowd.genes["kind"]
    metadata = _of_gang(crowd, number)
    minimum = max(1, genes["size"] * genes["minimum"] // 100)
    runs = number * 100 < genes["runs"] * genes["gangs"]
    name = crowd.name(number)
    if _asks_for_devices(crowd) and genes["common"]:
        yield _claim_of_devices(crowd, number)
    if kind == SUSPENDED and clusters.product(crowd.cluster) == "ours" and not runs:
        if _asks_for_devices(crowd) and not genes["common"]:
            yield _template(crowd, number)
        yield _job(crowd, number, metadata)
        return
    if kind == POD_GROUP:
        yield manifests.pod_group(name, minimum, **metadata)
    elif kind == NATIVE:
        yield manifests.native_pod_group(name, minimum, **metadata)
    for member in range(genes["size"]):
        if _asks_for_devices(crowd) and not genes["common"]:
            yield _claim_of_devices(crowd, number, member)
        node = rooms.take(_cpu(crowd, member)) if runs else ""
        yield from _claims(crowd, number, member)
        yield _pod(crowd, number, member, metadata, node)


def _of_gang(crowd: Crowd, number: int) -> dict[str, Any]:
    """Return the metadata of the object of a gang, or of its pods where it has none."""
    genes, annotations = crowd.genes, dict[str, str]()
    layers = [name for name, _ in clusters.LAYERS[: crowd.cluster["layers"]]]
    asked = [{"layer": name, "strategy": "PreferGather"} for name in layers[: genes["prefer"]]]
    if genes["must"] and layers:
        layer = layers[(genes["must"] - 1) % len(layers)]
        asked = [each for each in asked if each["layer"] != layer]
        asked.append({"layer": layer, "strategy": "MustGather"})
    if genes["multiple"] and asked:
        asked[-1] = {**asked[-1], "podCountMultiple": genes["multiple"]}  # type: ignore[dict-item]
    if asked and not genes["slices"]:
        annotations[f"{KOORDINATOR}network-topology-spec"] = json.dumps({"gatherStrategy": asked})
    if genes["links"] and genes["kind"] in (POD_GROUP, ANNOTATED):
        first = number - number % (genes["links"] + 1)
        last = min(first + genes["links"] + 1, genes["gangs"])
        named = [f"{_space(crowd, 0)}/{crowd.name(mate)}" for mate in range(first, last)]
        annotations[f"{KOORDINATOR}groups"] = json.dumps(named)
    if genes["roles"] > 1 and genes["kind"] == POD_GROUP and genes["size"] >= genes["roles"]:
        annotations[manifests.ROLES] = json.dumps({f"r{i}": 1 for i in range(genes["roles"])})
    if DURATIONS[genes["lasts"]]:
        annotations["py-gang-scheduler.io/expected-duration"] = DURATIONS[genes["lasts"]]
    if genes["saves"]:
        annotations["py-gang-scheduler.io/checkpoint"] = "Signal"
    whose = clusters.product(crowd.cluster)
    queue = clusters.queue_of(crowd.cluster, number % genes["queues"])
    labels = {clusters.QUEUE_LABELS[whose]: queue} if whose else {}
    return {
        "namespace": _space(crowd, number),
        "labels": labels,
        "annotations": annotations,
        "created": 1 + number % 3_000,
    }


def _space(crowd: Crowd, number: int) -> str:
    """Return the namespace of a gang; those of one group are in one."""
    return clusters.namespace_of(crowd.cluster, 0 if crowd.genes["links"] else number)


def _cpu(crowd: Crowd, member: int) -> int:
    return crowd.genes["cpu"] + member % crowd.genes["classes"] % 13


def _requests(crowd: Crowd, number: int, member: int) -> dict[str, int]:
    genes = crowd.genes
    different = member % genes["classes"] + genes["classes"] * (number % genes["apart"])
    found = {"cpu": _cpu(crowd, member), "memory": (1 << 20) + different}
    if crowd.cluster["gpus"] and number % 2:
        found[GPU] = 1
    return found


def _pod(crowd: Crowd, number: int, member: int, metadata: dict[str, Any], node: str) -> Manifest:
    genes, kind, name = crowd.genes, crowd.genes["kind"], crowd.name(number)
    labels = {"app": crowd.app(number), **metadata["labels"]}
    annotations = dict[str, str]()
    spec = _spec(crowd, number, member)
    if _asks_for_devices(crowd) and not node:
        spec["resourceClaims"] = [_entry(crowd, number, member)]
    if kind == POD_GROUP:
        labels[manifests.POD_GROUP_LABEL] = name
        if genes["roles"] > 1 and genes["size"] >= genes["roles"]:
            labels[manifests.ROLE] = f"r{member % genes['roles']}"
    elif kind == NATIVE:
        spec["schedulingGroup"] = {"podGroupName": name}
    elif kind == ANNOTATED:
        annotations |= metadata["annotations"]
        annotations |= {
            f"{KOORDINATOR}name": name,
            f"{KOORDINATOR}min-available": str(max(1, genes["size"] * genes["minimum"] // 100)),
        }
    elif kind == KUEUE_GROUP:
        labels["kueue.x-k8s.io/pod-group-name"] = name
        annotations["kueue.x-k8s.io/pod-group-total-count"] = str(genes["size"])
    if genes["slices"] and crowd.cluster["layers"] and kind in (POD_GROUP, KUEUE_GROUP):
        key = clusters.LAYERS[crowd.cluster["layers"] - 1][1]
        annotations |= {
            f"{KUEUE}required-topology": clusters.LAYERS[0][1],
            f"{KUEUE}slice-required-topology": key,
            f"{KUEUE}slice-size": str(genes["slices"]),
        }
    for each in range(genes["guarded"] if crowd.cluster["budgets"] else 0):
        labels[f"b{(number * 7 + each * 13 + member) % crowd.cluster['budgets']}"] = "1"
    leaves = node and (number * 31 + member) % 100 < genes["leaving"]
    body = manifests.pod(
        f"{name}-{member}",
        _requests(crowd, number, member),
        namespace=metadata["namespace"],
        labels=labels,
        annotations=annotations,
        created=metadata["created"],
        spec={**spec, **({"nodeName": node} if node else {})},
        ports=[20_000 + i for i in range(genes["ports"])],
        status={"startTime": manifests.when(10)} if node else {},
    )
    if leaves:
        body["metadata"]["deletionTimestamp"] = manifests.when(4_000)
    return body


def _spec(crowd: Crowd, number: int, member: int) -> dict[str, Any]:
    """Return what the pods of a gang ask for beside room."""
    genes = crowd.genes
    spec: dict[str, Any] = {"priority": genes["priority"] + number % genes["priorities"]}
    if genes["tolerates"]:
        spec["tolerations"] = [{"operator": "Exists"}]
    affinity: dict[str, Any] = {}
    if genes["selectors"]:
        zones = [f"z{(number + i) % crowd.cluster['zones']}" for i in range(genes["selectors"])]
        wanted = {"key": clusters.ZONE, "operator": "In", "values": sorted({*zones})}
        affinity["nodeAffinity"] = {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        }
    if genes["near"]:
        affinity["podAffinity"] = {REQUIRED: [*_terms(crowd, number, genes["near"], 1)]}
    if genes["anti"]:
        apart = _terms(crowd, number, genes["anti"], genes["terms"])
        affinity["podAntiAffinity"] = {REQUIRED: [*apart]}
    if genes["rather"] or genes["keys"]:
        terms = [*_terms(crowd, number, genes["rather"], genes["terms"]), *_nowhere(crowd, number)]
        weighed = [{"weight": 1 + i % 100, "podAffinityTerm": each} for i, each in enumerate(terms)]
        affinity.setdefault("podAffinity", {})[PREFERRED] = weighed
    if affinity:
        spec["affinity"] = affinity
    spread = [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": unsatisfied, **_means(each)}
        for gene, unsatisfied in (("spread", "DoNotSchedule"), ("soft", "ScheduleAnyway"))
        for key in _keys(genes[gene])
        for each in [crowd.app(number)]
    ]
    if spread:
        spec["topologySpreadConstraints"] = spread
    if _has_claim(crowd):
        claim = _claim(crowd, number, member)
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return spec


def _keys(mask: int) -> Sequence[str]:
    return [key for place, key in enumerate(TOPOLOGY_KEYS) if mask >> place & 1]


def _means(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def _terms(crowd: Crowd, number: int, mask: int, terms: int) -> Iterator[dict[str, Any]]:
    """Yield terms of affinity: to its own app, and to others."""
    for other in range(min(terms, _most(crowd))):
        app = crowd.app(number + other)
        for key in _keys(mask):
            if crowd.genes["broad"]:
                # It means all pods but those of one app, and no two apps ask for the same.
                others = {"key": "app", "operator": "NotIn", "values": [app]}
                yield {"topologyKey": key, "labelSelector": {"matchExpressions": [others]}}
            else:
                yield {"topologyKey": key, **_means(app)}


def _nowhere(crowd: Crowd, number: int) -> Iterator[dict[str, Any]]:
    """Yield terms of labels that no node has, others for each gang."""
    for place in range(min(crowd.genes["keys"], _most(crowd))):
        yield {"topologyKey": f"none-{number}-{place}", **_means(crowd.app(number))}


def _most(crowd: Crowd) -> int:
    """Return how many terms of a kind a pod of a crowd has at most."""
    return max(1, MOST_TERMS // (crowd.genes["size"] * crowd.genes["gangs"]))


def _has_claim(crowd: Crowd) -> bool:
    return bool(crowd.genes["claims"] and crowd.cluster["volumes"])


def _claim(crowd: Crowd, number: int, member: int) -> str:
    shared = crowd.genes["claims"] == 2
    return f"{crowd.name(number)}-{member // 2 if shared else member}"


def _claims(crowd: Crowd, number: int, member: int) -> Iterator[Manifest]:
    if not _has_claim(crowd) or (crowd.genes["claims"] == 2 and member % 2):
        return
    name = _claim(crowd, number, member)
    space = _space(crowd, number)
    body = manifests.manifest("v1", "PersistentVolumeClaim", name, namespace=space)
    spec = {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{1 + number % 7}Gi"}},
    }
    yield {**body, "spec": spec}


def _asks_for_devices(crowd: Crowd) -> bool:
    return bool(crowd.genes["asks"] and crowd.cluster["devices"])


def _name_of_devices(crowd: Crowd, number: int, member: int) -> str:
    name = crowd.name(number)
    return f"{name}-devices" if crowd.genes["common"] else f"{name}-{member}-devices"


def _entry(crowd: Crowd, number: int, member: int) -> dict[str, str]:
    """Return what names the claim of a pod, its own or that of all pods of a gang."""
    return {"name": "d", "resourceClaimName": _name_of_devices(crowd, number, member)}


def _claim_of_devices(crowd: Crowd, number: int, member: int = 0) -> Manifest:
    name, variant = _name_of_devices(crowd, number, member), number % crowd.genes["apart"]
    return devices.claim(crowd.genes, variant, name, _space(crowd, number))


def _template(crowd: Crowd, number: int) -> Manifest:
    """Return the template of the claims of pods that do not exist yet."""
    name, variant = f"{crowd.name(number)}-devices", number % crowd.genes["apart"]
    return devices.template(crowd.genes, variant, name, _space(crowd, number))


def _job(crowd: Crowd, number: int, metadata: dict[str, Any]) -> Manifest:
    """Return a Job that waits suspended in a queue of ours, without pods."""
    pod = _pod(crowd, number, 0, metadata, "")
    labels = {"py-gang-scheduler.io/gang": "true"}
    spec = {key: each for key, each in pod["spec"].items() if key not in ("volumes", "priority")}
    if _asks_for_devices(crowd) and not crowd.genes["common"]:
        named = {"name": "d", "resourceClaimTemplateName": f"{crowd.name(number)}-devices"}
        spec["resourceClaims"] = [named]
    size = crowd.genes["size"]
    body = manifests.manifest("batch/v1", "Job", crowd.name(number), **metadata)
    template = {"metadata": {"labels": labels}, "spec": {**spec, "restartPolicy": "Never"}}
    counts = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
    return {**body, "spec": {"suspend": True, **counts, "template": template}}
