"""Several gangs that wait for room at once evict no more pods than `simulate` says, also if killed.

The nodes have no kubelets, and victims no grace period: a pod that is evicted is gone.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from e2e.support import overlapping_gangs, preemption
from e2e.support.auditing import finding_nothing
from e2e.support.fault_proxy import FaultProxy, after
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.overlapping_gangs import OverlappingGangs
from e2e.support.preemption_stages import stage_of
from e2e.support.waiting import until
from gang_scheduler.cli import main
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]

CASE = OverlappingGangs(nodes=48, gangs=16, needed=2, cpus=2, members=6)
SOURCES = ("kopf", "reflector")
TIMEOUT_SECONDS = 60.0


@pytest.fixture(scope="module")
def audited(
    plane: controlplane.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Let an auditor watch.

    What a killed operator began is ended by the next one, though there may be room elsewhere by
    then: `spared` is no rule for that.
    """
    with finding_nothing(plane, tmp_path_factory.mktemp("audit"), "--skip=spared"):
        yield


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, without another operator."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane.access, plane.directory / "kubeconfig-proxy", stage_of) as started:
        yield started


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("preemptors", [2, 4, 16])
def test_several_preemptors_evict_what_simulate_says(
    namespace: Namespace, preemptors: int, source: str
) -> None:
    fill(namespace, preemptors)
    expected = simulated(namespace)
    with namespace.watch() as watcher:
        with controlplane.Scheduler(namespace.cluster, f"--source={source}"):
            watcher.wait_until(all_are_bound, TIMEOUT_SECONDS)
        assert expected == gone(watcher)


@pytest.mark.parametrize(("stage", "source"), [("mark", "reflector"), ("evict", "kopf")])
def test_killed_in_the_middle_they_evict_no_more(
    namespace: Namespace, start: Start, proxy: FaultProxy, stage: str, source: str
) -> None:
    fill(namespace, preemptors=4)
    expected = simulated(namespace)
    proxy.start_over(after(len(expected) // 2, stage))
    with namespace.watch() as watcher:
        first = start(f"--source={source}")
        until(lambda: proxy.held)
        first.kill()
        before = gone(watcher)
        proxy.start_over()
        start(f"--source={source}")
        watcher.wait_until(all_are_bound, TIMEOUT_SECONDS)
        assert expected > before
        assert len(expected) >= len(gone(watcher))


def fill(namespace: Namespace, preemptors: int) -> None:
    """Fill all nodes with gangs across them; others that need whole nodes wait from the start."""
    nodes = namespace.own_nodes(CASE.nodes, cpu=CASE.cpus, kubelets=False)
    overlapping_gangs.fill(namespace, CASE, nodes)
    needs = {"cpu": CASE.cpus, "on": namespace.here}
    gangs = (preemption.high(f"a-{n}", CASE.needed, **needs) for n in range(preemptors))
    namespace.create(*(document for gang in gangs for document in gang))


def simulated(namespace: Namespace) -> set[str]:
    """Return the names of the pods that `simulate` evicts of what is there."""
    nodes = f"/api/v1/nodes?labelSelector=e2e%3D{namespace.name}"
    lists = {
        "Node": namespace.cluster.request("GET", nodes),
        "PriorityClass": namespace.cluster.request("GET", preemption.CLASSES),
        "PodGroup": namespace.cluster.request("GET", namespace.path("podgroups")),
        "Pod": namespace.cluster.request("GET", namespace.path("pods")),
    }
    items = [
        {**item, "kind": kind, "apiVersion": found["apiVersion"]}
        for kind, found in lists.items()
        for item in found["items"]
    ]
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    told = CliRunner().invoke(main, ["simulate", "-f", "-", "-o", "json"], input=given)
    victims: list[dict[str, Any]] = json.loads(told.stdout)["victims"]
    return {each["pod"].partition("/")[2] for each in victims}


def all_are_bound(watcher: controlplane.Watcher) -> bool:
    """Return whether no pod waits."""
    return all(pod.node for pod in watcher.states.values())


def gone(watcher: controlplane.Watcher) -> set[str]:
    """Return the names of the pods that have gone."""
    return {event.name for event in watcher.history if event.gone}
