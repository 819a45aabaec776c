"""Which pod is where, and which gang waits for what: as the API server tells it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.table import Table

from controlplane import Cluster
from demo import cluster
from demo.examples import Outcome, Waiting

POD_GROUPS = "apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{}/podgroups"
EVENTS = "apis/events.k8s.io/v1/namespaces/{}/events"
POLL_SECONDS = 0.1

Pod = Mapping[str, Any]
# A namespace, and what the names of its gangs begin with in an outcome.
Prefixes = Mapping[str, str]


def wait(
    where: Cluster, prefixes: Prefixes, outcome: Outcome, timeout_seconds: float = 30.0
) -> None:
    """Wait for an outcome; else raise TimeoutError that says what is otherwise."""
    deadline = time.monotonic() + timeout_seconds
    while missing := list(differences(where, prefixes, outcome)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout_seconds:.0f} s: {'; '.join(missing)}")
        time.sleep(POLL_SECONDS)


def differences(where: Cluster, prefixes: Prefixes, outcome: Outcome) -> Iterator[str]:
    """Yield what is not as it should be, in words."""
    bound = Counter(
        prefix + gang_of(pod)
        for namespace, prefix in prefixes.items()
        for pod in pods(where, namespace)
        if pod["spec"].get("nodeName")
    )
    for gang, count in outcome.bound.items():
        if bound[gang] != count:
            yield f"{bound[gang]} pods of {gang} have a node, not {count}"
    groups = {
        prefix + each["metadata"]["name"]: each
        for namespace, prefix in prefixes.items()
        for each in _items(where, POD_GROUPS.format(namespace))
    }
    for gang in outcome.bound.keys() & groups.keys():
        shown = {key: groups[gang].get("status", {}).get(key) for key in ("scheduled", "running")}
        if set(shown.values()) != {outcome.bound[gang]}:
            yield f"the status of {gang} says {shown}"
    for gang, why in outcome.waiting.items():
        if gang in groups:
            yield from _differences_of_waiting(where, groups[gang], why)
        else:
            yield f"there is no PodGroup {gang}"


def pods(where: Cluster, namespace: str) -> list[dict[str, Any]]:
    """Return all pods of a namespace."""
    return _items(where, f"api/v1/namespaces/{namespace}/pods")


def gang_of(pod: Pod) -> str:
    """Return the name of a pod's gang; a pod that is in none is its own.

    The first that has one of: scheduling group, labels, annotation, JobSet, Job.
    """
    return next(name for name in (found(pod) for found in GANG_NAMES) if name)


def _scheduling_group(pod: Pod) -> str:
    return str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))


def _label(*keys: str) -> Callable[[Pod], str]:
    return lambda pod: next((_labels(pod)[key] for key in keys if _labels(pod).get(key)), "")


def _annotation(pod: Pod) -> str:
    annotations = pod["metadata"].get("annotations", {})
    return str(annotations.get("gang.scheduling.koordinator.sh/name", ""))


def _job_set(pod: Pod) -> str:
    names = (f"jobset.sigs.k8s.io/{each}-name" for each in ("jobset", "replicatedjob"))
    parts = [_labels(pod).get(name, "") for name in names]
    return "/".join(parts) if _is_of_a_gang(pod) and all(parts) else ""


def _job(pod: Pod) -> str:
    return _labels(pod).get("batch.kubernetes.io/job-name", "") if _is_of_a_gang(pod) else ""


def _is_of_a_gang(pod: Pod) -> bool:
    return _labels(pod).get("py-gang-scheduler.io/gang") == "true"


def _labels(pod: Pod) -> dict[str, str]:
    labels: dict[str, str] = pod["metadata"].get("labels", {})
    return labels


GANG_NAMES: tuple[Callable[[Pod], str], ...] = (
    _scheduling_group,
    _label("pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group"),
    _annotation,
    _label("pod-group.scheduling.sigs.k8s.io/name"),
    _job_set,
    _job,
    lambda pod: str(pod["metadata"]["name"]),
)


def table(where: Cluster) -> Table:
    """Return a picture of the cluster: every node, where it stands, and what runs on it."""
    on_node: dict[str, list[dict[str, Any]]] = {}
    for pod in _items(where, "api/v1/pods"):
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
    where: Cluster, group: Mapping[str, Any], why: Waiting
) -> Iterator[str]:
    stated = _scheduled(group)
    if (stated.get("status"), stated.get("reason")) != ("False", why.reason):
        yield f"the PodGroup does not wait because of {why.reason}: its condition is {stated}"
    elif why.message not in stated["message"]:
        yield f"the PodGroup does not say {why.message!r} but {stated['message']!r}"
    metadata = group["metadata"]
    events = _items(where, EVENTS.format(metadata["namespace"]))
    about = [each for each in events if each["regarding"].get("uid") == metadata["uid"]]
    notes = [each.get("note", "") for each in about]
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
