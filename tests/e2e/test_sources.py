"""The table of sources, row by row: where pods say which gang they are in.

All of it holds whatever watches the cluster.
The row of native PodGroups needs another API server: test_native_pod_groups.py.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests, operator_health
from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.jobset import standin

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

OUR_LABEL = "pod-group.scheduling.sigs.k8s.io"
SCHED_PLUGINS_LABEL = "scheduling.x-k8s.io/pod-group"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHED_PLUGINS_CRD: Manifest = {
    "metadata": {
        "name": "podgroups.scheduling.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    },
    "spec": {
        "group": "scheduling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": ANYTHING, "status": ANYTHING},
                    }
                },
            }
        ],
    },
}


ABSENT = "kinds_not_served"
"""How both sources of pods say, in one line at the start, what there is not."""


@pytest.fixture(scope="module", params=["kopf", "reflector"])
def pod_source(request: pytest.FixtureRequest) -> str:
    """Name what watches the cluster."""
    return str(request.param)


@pytest.fixture(scope="module")
def plane(pod_source: str) -> Iterator[controlplane.ControlPlane]:  # noqa: ARG001 - one for each.
    """Start a control plane with our CRDs alone; some tests install others."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={gang_manifests.CRDS}")
        yield started


@pytest.fixture(scope="module")
def operator_process(
    plane: controlplane.ControlPlane, pod_source: str
) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane, f"--source={pod_source}") as started:
        yield started


@pytest.fixture(scope="module")
def sched_plugins(
    plane: controlplane.ControlPlane, operator_process: controlplane.Scheduler
) -> None:
    """Install the CRD of scheduler-plugins while the operator runs."""
    assert operator_process.get("/readyz")
    plane.request(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", SCHED_PLUGINS_CRD
    )
    name = f"crd/{SCHED_PLUGINS_CRD['metadata']['name']}"
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", name)


@pytest.fixture(scope="module")
def job_sets(
    plane: controlplane.ControlPlane, operator_process: controlplane.Scheduler
) -> Iterator[None]:
    """Install the CRD of JobSets while the operator runs, and play the controller."""
    assert operator_process.get("/readyz")
    standin.install(plane)
    with standin.playing(plane):
        yield


def test_kinds_whose_crd_is_absent_cost_nothing(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    served = scheduler.cluster.kubectl("api-resources", "--output=name").split()
    assert "podgroups.scheduling.sigs.k8s.io" in served
    assert not {"podgroups.scheduling.x-k8s.io", "podgroups.scheduling.k8s.io"} & set(served)
    namespace.own_nodes(1)

    namespace.create(*gang("a", 3, on=namespace.here))

    eventually("Running", lambda: namespace.phase("a"))
    assert [] == gang_manifests.errors_of(scheduler)
    assert 1 == scheduler.log.read_text().count(ABSENT)


@pytest.mark.parametrize("label", [OUR_LABEL, SCHED_PLUGINS_LABEL])
def test_row_pod_group_cr_by_label(namespace: Namespace, label: str) -> None:
    group = manifests.pod_group("a", 4)
    members = gang_manifests.labelled("a", 4, label, on=namespace.here)

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, [group, *members], {"a": 4})

    eventually("Running", lambda: namespace.phase("a"))


@pytest.mark.parametrize("label", [OUR_LABEL, SCHED_PLUGINS_LABEL])
@pytest.mark.usefixtures("sched_plugins")
def test_row_pod_group_cr_of_scheduler_plugins_whose_crd_came_later(
    namespace: Namespace, label: str
) -> None:
    group = manifests.pod_group("a", 4) | {"apiVersion": gang_manifests.SCHED_PLUGINS}
    members = gang_manifests.labelled("a", 4, label, on=namespace.here)

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, [group, *members], {"a": 4})

    path = gang_manifests.path(namespace, group, "a")
    eventually("Running", lambda: namespace.cluster.request("GET", path)["status"].get("phase"))


@pytest.mark.usefixtures("sched_plugins")
def test_row_pod_group_cr_of_one_name_in_two_api_groups_is_invalid(namespace: Namespace) -> None:
    ours = manifests.pod_group("a", 2)
    theirs = ours | {"apiVersion": gang_manifests.SCHED_PLUGINS}
    gang_manifests.create(namespace, theirs, ours, *manifests.members("a", 2, cpu=0))
    namespace.own_nodes(1)
    namespace.create(*gang("good", 2, on=namespace.here))

    words = f'PodGroup "{namespace.name}/a" exists twice, in scheduling.sigs.k8s.io and '
    eventually("Running", lambda: namespace.phase("good"))
    eventually("True", lambda: namespace.condition_of_gang("a", "InvalidSpec").get("status"))
    assert words in namespace.condition_of_gang("a", "InvalidSpec")["message"]
    assert words in until(lambda: namespace.notes("a", "InvalidGang"))[0]
    assert {} == namespace.bound("a")

    namespace.cluster.request("DELETE", gang_manifests.path(namespace, theirs, "a"))
    eventually(2, lambda: len(namespace.bound("a")))


def test_row_annotations(namespace: Namespace) -> None:
    members = gang_manifests.annotated("a", 4, on=namespace.here)

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, members, {"a": 4})


def test_row_annotations_in_the_form_of_labels(namespace: Namespace) -> None:
    members = gang_manifests.light("a", 4, on=namespace.here)

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, members, {"a": 4})


def test_row_owner_job(namespace: Namespace) -> None:
    document = gang_manifests.job("a", 4, on=namespace.here)

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, [document], {"a": 4})


def test_row_owner_job_of_which_parts_have_succeeded_needs_the_rest_only(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=4)
    document = gang_manifests.job("a", 4, on=namespace.here)
    document["spec"].update(parallelism=2)
    gang_manifests.create(namespace, document)

    # Two at a time, then the other two: the quorum is never above what there will be.
    for left in (4, 3, 2, 1):
        expected = min(2, left)
        eventually(expected, lambda: len(running(namespace)))
        namespace.set_phase(min(running(namespace)), "Succeeded")
    until(lambda: namespace.get("jobs", "a")["status"].get("completionTime"))


def test_row_owner_job_without_the_label_is_no_gang(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=3)

    gang_manifests.create(namespace, gang_manifests.job("a", 4, labels={}, on=namespace.here))

    eventually(3, lambda: len(namespace.bound()))


@pytest.mark.usefixtures("job_sets")
def test_row_owner_job_set_is_one_gang_group(namespace: Namespace) -> None:
    document = gang_manifests.job_set("a", {"master": (1, 1), "worker": (2, 2)}, on=namespace.here)
    gangs = {"a/master": 1, "a/worker": 4}

    # Each gang has room for itself, and the group has not.
    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, [document], gangs)

    assert until(lambda: namespace.notes("a", "Scheduled"))


def test_a_pod_without_any_source_is_a_gang_of_one(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=1)

    namespace.create(manifests.pod("a", on=namespace.here), manifests.pod("b", on=namespace.here))

    eventually(1, lambda: len(namespace.bound()))


def test_the_first_source_that_matches_wins(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    group = manifests.pod_group("by-label", 2)
    members: list[dict[str, Any]] = [
        each | {"metadata": each["metadata"] | {"labels": {OUR_LABEL: "by-label"}}}
        for each in gang_manifests.annotated("by-annotation", 2, on=namespace.here)
    ]
    # The annotation's quorum can never be reached.
    for each in members:
        each["metadata"]["annotations"][f"{gang_manifests.PREFIX}/min-available"] = "9"

    gang_manifests.create(namespace, group, *members)

    eventually("Running", lambda: namespace.phase("by-label"))


def test_nothing_went_wrong_behind_the_scenes(scheduler: controlplane.Scheduler) -> None:
    assert [] == operator_health.tracebacks(scheduler)
    assert [] == gang_manifests.errors_of(scheduler)


def running(namespace: Namespace) -> list[str]:
    return [
        each["metadata"]["name"]
        for each in namespace.every("pods")
        if each["status"].get("phase") == "Running"
    ]
