"""A thousand gangs in fifty queues are admitted as `simulate` says, also by one that was killed.

The nodes have no kubelets: what matters is which gang got a node.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from e2e.support import gang_manifests, operator_health, queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, queue
from e2e.support.waiting import eventually
from gang_scheduler.cli import main
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

GANGS, QUEUES = 1000, 50
NODES, NODE_CPU, PROMISED_CPU = 20, 64, 12
TIMEOUT_SECONDS = 60.0
QUEUES_PATH = f"/apis/{queues.VERSION}/queues"
DIFFERENCES = "pgs_queue_usage_differences_total"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: others take no room."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_thousand_gangs_get_what_simulate_says(
    namespace: Namespace, objects: Objects, *, is_killed: bool
) -> None:
    namespace.own_nodes(NODES, cpu=NODE_CPU, kubelets=False)
    objects.create(queue("root", QUEUES * PROMISED_CPU), *every_queue())
    namespace.create(*every_member(namespace))
    expected = simulated(namespace)
    # Not all fit, and some queues hold more than they were promised.
    assert 0 < expected.total() < len(namespace.every("pods"))
    assert max(expected.values()) > PROMISED_CPU
    scheduler = controlplane.Scheduler(
        namespace.cluster, "--bind-concurrency=1", "--sweep-seconds=5"
    )
    with namespace.watch() as watcher, scheduler:
        if is_killed:
            third = expected.total() // 3
            watcher.wait_until(lambda seen: number_bound(seen) > third, TIMEOUT_SECONDS)
            scheduler.kill()
            assert number_bound(watcher) < expected.total()
            scheduler.start()
        watcher.wait_until(lambda seen: number_bound(seen) == expected.total(), TIMEOUT_SECONDS)
        assert expected == used(namespace)
        eventually(expected, lambda: told(namespace))
        assert f"{DIFFERENCES} 0.0" in (scheduler.get("/metrics") or "")
    assert [] == operator_health.log_lines(scheduler, "queue_usage_differs")


def every_queue() -> list[Manifest]:
    """Return the queues; every other one may borrow. What is lent stays lent: no pod comes back."""
    never = {"reclaim": "Never"}
    return [
        queue(f"q{n}", PROMISED_CPU, borrowing={"enabled": n % 2 == 0}, preemption=never)
        for n in range(QUEUES)
    ]


def every_member(namespace: Namespace) -> Iterator[Manifest]:
    """Yield the pods of gangs of one or two, more of them in some queues than in others."""
    for number in range(GANGS):
        label = {queues.QUEUE: f"q{number * (number + 1) // 2 % QUEUES}"}
        for pod in gang_manifests.light(f"g{number}", 1 + number % 2, on=namespace.here):
            pod["metadata"]["labels"].update(label)
            yield pod


def simulated(namespace: Namespace) -> Counter[str]:
    """Return the CPUs that each queue uses in the end, of what there is, as `simulate` says."""
    request = namespace.cluster.request
    lists = {
        "Node": request("GET", f"/api/v1/nodes?labelSelector=e2e%3D{namespace.name}"),
        "Queue": request("GET", QUEUES_PATH),
        "Pod": request("GET", namespace.path("pods")),
    }
    items = [
        {**item, "kind": kind, "apiVersion": found["apiVersion"]}
        for kind, found in lists.items()
        for item in found["items"]
    ]
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    arguments = ["simulate", "-f", "-", "-o", "json", "--until-settled"]
    done = CliRunner().invoke(main, arguments, input=given)
    found: list[dict[str, Any]] = json.loads(done.stdout)["queues"]
    return Counter({each["queue"]: cpus(each["resources"]) for each in found if is_leaf(each)})


def is_leaf(figures: dict[str, Any]) -> bool:
    """Return whether figures are those of one of our queues that gangs name."""
    return str(figures["queue"]).startswith("q")


def cpus(resources: list[dict[str, str]]) -> int:
    """Return the CPUs among what a queue uses."""
    return sum(int(each["used"]) for each in resources if each["resource"] == "cpu")


def used(namespace: Namespace) -> Counter[str]:
    """Return the CPUs of the bound pods of each queue."""
    bound = [each for each in namespace.every("pods") if "nodeName" in each["spec"]]
    return Counter(each["metadata"]["annotations"][queues.QUEUE] for each in bound)


def told(namespace: Namespace) -> Counter[str]:
    """Return the CPUs that Queues say they use."""
    every = namespace.cluster.request("GET", QUEUES_PATH)["items"]
    amounts = {each["metadata"]["name"]: each.get("status", {}).get("used", {}) for each in every}
    return Counter(
        {
            name: int(amount.get("default", {}).get("cpu", "0"))
            for name, amount in amounts.items()
            if name != "root"
        }
    )


def number_bound(seen: controlplane.Watcher) -> int:
    """Return how many pods have a node."""
    return sum(pod.node is not None for pod in seen.states.values())
