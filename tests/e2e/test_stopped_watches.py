"""What stops a watch of the operator: SIGSTOP in bursts of events, and no answer at all."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import impatient, manifests, operator_health
from e2e.support.fault_proxy import HOLD, FaultProxy
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import until
from tools import controlplane

pytestmark = pytest.mark.e2e

ROUNDS, BURST = 5, 100
SILENT_SECONDS = 1.0
STOP_SECONDS = 1.3
"""Longer than a watch may be silent."""
LEASE = ("--leader-elect", "--lease-namespace=default")


class Impatient(controlplane.Scheduler):
    """An operator to which a watch without an event is silent after so many seconds.

    After `anew` the supervisor begins it anew, and after `dead` it is dead.
    """

    def __init__(
        self,
        plane: controlplane.ControlPlane,
        name: str,
        *flags: str,
        silent: float = SILENT_SECONDS,
        anew: float,
        dead: float,
        kubeconfig: Path | None = None,
    ) -> None:
        super().__init__(plane, *flags, name=name, kubeconfig=kubeconfig)
        self._seconds = (silent, anew, dead)

    @property
    def command(self) -> list[str]:
        """What starts it."""
        python, _m, _module, *arguments = super().command
        return [python, impatient.__file__, *map(str, self._seconds), *arguments]


@pytest.fixture(scope="module")
def plane(crds: object) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without any other operator."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.mark.parametrize("source", ["kopf", "reflector"])
def test_stops_in_bursts_of_pods_end_no_watch(
    plane: controlplane.ControlPlane, namespace: Namespace, source: str
) -> None:
    namespace.own_nodes(4)
    name = f"stopped-{source}"
    # The supervisor is as patient as ever.
    with Impatient(plane, name, f"--source={source}", anew=60, dead=120) as operator:
        for number in range(ROUNDS):
            pods = [
                manifests.pod(f"p{number}-{index}", cpu="10m", on=namespace.here)
                for index in range(BURST)
            ]
            # What comes at once is handed out for a while, and in the middle of that it stops.
            with plane.processes.paused(name):
                namespace.create(*pods)
            time.sleep(0.02 * (number + 1))
            with plane.processes.paused(name):
                time.sleep(STOP_SECONDS)
            until(lambda: len(namespace.bound()) == BURST)
            namespace.delete_all("pods")

        assert operator.get("/readyz") == "ok"
        assert not operator.metric("pgs_watches_begun_anew_total")
        assert [] == operator_health.tracebacks(operator)


def test_a_leader_whose_watch_is_dead_gives_its_place_up(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    namespace.own_nodes(1)
    name = "dead"
    flags = (*LEASE, f"--lease-name={name}")
    kubeconfig = plane.directory / f"kubeconfig-{name}"
    key_file = plane.access.ca_file.with_suffix(".key") if plane.access.ca_file else None
    with FaultProxy(plane.access, kubeconfig, watch_of_pods, key_file=key_file) as proxy:
        first, other = (
            Impatient(plane, name, *flags, anew=6, dead=12, kubeconfig=path)
            for name, path in ((f"{name}-a", kubeconfig), (f"{name}-b", None))
        )
        with first, other:
            until(lambda: first.metric("pgs_leader") == 1)
            # From now on no watch of pods is answered, but for that of the supervisor.
            proxy.start_over(lambda *_: HOLD)
            proxy.cut()

            until(lambda: plane.processes.exit_code(first.name) is not None)
            until(lambda: other.metric("pgs_leader") == 1)
            namespace.create(*gang("a", 3, on=namespace.here))
            until(lambda: len(namespace.bound()) == 3)
            assert other.get("/readyz") == "ok"
            assert 1 == plane.processes.exit_code(first.name)
            for event in ("watch_begun_anew", "watch_dead", "stopping"):
                assert operator_health.log_lines(first, event)
            # It was given up, and has not run out.
            metrics = other.get("/metrics") or ""
            assert 'pgs_handover_seconds_count{ended="released"} 1.0' in metrics
            assert [] == operator_health.tracebacks(first)


def watch_of_pods(_method: str, path: str, _body: bytes) -> str:
    """Name the watches of pods by a source, and nothing else."""
    is_of_source = "watch=true" in path and "timeoutSeconds=1&" not in path
    return "watch" if path.startswith("/api/v1/pods?") and is_of_source else ""
