"""Room that was made for a gang and lost, to kube-scheduler or with its node: made again, thrice.

kube-scheduler does not see our nominations. The nodes have no kubelets: an evicted pod is gone when
the test says so.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import preemption
from e2e.support.manifests import pod
from e2e.support.namespaces import Namespace
from e2e.support.preemption import high, low
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

NODES, CPUS = 6, 4
ROUNDS = 3


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane on which kube-scheduler runs, too."""
    options = controlplane.Options(kube_scheduler=True)
    with controlplane.start(options) as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


def test_room_that_kube_scheduler_takes_is_made_elsewhere_but_not_for_ever(
    namespace: Namespace,
) -> None:
    fill(namespace)
    namespace.create(*high("a", 2, cpu=CPUS, on=namespace.here))
    eventually(2, lambda: len(preemption.evicted(namespace)))

    # 1. kube-scheduler takes the room of the first victim while the second one still leaves.
    end_one(namespace)
    take_what_is_free(namespace, "theirs-0")
    for number in range(1, ROUNDS):
        # 2. When that has gone, another one must go; and again the room is taken meanwhile.
        end_one(namespace)
        until(lambda: is_taken(namespace))
        eventually(1, lambda: len(preemption.evicted(namespace)))
        take_what_is_free(namespace, f"theirs-{number}")
    # 3. Three rounds are all that there are.
    end_one(namespace)

    eventually({}, lambda: preemption.nominated(namespace))
    until(lambda: "3 preemption rounds" in scheduled(namespace)["message"])
    assert "Unschedulable" == scheduled(namespace)["reason"]
    assert NODES - ROUNDS - 1 == len(namespace.bound("low-"))
    assert set() == preemption.evicted(namespace) | preemption.marked(namespace)
    assert {} == namespace.bound("a-")

    namespace.delete("pods", "theirs-0")

    eventually(2, lambda: len(namespace.bound("a-")))
    eventually("False", lambda: namespace.condition_of_gang("a", "RoomLost").get("status"))


def test_room_that_goes_with_its_node_is_made_elsewhere(namespace: Namespace) -> None:
    fill(namespace)
    namespace.create(*high("a", 2, cpu=CPUS, on=namespace.here))
    eventually(2, lambda: len(preemption.evicted(namespace)))
    gone, left = sorted(preemption.nominated(namespace, "a-").values())

    namespace.cluster.request("DELETE", f"/api/v1/nodes/{gone}")
    namespace.delete("pods", *preemption.evicted(namespace))

    eventually(f"node {gone} is gone", lambda: lost(namespace).get("message"))
    eventually(1, lambda: len(preemption.evicted(namespace)))
    end_one(namespace)
    eventually(2, lambda: len(namespace.bound("a-")))
    assert left in namespace.bound("a-").values()
    assert NODES - 3 == len(namespace.bound("low-"))


def fill(namespace: Namespace) -> None:
    """Fill all nodes with pods of low priority."""
    names = namespace.own_nodes(NODES, cpu=CPUS, kubelets=False)
    everyone = [low(f"low-{number}", node, cpu=CPUS) for number, node in enumerate(names)]
    namespace.create(*everyone)


def end_one(namespace: Namespace) -> str:
    """End a victim, and return its name."""
    victim = min(until(lambda: preemption.evicted(namespace)))
    namespace.delete("pods", victim)
    return victim


def take_what_is_free(namespace: Namespace, name: str) -> None:
    """Have kube-scheduler bind a pod where there is room."""
    namespace.create(pod(name, cpu=CPUS, scheduler="default-scheduler", on=namespace.here))
    until(lambda: namespace.node_of(name))


def is_taken(namespace: Namespace) -> bool:
    return "was taken" in lost(namespace).get("message", "")


def lost(namespace: Namespace) -> dict[str, Any]:
    return namespace.condition_of_gang("a", "RoomLost")


def scheduled(namespace: Namespace) -> dict[str, Any]:
    return namespace.condition_of_gang("a", "Scheduled")
