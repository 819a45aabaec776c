"""The stand-in for kubelets runs containers as processes, and ends them as a kubelet does."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support import manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import running_on
from e2e.support.waiting import eventually, until
from tools import controlplane, kubelet

pytestmark = pytest.mark.e2e

PYTHON = ["python3", "-c"]
ASKED = {"example.com/ask": "now"}
SAY_AND_WAIT = """
import os, signal, sys, time
def end(*_):
    print("told to end", flush=True)
    open("/dev/termination-log", "w").write("bye")
    sys.exit(3)
signal.signal(signal.SIGTERM, {on_sigterm})
print(os.environ["FROM"], open("/etc/podinfo/ask").read(), sep="|", flush=True)
while not open("/etc/podinfo/ask").read():
    time.sleep(0.01)
print("asked", open("/etc/podinfo/ask").read(), flush=True)
time.sleep(600)
"""
ANNOTATION = "metadata.annotations['example.com/{}']"
PODINFO = {
    "name": "podinfo",
    "downwardAPI": {
        "items": [{"path": "ask", "fieldRef": {"fieldPath": ANNOTATION.format("ask")}}]
    },
}


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.nodes(1, labels=kubelet.LABELS)
        yield started


@pytest.fixture(scope="module")
def kubelets(plane: controlplane.ControlPlane) -> Iterator[kubelet.Kubelets]:
    with kubelet.running(plane) as started:
        yield started


def pod(name: str, code: str, **spec: Any) -> Manifest:
    """Return a pod that is bound from the start, and runs Python."""
    made = running_on("node-0", manifests.pod(name, restartPolicy="Never", **spec))
    made["metadata"]["annotations"] = {"example.com/from": "here"}
    (container,) = made["spec"]["containers"]
    field = {"fieldRef": {"fieldPath": ANNOTATION.format("from")}}
    container |= {
        "command": [*PYTHON, code],
        "env": [{"name": "FROM", "valueFrom": field}],
        "volumeMounts": [{"name": "podinfo", "mountPath": "/etc/podinfo"}],
    }
    made["spec"]["volumes"] = [PODINFO]
    return made


def wait_for_log(kubelets: kubelet.Kubelets, namespace: Namespace, name: str, *lines: str) -> None:
    """Wait until a container has written these lines, and no others."""
    found = namespace.get("pods", name)
    eventually([*lines], lambda: kubelets.log(found).splitlines())


def terminated(found: Manifest) -> dict[str, Any]:
    """Return how the container of a pod has ended."""
    (status,) = found["status"]["containerStatuses"]
    ended: dict[str, Any] = status["state"]["terminated"]
    return ended


def is_running(pid: int) -> bool:
    """Return whether there is a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_container_has_its_variables_and_sees_annotations_change(
    kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    code = SAY_AND_WAIT.format(on_sigterm="end")
    namespace.create(pod("a", code, terminationGracePeriodSeconds=60))
    eventually("Running", lambda: namespace.get("pods", "a")["status"]["phase"])
    wait_for_log(kubelets, namespace, "a", "here|")

    namespace.change_pod("a", lambda found: found["metadata"]["annotations"].update(ASKED))

    wait_for_log(kubelets, namespace, "a", "here|", "asked now")


def test_a_deleted_pod_ends_by_sigterm_with_what_it_left(
    kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    code = SAY_AND_WAIT.format(on_sigterm="end")
    held = pod("a", code, terminationGracePeriodSeconds=60)
    held["metadata"]["finalizers"] = ["example.com/look"]
    namespace.create(held)
    eventually("Running", lambda: namespace.get("pods", "a")["status"]["phase"])
    wait_for_log(kubelets, namespace, "a", "here|")

    namespace.cluster.request("DELETE", f"{namespace.path('pods')}/a")

    eventually("Failed", lambda: namespace.get("pods", "a")["status"]["phase"])
    left = terminated(namespace.get("pods", "a"))
    assert (3, "bye") == (left["exitCode"], left["message"])
    wait_for_log(kubelets, namespace, "a", "here|", "told to end")

    namespace.change_pod("a", lambda found: found["metadata"].pop("finalizers"))

    eventually([], lambda: namespace.every("pods"))


def test_a_container_that_does_not_end_is_killed_after_the_grace_period(
    kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    code = SAY_AND_WAIT.format(on_sigterm="signal.SIG_IGN")
    held = pod("a", code, terminationGracePeriodSeconds=1)
    held["metadata"]["finalizers"] = ["example.com/look"]
    namespace.create(held)
    eventually("Running", lambda: namespace.get("pods", "a")["status"]["phase"])
    wait_for_log(kubelets, namespace, "a", "here|")

    namespace.cluster.request("DELETE", f"{namespace.path('pods')}/a")

    eventually("Failed", lambda: namespace.get("pods", "a")["status"]["phase"])
    assert 137 == terminated(namespace.get("pods", "a"))["exitCode"]
    namespace.change_pod("a", lambda found: found["metadata"].pop("finalizers"))


@pytest.mark.usefixtures("kubelets")
def test_a_container_that_ends_by_itself_has_succeeded_or_failed(namespace: Namespace) -> None:
    namespace.create(pod("good", "pass"), pod("bad", "import os; os.abort()"))

    eventually("Succeeded", lambda: namespace.get("pods", "good")["status"]["phase"])
    eventually("Failed", lambda: namespace.get("pods", "bad")["status"]["phase"])
    # By a signal: 128 and its number.
    assert 134 == terminated(namespace.get("pods", "bad"))["exitCode"]


def test_a_pod_that_is_gone_at_once_leaves_no_process(
    kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    namespace.create(pod("a", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"))
    found = until(lambda: namespace.get("pods", "a"))
    pid = int(until(lambda: kubelets.log(found)))

    namespace.delete("pods", "a")

    until(lambda: not is_running(pid))


def test_a_container_has_config_maps_and_what_other_pods_have_left(
    kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    append = "import sys; f = open(sys.argv[1], 'a+'); f.write('x'); f.seek(0); print(f.read())"
    data = {"append.py": append}

    namespace.create(with_share("a", namespace))
    # The pod waits for it.
    namespace.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"}, "data": data}
    )
    eventually("Succeeded", lambda: namespace.get("pods", "a")["status"]["phase"])
    namespace.create(with_share("b", namespace))
    eventually("Succeeded", lambda: namespace.get("pods", "b")["status"]["phase"])

    wait_for_log(kubelets, namespace, "a", "x")
    wait_for_log(kubelets, namespace, "b", "xx")


def with_share(name: str, namespace: Namespace) -> Manifest:
    """Return a pod that runs a script of a ConfigMap on a file that other pods see, too."""
    made = pod(name, "")
    made["spec"]["volumes"] += [
        {"name": "scripts", "configMap": {"name": "scripts"}},
        {"name": "data", "nfs": {"server": "files", "path": f"/{namespace.name}"}},
    ]
    made["spec"]["containers"][0] |= {
        "command": ["python3", "/scripts/append.py"],
        "args": ["/data/x"],
        "volumeMounts": [
            {"name": "scripts", "mountPath": "/scripts"},
            {"name": "data", "mountPath": "/data"},
        ],
    }
    return made
