"""The clusters and gangs of `device-cases.yaml` as manifests; its header has the format."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support import yaml_texts

Case = Mapping[str, Any]
Body = dict[str, Any]

DATA: dict[str, Any] = yaml_texts.read((Path(__file__).parent / "device-cases.yaml").read_text())
ROOM = {"cpu": "64", "memory": "512Gi", "pods": "110"}
DEVICES = "resource.k8s.io/v1"
KUEUE = "kueue.x-k8s.io/v1beta1"
POD_GROUPS = "scheduling.sigs.k8s.io/v1alpha1"


def manifests(case: Case) -> Iterator[Body]:
    """Yield what a case declares: nodes, devices, claims, and gangs that run or wait."""
    yield from map(_node, _repeated(case["nodes"]))
    yield from map(_class, case.get("classes", []))
    slices = list(_repeated(case.get("slices", [])))
    for number, each in enumerate(slices):
        same = [other for other in slices if _pool(other) == _pool(each)]
        yield _slice({"name": f"s{number}", "of": len(same), **each})
    for name, devices in case.get("templates", {}).items():
        spec = {"spec": {"devices": devices}}
        yield _object(DEVICES, "ResourceClaimTemplate", name, spec=spec)
    yield from map(_claim, _repeated(case.get("claims", [])))
    sizes = Counter(each["gang"] for each in case.get("running", []) if "gang" in each)
    for name, size in sizes.items():
        yield _object(POD_GROUPS, "PodGroup", name, spec={"minMember": size})
    for pod in _repeated(case.get("running", [])):
        yield _pod(pod["pod"], pod.get("gang", ""), pod, node=pod["node"])
    for queue in case.get("objects", []):
        yield from _queue(queue)
    for age, gang in enumerate(case["pending"]):
        yield from _gang(gang, f"2026-01-01T10:{age:02}:00Z")


def _queue(declared: Body) -> Iterator[Body]:
    """Yield a ClusterQueue with its flavors, and a LocalQueue of its name."""
    name, spec = declared["name"], declared["spec"]
    yield _object(KUEUE, "ClusterQueue", name, spec=spec)
    yield _object(KUEUE, "LocalQueue", name, spec={"clusterQueue": name})
    flavors = (each["name"] for group in spec["resourceGroups"] for each in group["flavors"])
    yield from (_object(KUEUE, "ResourceFlavor", each, spec={}) for each in dict.fromkeys(flavors))


def _repeated(items: Any) -> Iterator[Body]:
    for item in items:
        once = {key: each for key, each in item.items() if key != "repeat"}
        for number in range(item.get("repeat", 1)):
            yield _numbered(once, number) if "repeat" in item else once


def _numbered(value: Any, number: int) -> Any:
    """Return a value with the number for each {i}, except in parts that are repeated, too."""
    if isinstance(value, dict):
        same = "repeat" in value
        return value if same else {key: _numbered(each, number) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbered(each, number) for each in value]
    return value.replace("{i}", str(number)) if isinstance(value, str) else value


def _object(version: str, kind: str, name: str, **parts: Any) -> Body:
    is_global = kind in {"Node", "DeviceClass", "ResourceSlice"}
    metadata: Body = {"name": name, "creationTimestamp": "2026-01-01T09:00:00Z"}
    if not is_global:
        metadata["namespace"] = "default"
    metadata |= parts.pop("metadata", {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _node(node: Body) -> Body:
    room = {key: str(each) for key, each in {**ROOM, **node.get("allocatable", {})}.items()}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": room, "conditions": conditions}
    metadata = {"labels": node.get("labels", {})}
    return _object("v1", "Node", node["name"], metadata=metadata, status=status)


def _class(declared: Body) -> Body:
    selectors = [{"cel": {"expression": each}} for each in declared.get("cel", [])]
    offered = {key: declared[key] for key in ("extendedResourceName",) if key in declared}
    spec = {"selectors": selectors, **offered}
    return _object(DEVICES, "DeviceClass", declared["name"], spec=spec)


def _pool(declared: Body) -> tuple[str, str, int]:
    return declared["driver"], declared["pool"], declared.get("generation", 1)


def _slice(declared: Body) -> Body:
    driver, pool, generation = _pool(declared)
    where = {"allNodes": True} if declared.get("allNodes") else {"nodeName": declared["node"]}
    counted = {"name": pool, "generation": generation, "resourceSliceCount": declared["of"]}
    spec: Body = {"driver": driver, "pool": counted, **where}
    if "counters" in declared:
        spec["sharedCounters"] = [
            {"name": each["name"], "counters": _values(each["counters"])}
            for each in declared["counters"]
        ]
    if "devices" in declared:
        spec["devices"] = [_device(each) for each in _repeated(declared["devices"])]
    return _object(DEVICES, "ResourceSlice", declared["name"], spec=spec)


def _device(declared: Body) -> Body:
    made = {key: each for key, each in declared.items() if key not in {"consumes"}}
    if "attributes" in made:
        made["attributes"] = {key: _typed(each) for key, each in made["attributes"].items()}
    if "capacity" in made:
        made["capacity"] = _values(made["capacity"])
    if "consumes" in declared:
        made["consumesCounters"] = [
            {"counterSet": name, "counters": _values(counters)}
            for name, counters in declared["consumes"].items()
        ]
    return made


def _typed(value: Any) -> Body:
    if isinstance(value, dict):
        return value
    kinds = {bool: "bool", int: "int", str: "string"}
    return {kinds[type(value)]: value}


def _values(amounts: Body) -> Body:
    return {
        name: each if isinstance(each, dict) else {"value": str(each)}
        for name, each in amounts.items()
    }


def _claim(declared: Body) -> Body:
    made = _object(DEVICES, "ResourceClaim", declared["name"], spec={"devices": declared["spec"]})
    if "allocated" in declared:
        results = [_result(each) for each in declared["allocated"]]
        field = {"key": "metadata.name", "operator": "In", "values": [declared["node"]]}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        allocation = {"devices": {"results": results}, "nodeSelector": selector}
        users = [{"resource": "pods", "name": each, "uid": each} for each in declared["reserved"]]
        made["status"] = {"allocation": allocation, "reservedFor": users}
    return made


def _result(allocated: Body) -> Body:
    found = re.fullmatch("([^/]+)/(.+)/([^/]+)", allocated["device"])
    assert found is not None
    driver, pool, device = found.groups()
    return {"request": allocated["request"], "driver": driver, "pool": pool, "device": device}


def _gang(gang: Body, created: str) -> Iterator[Body]:
    podsets = [{**gang, **each} for each in gang.get("podsets", [{}])]
    pods = [each for each in podsets for _ in range(each["pods"])]
    metadata = {"creationTimestamp": created}
    spec = {"minMember": len(pods)}
    yield _object(POD_GROUPS, "PodGroup", gang["gang"], metadata=metadata, spec=spec)
    for number, each in enumerate(pods):
        yield _pod(f"{gang['gang']}-{number}", gang["gang"], each, created=created)


def _pod(name: str, gang: str, asked: Body, *, node: str = "", created: str = "") -> Body:
    requests = {key: str(each) for key, each in asked.get("requests", {}).items()}
    entries = []
    for entry, reference in asked.get("claims", {}).items():
        kind, target = reference.split(" ")
        field = "resourceClaimTemplateName" if kind == "template" else "resourceClaimName"
        entries.append({"name": entry, field: target})
    limits = {key: each for key, each in requests.items() if "/" in key}
    resources = {"requests": requests, "limits": limits}
    spec = {
        "schedulerName": "py-gang-scheduler",
        "priority": asked.get("priority", 0),
        "containers": [{"name": "c", "image": "i", "resources": resources}],
        "resourceClaims": entries,
        **({"nodeName": node} if node else {}),
    }
    labels = {"pod-group.scheduling.sigs.k8s.io": gang} if gang else {}
    if "queue" in asked:
        labels["kueue.x-k8s.io/queue-name"] = asked["queue"]
    metadata: Body = {"labels": labels}
    if not node:
        metadata["creationTimestamp"] = created
        return _object("v1", "Pod", name, metadata=metadata, spec=spec)
    metadata["uid"] = name
    status = {"phase": "Running"}
    return _object("v1", "Pod", name, metadata=metadata, spec=spec, status=status)
