"""The auditor finds what builds do that are broken on purpose: see tests/broken_builds.

Each runs beside the auditor in a situation in which it does wrong, and the rule for that is named.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import manifests, preemption, queues
from e2e.support.auditing import Audit, auditing
from e2e.support.manifests import Manifest, pod
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects
from e2e.support.waiting import eventually, until
from support import broken_builds
from tools import controlplane

pytestmark = pytest.mark.e2e

SKEW_SECONDS = 1.0
PARTIAL_SECONDS = 5.0


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, without another operator."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture
def audit(plane: controlplane.ControlPlane, tmp_path: Path) -> Iterator[Audit]:
    """Give an auditor that does not wait for long."""
    flags = (f"--skew-seconds={SKEW_SECONDS}", f"--partial-seconds={PARTIAL_SECONDS}")
    with auditing(plane, tmp_path, *flags) as started:
        yield started


class Build(controlplane.Scheduler):
    """A replica of a broken build."""

    def __init__(self, namespace: Namespace, build: Path, *flags: str, name: str) -> None:
        super().__init__(namespace.cluster, *flags, name=name)
        self._build = build

    @property
    def command(self) -> list[str]:
        """What starts it: its own copy of the package comes before the installed one."""
        code = (
            f"import sys, runpy; sys.path.insert(0, {str(self._build)!r}); sys.argv[0] = 'broken'"
        )
        run = "runpy.run_module('gang_scheduler', run_name='__main__')"
        return [sys.executable, "-c", f"{code}; {run}", *super().command[3:]]


def run(namespace: Namespace, directory: Path, build: str) -> Build:
    """Return an operator of a broken build, not started yet."""
    return Build(namespace, broken_builds.make(build, directory), name=build.replace("_", "-"))


def reason(namespace: Namespace, name: str) -> str | None:
    """Return why a pod waits."""
    found: str | None = namespace.condition_of_pod(name).get("reason")
    return found


def test_a_build_that_binds_without_capacity(
    namespace: Namespace, audit: Audit, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=2)
    with run(namespace, tmp_path, "binds_without_capacity"):
        namespace.create(*manifests.gang("ring", 3, on=namespace.here))
        until(lambda: "capacity" in audit.rules)

    (found,) = audit.end()
    assert {"resource": "cpu", "used": 3000, "allocatable": 2000}.items() <= found[
        "details"
    ].items()


def test_a_build_that_loses_a_deletion(namespace: Namespace, audit: Audit, tmp_path: Path) -> None:
    (node,) = namespace.own_nodes(1, cpu=2)
    with run(namespace, tmp_path, "loses_a_deletion"):
        namespace.create(pod("early", on=namespace.here))
        eventually(node, lambda: namespace.node_of("early"))
        namespace.delete("pods", "early")
        namespace.cluster.request("DELETE", f"/api/v1/nodes/{node}")
        audit.let_pass(4 * SKEW_SECONDS)
        namespace.create(pod("late", on=namespace.here))
        until(lambda: "filters" in audit.rules)

    messages = {each["about"]: each["message"] for each in audit.end() if each["rule"] == "filters"}
    words = f"bound to {node}, which does not exist"
    assert {f"Pod {namespace.name}/late": words} == messages


def test_a_build_that_evicts_one_too_many(
    namespace: Namespace, audit: Audit, tmp_path: Path
) -> None:
    nodes = namespace.own_nodes(2, cpu=1)
    with (
        preemption.priority_classes(namespace.cluster),
        run(namespace, tmp_path, "evicts_one_too_many"),
    ):
        low = [pod(f"low-{i}", priorityClassName=preemption.LOW, on=namespace.here) for i in (0, 1)]
        namespace.create(*low)
        eventually(set(nodes), lambda: set(namespace.bound("low").values()))
        audit.let_pass(2 * SKEW_SECONDS)
        namespace.create(pod("high", priorityClassName=preemption.HIGH, on=namespace.here))
        until(lambda: "spared" in audit.rules)

    (found,) = audit.end()
    assert f"{namespace.name}/high" == found["details"]["preemptor"]


def test_a_build_that_lends_a_guarantee(
    namespace: Namespace, objects: Objects, audit: Audit, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=4)
    promised = {"soft": {"cpu": "1000"}, "guaranteed": {"cpu": "1000"}}
    owner: Manifest = queue("owner", quota=promised)
    borrower: Manifest = queue("borrower", borrowing={"enabled": True})
    with run(namespace, tmp_path, "lends_a_guarantee"):
        objects.create_and_wait(owner)
        objects.create_and_wait(borrower)
        of_queue = pod("guest", cpu=3, on=namespace.here)
        of_queue["metadata"]["labels"][queues.QUEUE] = borrower["metadata"]["name"]
        namespace.create(of_queue)
        until(lambda: "guarantee" in audit.rules)

    assert {"Queue borrower"} == {each["about"] for each in audit.end()}


def test_a_build_that_forgets_the_lease(namespace: Namespace, audit: Audit, tmp_path: Path) -> None:
    namespace.own_nodes(1, cpu=4)
    build = broken_builds.make("forgets_the_lease", tmp_path)
    lease = ("--leader-elect", "--lease-namespace=default", f"--lease-name={namespace.name}")
    one = Build(namespace, build, *lease, name="replica-one")
    two = Build(namespace, build, *lease, name="replica-two")
    with one, two:
        for number, idle in enumerate((two, one, two)):
            with namespace.cluster.processes.paused(idle.name):
                namespace.create(pod(f"member-{number}", on=namespace.here))
                until(lambda name=f"member-{number}": namespace.node_of(name))  # type: ignore[misc]
            audit.let_pass(2 * SKEW_SECONDS)
        until(lambda: "leader" in audit.rules)

    assert {f"Pod {namespace.name}/member-2"} == {each["about"] for each in audit.end()}


def queue(name: str, **spec: object) -> Manifest:
    """Return a Queue."""
    return {
        "apiVersion": queues.VERSION,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }
