"""A backlog drains: 100 gangs of 20 on 200 nodes, whole, within capacity, with right statuses."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from e2e.support import operator_health
from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from tools import controlplane
from tools.controlplane import audit

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

GANGS, SIZE, NODES = 100, 20, 200
CPUS_A_NODE = 11
TIMEOUT_SECONDS = 120.0
# Everything, so that the operator's requests can be counted.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules: [{level: None, nonResourceURLs: ["*"]}, {level: Metadata}]
"""


@pytest.fixture(scope="module")
def plane(
    crds: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own that writes every request to its audit log."""
    policy = tmp_path_factory.mktemp("audit") / "policy.yaml"
    policy.write_text(AUDIT_POLICY)
    everything = {"kube-apiserver": (f"--audit-policy-file={policy}",)}
    with controlplane.start(controlplane.Options(audit=True, extra_args=everything)) as started:
        started.kubectl("apply", f"--filename={crds}")
        room = {"cpu": str(CPUS_A_NODE), "memory": "64Gi", "pods": "110"}
        started.nodes(NODES, allocatable=room)
        yield started


def test_a_backlog_of_2000_pods(
    plane: controlplane.ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    gangs = {f"g{number}": SIZE for number in range(GANGS)}
    # Not deleted afterwards: it goes with its control plane.
    namespace = Namespace(plane, "drain")
    namespace.begin()
    with controlplane.Scheduler(plane) as scheduler, namespace.watch() as watcher:
        offset = audit.end(plane.audit_log)
        namespace.create(*(doc for name in gangs for doc in gang(name, SIZE)))
        watcher.wait_until(lambda seen: count_bound(seen) == GANGS * SIZE, TIMEOUT_SECONDS)

        all_scheduled = Counter({("True", SIZE): GANGS})
        eventually(all_scheduled, lambda: statuses(namespace), TIMEOUT_SECONDS)
        assert [] == watcher.partial_gangs(gangs)
        load = Counter(pod.node for pod in watcher.states.values())
        assert max(load.values()) <= CPUS_A_NODE
        assert [] == operator_health.tracebacks(scheduler)

        requests = operator_requests(plane, offset)
        cpu = plane.processes.cpu_seconds(scheduler.name)
    with capsys.disabled():
        each = ", ".join(f"{what} {n / GANGS / SIZE:.2f}" for what, n in requests.most_common())
        print(
            f"\n{audit.figures(plane.audit_log, offset).bindings_per_second:.0f} pods/s; ", end=""
        )
        print(f"{1000 * cpu / GANGS / SIZE:.1f} ms of CPU and these requests a pod: {each}")
    assert requests["create pods/binding"] == GANGS * SIZE
    # Everything else is a gang's, and there are 20 pods to a gang. Events are left out: those of
    # pods have a rate, so a slow machine has time for more of them.
    others = requests.total() - GANGS * SIZE - requests["create events"]
    assert others < 0.5 * GANGS * SIZE


def count_bound(seen: controlplane.Watcher) -> int:
    return sum(1 for pod in seen.states.values() if pod.node)


def statuses(namespace: Namespace) -> Counter[tuple[str, int]]:
    return Counter(status_of(each) for each in namespace.every("podgroups"))


def status_of(pod_group: Manifest) -> tuple[str, int]:
    status = pod_group.get("status", {})
    (condition,) = [c for c in status.get("conditions", []) if c["type"] == "Scheduled"] or [{}]
    return condition.get("status", ""), status.get("scheduled", 0)


def operator_requests(plane: controlplane.ControlPlane, offset: int) -> Counter[str]:
    """Count requests by what they were, as the audit log tells the operator from others."""
    lines = plane.audit_log.read_bytes()[offset:].split(b"\n")[:-1]
    ours = (event for event in map(msgspec.json.decode, lines) if is_operators(event))
    return Counter(f"{event['verb']} {resource(event)}" for event in ours)


def is_operators(event: Manifest) -> bool:
    return str(event.get("userAgent", "")).startswith(("Python/", "kopf/", "py-gang-scheduler"))


def resource(event: Manifest) -> str:
    target = event.get("objectRef", {})
    return "/".join(target[key] for key in ("resource", "subresource") if key in target)
