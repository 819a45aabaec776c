"""StatefulSets number their pods; ReplicaSets, also those of Deployments, count them."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    TEMPLATE,
    Body,
    expanded,
    labels_of,
    owned_by,
    owners_of,
    pod_named,
    pods_made,
    stored,
)

SELECTOR = {"matchLabels": {"app": "a"}}


def workload(kind: str, **spec: Any) -> Body:
    return {
        "kind": kind,
        "apiVersion": "apps/v1",
        "metadata": {"name": "a"},
        "spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE, **spec},
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (workload("StatefulSet"), ["a-0", "a-1"]),
        (workload("StatefulSet", ordinals={"start": 5}), ["a-5", "a-6"]),
        (workload("StatefulSet", replicas=None), ["a-0"]),
        (workload("ReplicaSet"), ["a-00000", "a-00001"]),
        (workload("Deployment"), ["a-00000-00000", "a-00000-00001"]),
        (workload("Deployment", replicas=0), []),
    ],
)
def test_each_replica_is_a_pod(body: Body, expected: list[str]) -> None:
    assert expected == [*pods_made(body)]


def test_pods_are_labelled_and_owned_as_by_their_controllers() -> None:
    first = pods_made(workload("StatefulSet"))["a-0"]
    pod = pods_made(workload("Deployment"))["a-00000-00000"]

    assert {"pod-index": "0"} == labels_of(first, "apps.kubernetes.io/")
    assert {"pod-name": "a-0"} == labels_of(first, "statefulset.kubernetes.io/")
    assert {"app": "a", "pod-template-hash": "00000"} == pod["metadata"]["labels"]
    assert [["StatefulSet a"], ["ReplicaSet a-00000"]] == [owners_of(first), owners_of(pod)]


def test_a_stateful_set_has_a_claim_a_pod() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}

    made = expanded(workload("StatefulSet", volumeClaimTemplates=[claim], replicas=1))

    assert ["data-a-0", "a-0"] == [each["metadata"]["name"] for each in made]
    claimed = {"name": "data", "persistentVolumeClaim": {"claimName": "data-a-0"}}
    assert [claimed] == made[1]["spec"]["volumes"]


@pytest.mark.parametrize(
    ("spec", "present", "expected"),
    [
        ({"podManagementPolicy": "Parallel"}, [pod_named("a-1")], ["a-0", "a-2"]),
        ({}, [pod_named("a-0")], []),
        ({}, [pod_named("a-0", ready=True)], ["a-1"]),
        ({}, [], ["a-0"]),
    ],
)
def test_on_a_cluster_a_stateful_set_goes_on_as_its_policy_says(
    spec: Body, present: list[Body], expected: list[str]
) -> None:
    known = stored(workload("StatefulSet", **{"replicas": 3, **spec}))

    assert expected == [*pods_made(known, *(owned_by(known, each) for each in present))]


def test_a_replica_set_replaces_what_has_ended_or_leaves() -> None:
    known = stored(workload("ReplicaSet", replicas=3))
    leaves = pod_named("a-yyyyy", deletionTimestamp="2026-01-01T00:00:00Z")
    pods = [pod_named("a-xxxxx"), leaves, pod_named("a-00000", phase="Failed")]

    assert ["a-00001", "a-00002"] == [*pods_made(known, *(owned_by(known, each) for each in pods))]


def test_pods_without_a_controller_are_those_that_the_selector_names() -> None:
    assert ["a-00000"] == [*pods_made(workload("ReplicaSet"), pod_named("x", labels={"app": "a"}))]


def test_a_deployment_in_a_dump_has_its_replica_sets() -> None:
    known = stored(workload("Deployment"))
    replicas = {**workload("ReplicaSet"), "metadata": {"name": "a-7d9c6", "uid": "r"}}
    own = owned_by(known, replicas)
    pods = [owned_by(own, pod_named(f"a-7d9c6-{i}", uid=str(i))) for i in range(2)]

    assert {} == pods_made(known, own, *pods)


@pytest.mark.parametrize(("number", "expected"), [(2, []), (1, ["a-7d9c6-00000"])])
def test_a_dump_without_replica_sets_tells_them_by_their_pods(
    number: int, expected: list[str]
) -> None:
    known = stored(workload("Deployment"))
    replicas = {**workload("ReplicaSet"), "metadata": {"name": "a-7d9c6", "uid": "r"}}
    other = {**workload("ReplicaSet"), "metadata": {"name": "a-b-55555", "uid": "o"}}
    pods = [owned_by(replicas, pod_named(f"a-7d9c6-{i}x", uid=str(i))) for i in range(number)]

    found = pods_made(known, *pods, owned_by(other, pod_named("a-b-55555-z", uid="z")))

    assert expected == [*found]


def test_a_rollout_is_not_made_twice() -> None:
    known = stored(workload("Deployment", replicas=3))
    old, new = (
        {**workload("ReplicaSet"), "metadata": {"name": name, "uid": name}}
        for name in ("a-11111", "a-22222")
    )
    pods = [
        owned_by(old, pod_named("a-11111-x", uid="x")),
        owned_by(new, pod_named("a-22222-y", uid="y")),
    ]

    assert ["a-11111-00000"] == [*pods_made(known, *pods)]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"selector": None}, "spec.selector is required"),
        ({"template": None}, "spec.template is required"),
        (
            {"selector": {"matchLabels": {"app": "b"}}},
            'spec.template.metadata.labels[app] must be "b" as in spec.selector.matchLabels',
        ),
        ({"replicas": -1}, "spec.replicas must be at least 0, not -1"),
        ({"replicas": 10**6}, "spec.replicas must be at most 100000 here, not 1000000"),
    ],
)
@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet", "Deployment"])
def test_what_an_api_server_refuses_is_refused_by_field(
    kind: str, spec: Body, problem: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(workload(kind, **spec))

    assert str(caught.value).startswith(problem)
