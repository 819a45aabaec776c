"""A control plane with a network, and a Prometheus that scrapes a leader and a standby on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import networks, preemption
from monitoring.prometheus_server import Prometheus
from tools import controlplane
from tools.controlplane import nodes

CRDS = Path(__file__).parents[2] / "crds"
ROOM = {"cpu": "4", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}
LATE_SECONDS = 5
LEASE = ("--leader-elect", "--lease-name=monitored", "--lease-namespace=default")
FLAGS = (*LEASE, f"--schedule-timeout-seconds={LATE_SECONDS}", "--gauge-shapes=cpu=1")


@pytest.fixture(scope="session")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give four nodes in two blocks, one that is in none, and classes of priority."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={CRDS}")
        labels = nodes.layers({networks.SPINE: 4, networks.BLOCK: 2})
        in_tree = [nodes.manifest(f"node-{i}", labels(i), ROOM) for i in range(4)]
        nodes.create(started.access, [*in_tree, nodes.manifest("outside", {}, ROOM)])
        networks.Network(started).has(networks.SPINES)
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="session")
def leader(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    """Give the operator that schedules."""
    with controlplane.Scheduler(plane, *FLAGS, name="leader") as started:
        yield started


@pytest.fixture(scope="session")
def standby(
    plane: controlplane.ControlPlane, leader: controlplane.Scheduler
) -> Iterator[controlplane.Scheduler]:
    """Give the operator that waits for the Lease of the leader."""
    assert leader.name in plane.processes.running()
    with controlplane.Scheduler(plane, *FLAGS, name="standby") as started:
        yield started


@pytest.fixture(scope="session")
def prometheus(
    plane: controlplane.ControlPlane,
    leader: controlplane.Scheduler,
    standby: controlplane.Scheduler,
) -> Iterator[Prometheus]:
    """Give a Prometheus that scrapes both each second."""
    with Prometheus(plane.processes, [leader.port, standby.port]) as started:
        yield started
