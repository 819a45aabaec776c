"""Law: what users wrote takes memory no longer than their objects exist, and as much as these have.

Measured in bytes that Python holds, which are the same on every machine: no clock and no process.
"""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from gang_scheduler.api import annotations, kinds
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import container, node_body, pod_body, pod_group_body

OURS = "py-gang-scheduler"
LONG = 20_000
"""An annotation may have 256 KiB, and an object one and a half MiB."""
WRITES = 65
"""Some things are cleared away once there are more than 64."""


def expression(number: int) -> dict[str, Any]:
    values = [f"{number}-{i}" for i in range(LONG // 20)]
    return {"key": "zone", "operator": "In", "values": values}


def long_node_affinity(number: int) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression(number)]}]}
    return pod_body(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    )


def long_pod_affinity(number: int) -> dict[str, Any]:
    selector = {"matchExpressions": [expression(number)]}
    terms = [{"topologyKey": "zone", "labelSelector": selector}]
    return pod_body(
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    )


def long_annotation(key: str) -> Callable[[int], dict[str, Any]]:
    return lambda number: pod_body(metadata={"annotations": {key: f"{number}" + "x" * LONG}})


def long_quantity(number: int) -> dict[str, Any]:
    return pod_group_body(minResources={"cpu": "0" * LONG + f"{number}"})


def long_spec(number: int) -> dict[str, Any]:
    text = f'{{"gatherStrategy": [{{"layer": "{number}{"x" * LONG}"}}]}}'
    return pod_group_body(metadata={"annotations": {annotations.NETWORK_TOPOLOGY_SPEC: text}})


LONG_OBJECTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "node affinity": long_node_affinity,
    "pod anti-affinity": long_pod_affinity,
    "quantity": long_quantity,
    "network-topology-spec of a PodGroup": long_spec,
    **{
        f"annotation {key}": long_annotation(key)
        for key in (
            annotations.NETWORK_TOPOLOGY_SPEC,
            annotations.ELASTIC,
            annotations.ROLES,
            annotations.KUEUE_QUEUE,
            annotations.PROVISIONING_CLASS,
            annotations.FLAVORS,
            *sorted(annotations.PODSET_KEYS),
        )
    },
}


@pytest.mark.parametrize("what", LONG_OBJECTS)
def test_what_is_gone_takes_no_memory(what: str) -> None:
    """Each write says something else: the later ones must not add to what the first took."""
    cache = Cache([OURS], Changes())
    handlers = cache_feeding.event_handlers(cache)
    gvr = kinds.PODS if long_is_pod(what) else kinds.POD_GROUPS

    def write(number: int) -> None:
        body = LONG_OBJECTS[what](number)
        body["metadata"] |= {"uid": "u", "resourceVersion": str(number + 1)}
        handlers.of(gvr).handle({"type": "MODIFIED", "object": body})

    assert growth(write, WRITES) < WRITES * LONG / 4


def long_is_pod(what: str) -> bool:
    return "PodGroup" not in what and what != "quantity"


ROUNDS = 100
LEAST_BYTES = 100
"""Less than any object that is kept for a round takes, with its key. Uids, which are remembered for
minutes once their objects are gone, take less."""


def pod_with_host_port(number: int) -> list[dict[str, Any]]:
    ports = [{"containerPort": 80, "hostPort": 80}]
    bound = pod_body(containers=[container(ports=ports)], nodeName=f"node-{number}")
    return [node_body(f"node-{number}"), bound]


def node_that_fails(number: int) -> list[dict[str, Any]]:
    unready = [{"type": "Ready", "status": "False"}]
    return [node_body(f"node-{number}", status={"conditions": unready})]


def budget_of_a_namespace(number: int) -> list[dict[str, Any]]:
    metadata = {"namespace": f"team-{number}", "name": "few", "uid": f"uid-few-{number}"}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return [{**kind, "metadata": metadata, "spec": {"minAvailable": 1}}]


COMING_AND_GOING = (pod_with_host_port, node_that_fails, budget_of_a_namespace)


@pytest.mark.parametrize("objects", COMING_AND_GOING)
def test_names_that_are_gone_take_no_memory(
    objects: Callable[[int], list[dict[str, Any]]],
) -> None:
    """Each round has other names: the later ones must not add to what the first took."""
    handlers = cache_feeding.event_handlers(Cache([OURS], Changes()))

    def come_and_go(number: int) -> None:
        bodies = objects(number)
        for body in bodies:
            cache_feeding.tell(handlers, "ADDED", body)
        for body in reversed(bodies):
            cache_feeding.tell(handlers, "DELETED", body)

    assert growth(come_and_go) < ROUNDS * LEAST_BYTES


@pytest.mark.parametrize(
    "labels",
    [{}, {annotations.POD_GROUP_LABEL: "a"}, {JOB_SET_LABEL: "s", REPLICATED_JOB_LABEL: "w"}],
    ids=["single", "gang", "jobset"],
)
def test_pods_that_outlast_their_job_take_no_memory(labels: dict[str, str]) -> None:
    """The Job is deleted first, and its pods change once more before they are gone."""
    handlers = cache_feeding.event_handlers(Cache([OURS], Changes()))

    def come_and_go(number: int) -> None:
        own = {"name": f"job-{number}", "namespace": "default", "uid": f"uid-job-{number}"}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": {"parallelism": 1}}
        reference = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        owner = {**reference, "name": own["name"], "uid": own["uid"]}
        named = {key: f"{value}-{number}" for key, value in labels.items()}
        metadata = {"labels": named, "ownerReferences": [owner]}
        pod = pod_body(f"p-{number}", metadata=metadata)
        leaving = pod_body(
            f"p-{number}", metadata={**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}
        )
        cache_feeding.tell(handlers, "ADDED", job)
        cache_feeding.tell(handlers, "ADDED", pod)
        cache_feeding.tell(handlers, "DELETED", job)
        cache_feeding.tell(handlers, "MODIFIED", leaving)
        cache_feeding.tell(handlers, "DELETED", leaving)

    assert growth(come_and_go) < ROUNDS * 2 * LEAST_BYTES


def growth(come_and_go: Callable[[int], None], rounds: int = ROUNDS) -> int:
    """Return by how many bytes as many rounds again add to what the first took."""
    tracemalloc.start()
    try:
        for number in range(rounds):
            come_and_go(number)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(rounds, 2 * rounds):
            come_and_go(number)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return after - before
