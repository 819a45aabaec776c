"""A RayCluster has a head and groups of workers; RayJobs and RayServices make one."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    TEMPLATE,
    Body,
    annotations_of,
    expanded,
    labels_of,
    owned_by,
    owners_of,
    pod_named,
    pods_made,
    stored,
)


def spec(**given: Any) -> Body:
    group = {"groupName": "g", "replicas": 2, "template": TEMPLATE, **given.pop("group", {})}
    return {"headGroupSpec": {"template": TEMPLATE}, "workerGroupSpecs": [group], **given}


def cluster(**given: Any) -> Body:
    return made_by("RayCluster", **spec(**given))


def made_by(kind: str, **given: Any) -> Body:
    return {"kind": kind, "apiVersion": "ray.io/v1", "metadata": {"name": "r"}, "spec": given}


@pytest.mark.parametrize(
    ("group", "number"),
    [
        ({}, 2),
        ({"replicas": 1, "numOfHosts": 4}, 4),
        ({"replicas": None}, 0),
        ({"replicas": None, "minReplicas": 3}, 3),
        ({"replicas": 1, "minReplicas": 3}, 3),
        ({"replicas": 9, "maxReplicas": 5}, 5),
    ],
)
def test_a_group_has_its_replicas_within_its_bounds(group: Body, number: int) -> None:
    workers = [f"r-g-worker-{i:05d}" for i in range(number)]

    assert ["r-head-00000", *workers] == [*pods_made(cluster(group=group))]


def test_pods_are_labelled_as_by_kuberay() -> None:
    pods = pods_made(cluster())
    head, worker = pods["r-head-00000"], pods["r-g-worker-00000"]

    common = {"cluster": "r", "is-ray-node": "yes"}
    expected = {**common, "node-type": "head", "group": "headgroup", "identifier": "r-head"}
    assert expected == labels_of(head, "ray.io/")
    assert {**common, "node-type": "worker", "group": "g", "identifier": "r-worker"} == labels_of(
        worker, "ray.io/"
    )
    assert {"name": "kuberay", "created-by": "kuberay-operator"} == labels_of(
        worker, "app.kubernetes.io/"
    )
    assert ({"ft-enabled": "false"}, {}) == tuple(
        annotations_of(each, "ray.io/") for each in (head, worker)
    )
    assert ["RayCluster r"] == owners_of(worker)
    assert ["wait-gcs-ready"] == [each["name"] for each in worker["spec"]["initContainers"]]


def test_labels_of_a_template_replace_all_but_the_three_that_matter() -> None:
    labels = {"ray.io/identifier": "mine", "ray.io/group": "other"}
    template = {**TEMPLATE, "metadata": {"labels": labels}}

    found = labels_of(
        pods_made(cluster(group={"template": template}))["r-g-worker-00000"], "ray.io/"
    )

    assert ("mine", "g") == (found["identifier"], found["group"])


def test_the_autoscaler_runs_beside_the_head() -> None:
    def beside(body: Body) -> list[str]:
        head = pods_made(body)["r-head-00000"]
        return [each["resources"]["requests"]["cpu"] for each in head["spec"]["containers"][1:]]

    own = {"resources": {"requests": {"cpu": "2"}}}
    assert ["500m"] == beside(cluster(enableInTreeAutoscaling=True))
    assert ["2"] == beside(cluster(enableInTreeAutoscaling=True, autoscalerOptions=own))
    assert [] == beside(cluster())


@pytest.mark.parametrize(
    ("given", "beside"),
    [
        ({"submissionMode": "SidecarMode"}, ["ray-job-submitter"]),
        ({"submissionMode": "K8sJobMode"}, []),
        ({"submissionMode": "HTTPMode"}, []),
        ({"submissionMode": "InteractiveMode"}, []),
        ({}, []),
        (
            {"submissionMode": "SidecarMode", "enableInTreeAutoscaling": True},
            ["ray-job-submitter", "autoscaler"],
        ),
    ],
)
def test_the_submitter_of_a_ray_job_runs_in_the_head_if_it_is_a_sidecar(
    given: Body, beside: list[str]
) -> None:
    given = dict(given)
    mode = {key: given.pop(key) for key in ("submissionMode",) if key in given}

    head = pods_made(made_by("RayJob", rayClusterSpec=spec(**given), **mode))["r-00000-head-00000"]

    assert beside == [each["name"] for each in head["spec"]["containers"][1:]]


@pytest.mark.parametrize(
    ("kind", "field", "serve"),
    [
        ("RayJob", "rayClusterSpec", {}),
        ("RayService", "rayClusterConfig", {"head": "false", "worker": "true"}),
    ],
)
def test_a_maker_of_a_cluster_has_the_pods_of_its_cluster(
    kind: str, field: str, serve: dict[str, str]
) -> None:
    pods = pods_made(made_by(kind, **{field: spec()}))

    assert ["r-00000-head-00000", "r-00000-g-worker-00000", "r-00000-g-worker-00001"] == [*pods]
    found = (labels_of(each, "ray.io/") for each in pods.values())
    assert serve == {each["node-type"]: each["serve"] for each in found if "serve" in each}


def test_a_cluster_that_is_there_is_not_made_again() -> None:
    maker = stored(made_by("RayJob", rayClusterSpec=spec()))
    known = {**cluster(), "metadata": {"name": "r-x7k2p", "uid": "c"}}

    assert ["r-x7k2p-head-00000"] == [*pods_made(maker, owned_by(maker, known))][:1]
    assert 3 == len(pods_made(maker, owned_by(maker, known)))


def test_the_status_names_the_cluster_of_which_the_input_has_the_pods() -> None:
    maker = {
        **stored(made_by("RayJob", rayClusterSpec=spec())),
        "status": {"rayClusterName": "r-x7k2p", "jobDeploymentStatus": "Running"},
    }
    head = pod_named("h", labels={"ray.io/cluster": "r-x7k2p", "ray.io/node-type": "head"})

    assert ["r-x7k2p-g-worker-00000", "r-x7k2p-g-worker-00001"] == [*pods_made(maker, head)]


def test_pods_that_are_there_are_not_made_again_unless_they_have_ended() -> None:
    known = stored(cluster())
    worker = {"ray.io/cluster": "r", "ray.io/node-type": "worker", "ray.io/group": "g"}
    head = {**worker, "ray.io/node-type": "head", "ray.io/group": "headgroup"}
    pods = [
        owned_by(known, pod_named("r-head-abcde", labels=head)),
        owned_by(known, pod_named("r-g-worker-00000", labels=worker)),
        owned_by(known, pod_named("r-g-worker-vwxyz", labels=worker, phase="Failed")),
    ]

    assert ["r-g-worker-00001"] == [*pods_made(known, *pods)]


@pytest.mark.parametrize(
    "body",
    [
        stored(cluster(suspend=True)),
        {**made_by("RayJob", rayClusterSpec=spec()), "status": {"jobDeploymentStatus": "Complete"}},
        made_by("RayJob", clusterSelector={"ray.io/cluster": "other"}),
        {**cluster(managedBy="kueue.x-k8s.io/multikueue")},
    ],
)
def test_what_has_ended_or_waits_makes_nothing(body: Body) -> None:
    assert [] == expanded(body)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            cluster(headGroupSpec={"template": {"spec": {}}}),
            "spec.headGroupSpec.template.spec.containers is required",
        ),
        (cluster(group={"groupName": ""}), "spec.workerGroupSpecs[0].groupName is required"),
        (
            cluster(workerGroupSpecs=[*spec()["workerGroupSpecs"] * 2]),
            (
                "spec.workerGroupSpecs[1].groupName must differ from the names of other groups "
                '(it is "g")'
            ),
        ),
        (
            cluster(group={"replicas": "two"}),
            'spec.workerGroupSpecs[0].replicas must be a whole number, not "two"',
        ),
        (made_by("RayJob"), "spec.rayClusterSpec is required"),
        (made_by("RayService"), "spec.rayClusterConfig is required"),
    ],
)
def test_what_kuberay_refuses_is_refused_by_field(body: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(body)

    assert problem == str(caught.value)
