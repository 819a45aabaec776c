"""Which pod is where, and which gang waits for what: as the API server tells it."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from controlplane import Cluster
from demo import cluster
from demo.examples import Outcome, Waiting

GANG_LABEL = "pod-group.scheduling.sigs.k8s.io"
POD_GROUPS = "apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{}/podgroups"
EVENTS = "apis/events.k8s.io/v1/namespaces/{}/events"
POLL_SECONDS = 0.1


def wait(where: Cluster, namespace: str, outcome: Outcome, timeout_seconds: float = 30.0) -> None:
    """Wait for an outcome; else raise TimeoutError that says what is otherwise."""
    deadline = time.monotonic() + timeout_seconds
    while missing := list(differences(where, namespace, outcome)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout_seconds:.0f} s: {'; '.join(missing)}")
        time.sleep(POLL_SECONDS)


def differences(where: Cluster, namespace: str, outcome: Outcome) -> Iterator[str]:
    """Yield what is not as it should be, in words."""
    bound = Counter(gang_of(pod) for pod in pods(where, namespace) if pod["spec"].get("nodeName"))
    for gang, count in outcome.bound.items():
        if bound[gang] != count:
            yield f"{bound[gang]} pods of {gang} have a node, not {count}"
    groups = {
        each["metadata"]["name"]: each for each in _items(where, POD_GROUPS.format(namespace))
    }
    for gang in outcome.bound.keys() & groups.keys():
        shown = {key: groups[gang].get("status", {}).get(key) for key in ("scheduled", "running")}
        if set(shown.values()) != {outcome.bound[gang]}:
            yield f"the status of {gang} says {shown}"
    for gang, why in outcome.waiting.items():
        yield from _differences_of_waiting(where, namespace, groups.get(gang, {}), why)


def pods(where: Cluster, namespace: str) -> list[dict[str, Any]]:
    """Return all pods of a namespace."""
    return _items(where, f"api/v1/namespaces/{namespace}/pods")


def gang_of(pod: Mapping[str, Any]) -> str:
    """Return the gang of a pod: the label, else the pod itself."""
    metadata = pod["metadata"]
    return str(metadata.get("labels", {}).get(GANG_LABEL, metadata["name"]))


def table(where: Cluster, namespace: str) -> Table:
    """Return a picture of the cluster: every node, where it stands, and what runs on it."""
    on_node: dict[str, list[dict[str, Any]]] = {}
    for pod in pods(where, namespace):
        on_node.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
    shown = Table("SPINE", "BLOCK", "NODE", "GPUS IN USE", "PODS", box=None, header_style="bold")
    nodes = _items(where, "api/v1/nodes")
    above = ("", "")
    for node in sorted(nodes, key=lambda each: int(each["metadata"]["name"].rpartition("-")[2])):
        name, labels = node["metadata"]["name"], node["metadata"]["labels"]
        place = (labels[cluster.SPINE], labels[cluster.BLOCK])
        # A name that stands above already is not repeated, so that domains can be seen.
        shown.add_row(
            *("" if old == new else new for old, new in zip(above, place, strict=True)),
            name,
            _gpus(on_node.get(name, []), node),
            _summary(on_node.get(name, [])),
        )
        above = place
    return shown


def _differences_of_waiting(
    where: Cluster, namespace: str, group: Mapping[str, Any], why: Waiting
) -> Iterator[str]:
    stated = _scheduled(group)
    if (stated.get("status"), stated.get("reason")) != ("False", why.reason):
        yield f"the PodGroup does not wait because of {why.reason}: its condition is {stated}"
    elif why.message not in stated["message"]:
        yield f"the PodGroup does not say {why.message!r} but {stated['message']!r}"
    events = _items(where, EVENTS.format(namespace))
    uid = group.get("metadata", {}).get("uid")
    notes = [each.get("note", "") for each in events if each["regarding"].get("uid") == uid]
    if not any(why.message in note for note in notes):
        yield f"no Event says {why.message!r} but {notes}"


def _scheduled(group: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions: list[dict[str, Any]] = group.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Scheduled"), {})


def _gpus(running: list[dict[str, Any]], node: Mapping[str, Any]) -> str:
    containers = (container for pod in running for container in pod["spec"]["containers"])
    used = sum(int(each["resources"]["requests"].get(cluster.GPU, 0)) for each in containers)
    return f"{used} of {node['status']['allocatable'][cluster.GPU]}"


def _summary(running: list[dict[str, Any]]) -> str:
    return ", ".join(sorted(_short(pod) for pod in running))


def _short(pod: Mapping[str, Any]) -> str:
    # A pod of a Job ends in five letters that tell nobody anything.
    generated = pod["metadata"].get("generateName")
    return str(generated.rstrip("-") if generated else pod["metadata"]["name"])


def _items(where: Cluster, path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = where.request("GET", f"/{path}")["items"]
    return items
