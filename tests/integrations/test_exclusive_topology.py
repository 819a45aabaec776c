"""JobSets each Job of which has a domain of its own, beside their real controller and webhook."""

from typing import Any

import pytest

from e2e.support import gang_manifests, manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.jobset,
    pytest.mark.parametrize("controller", [("jobset",)], indirect=True, scope="session"),
    pytest.mark.usefixtures("scheduler", "controller"),
]

LAYER = "example.com/shelf"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
SHELVES = ("a", "b", "c")


def job_set(name: str, namespace: Namespace, *, gang: bool, jobs: int = 2) -> Manifest:
    """Return a JobSet of Jobs of three pods."""
    spec = manifests.pod("any", on=namespace.here)["spec"] | {"restartPolicy": "Never"}
    labels = {"py-gang-scheduler.io/gang": "true"} if gang else {}
    template = {"metadata": {"labels": labels}, "spec": spec}
    job = {"parallelism": 3, "completions": 3, "backoffLimit": 3, "template": template}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "annotations": {EXCLUSIVE: LAYER}},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": jobs, "template": {"spec": job}}]},
    }


def shelves(namespace: Namespace, name: str) -> dict[str, set[str]]:
    """Return the shelves that the pods of each Job of a JobSet are on."""
    labels = {
        each["metadata"]["name"]: each["metadata"]["labels"].get(LAYER)
        for each in namespace.cluster.request("GET", "/api/v1/nodes")["items"]
    }
    found: dict[str, set[str]] = {}
    for pod, node in namespace.bound(f"{name}-").items():
        found.setdefault(pod.removeprefix(f"{name}-w-").split("-")[0], set()).add(labels[node])
    return found


def bound(namespace: Namespace, name: str) -> int:
    return len(namespace.bound(f"{name}-"))


@pytest.mark.parametrize("gang", [True, False])
def test_each_job_starts_whole_on_a_shelf_of_its_own(namespace: Namespace, *, gang: bool) -> None:
    for shelf in SHELVES:
        namespace.own_nodes(2, cpu=2, labels={LAYER: shelf})
    gang_manifests.create(namespace, job_set("set", namespace, gang=gang))

    eventually(6, lambda: bound(namespace, "set"))

    found = shelves(namespace, "set")
    assert [1, 1] == [len(each) for each in found.values()]
    assert 2 == len(set.union(*found.values()))


def test_a_gang_without_a_shelf_for_each_job_starts_nothing_until_there_is_one(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(2, cpu=2, labels={LAYER: "a"})
    gang_manifests.create(namespace, job_set("set", namespace, gang=True))
    until(lambda: _waiting(namespace))
    assert 0 == bound(namespace, "set")

    namespace.own_nodes(2, cpu=2, labels={LAYER: "b"})

    eventually(6, lambda: bound(namespace, "set"))


def test_a_first_pod_that_is_deleted_comes_again_beside_the_others(namespace: Namespace) -> None:
    for shelf in SHELVES[:2]:
        namespace.own_nodes(2, cpu=2, labels={LAYER: shelf})
    gang_manifests.create(namespace, job_set("set", namespace, gang=True))
    eventually(6, lambda: bound(namespace, "set"))
    before = shelves(namespace, "set")
    first = next(name for name in namespace.bound("set-w-1-0"))

    namespace.delete("pods", first)

    until(lambda: first not in namespace.bound("set-"))
    eventually(6, lambda: bound(namespace, "set"))
    assert before == shelves(namespace, "set")


def _waiting(namespace: Namespace) -> list[dict[str, Any]]:
    """Return the first pods once they have been tried."""
    pods = [each for each in namespace.every("pods") if each["status"].get("conditions")]
    return pods if len(pods) == 2 else []
