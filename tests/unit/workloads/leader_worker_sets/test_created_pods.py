"""A LeaderWorkerSet is a StatefulSet of leaders, and one of workers for each of them."""

import hashlib
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

PREFIX = "leaderworkerset.sigs.k8s.io/"
GROUPS = {
    f"l-{group}": [f"l-{group}", *(f"l-{group}-{worker}" for worker in (1, 2))] for group in (0, 1)
}


def leader_worker_set(annotations: Body | None = None, **given: Any) -> Body:
    template = {"size": 3, "workerTemplate": TEMPLATE, **given.pop("template", {})}
    return {
        "kind": "LeaderWorkerSet",
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "metadata": {"name": "l", "annotations": annotations or {}},
        "spec": {"replicas": 2, "leaderWorkerTemplate": template, **given},
    }


def sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def test_each_group_has_a_leader_and_workers() -> None:
    pods = pods_made(leader_worker_set())

    assert {name for group in GROUPS.values() for name in group} == {*pods}
    assert ["l-0", "l-1"] == [*pods_made(leader_worker_set(template={"size": 1}))]


def test_pods_are_labelled_by_group_as_the_webhook_does() -> None:
    pods = pods_made(leader_worker_set())
    leader, worker = pods["l-1"], pods["l-1-2"]

    common = {
        "name": "l",
        "group-index": "1",
        "group-key": sha1("default/l-1"),
        "template-revision-hash": "00000",
    }
    assert {**common, "worker-index": "0"} == labels_of(leader, PREFIX)
    assert {**common, "worker-index": "2"} == labels_of(worker, PREFIX)
    assert [{"size": "3"}, {"size": "3", "leader-name": "l-1"}] == [
        annotations_of(each, PREFIX) for each in (leader, worker)
    ]


def test_the_workers_of_a_group_belong_to_its_leader() -> None:
    made = {
        (each["kind"], each["metadata"]["name"]): each for each in expanded(leader_worker_set())
    }

    assert ["StatefulSet l"] == owners_of(made["Pod", "l-0"])
    assert ["LeaderWorkerSet l"] == owners_of(made["StatefulSet", "l"])
    assert ["StatefulSet l-0"] == owners_of(made["Pod", "l-0-1"])
    assert ["Pod l-0"] == owners_of(made["StatefulSet", "l-0"])
    leader = made["Pod", "l-0"]["metadata"]["uid"]
    assert leader == made["StatefulSet", "l-0"]["metadata"]["ownerReferences"][0]["uid"]


def test_leaders_may_have_a_template_of_their_own() -> None:
    own = {"metadata": {"labels": {"role": "leader"}}, "spec": TEMPLATE["spec"]}
    pods = pods_made(leader_worker_set(template={"leaderTemplate": own}))

    assert ["leader", None] == [
        pods[name]["metadata"]["labels"].get("role") for name in ("l-0", "l-0-1")
    ]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"subGroupSize": 2}, {"l-0": "0", "l-0-1": "0", "l-0-2": "0", "l-0-3": "1", "l-0-4": "1"}),
        (
            {"subGroupSize": 2, "type": "LeaderExcluded"},
            {"l-0-1": "0", "l-0-2": "0", "l-0-3": "1", "l-0-4": "1"},
        ),
    ],
)
def test_subgroups_are_numbered(policy: Body, expected: dict[str, str]) -> None:
    template = {"size": 5, "subGroupPolicy": policy}
    pods = pods_made(leader_worker_set(template=template, replicas=1))

    found = {name: labels_of(pod, PREFIX) for name, pod in pods.items()}
    index = {
        name: labels["subgroup-index"]
        for name, labels in found.items()
        if "subgroup-index" in labels
    }
    assert expected == index
    assert sha1("l-0/1") == found["l-0-3"]["subgroup-key"]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_each_pod_is_a_subgroup_where_subgroups_have_one_pod(size: int) -> None:
    template = {"size": size, "subGroupPolicy": {"subGroupSize": 1}}
    pods = pods_made(leader_worker_set(template=template, replicas=1))

    indexes = [labels_of(pod, PREFIX)["subgroup-index"] for pod in pods.values()]
    assert [str(i) for i in range(size)] == sorted(indexes)


def test_a_group_of_its_own_domain_keeps_others_out() -> None:
    pods = pods_made(leader_worker_set({f"{PREFIX}exclusive-topology": "rack"}))

    for name in ("l-0", "l-0-1"):
        affinity = pods[name]["spec"]["affinity"]
        (near,) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (away,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert ["rack", "rack"] == [near["topologyKey"], away["topologyKey"]]
        (mine,) = near["labelSelector"]["matchExpressions"]
        assert [sha1("default/l-0")] == mine["values"]


NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n", "labels": {"rack": "r1"}},
}


@pytest.mark.parametrize(
    ("given", "leader", "workers"),
    [
        ({}, {}, 2),
        ({"startupPolicy": "LeaderReady"}, {}, 0),
        ({"startupPolicy": "LeaderReady"}, {"ready": True}, 2),
        ({"annotations": {f"{PREFIX}exclusive-topology": "rack"}}, {}, 0),
        ({}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, 0),
    ],
)
def test_on_a_cluster_workers_come_when_their_controller_makes_them(
    given: Body, leader: Body, workers: int
) -> None:
    known = stored(leader_worker_set(replicas=1, **given))
    leaders = {"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": {"name": "l"}}

    pods = pods_made(known, owned_by(leaders, pod_named("l-0", uid="p", **leader)))

    assert workers == len(pods)


def test_on_a_cluster_workers_follow_their_leader_into_its_domain() -> None:
    known = stored(leader_worker_set({f"{PREFIX}exclusive-topology": "rack"}, replicas=1))
    leader = {**pod_named("l-0", uid="p"), "spec": {"nodeName": "n"}}

    worker = pods_made(known, leader, NODE)["l-0-1"]

    assert {"rack": "r1"} == worker["spec"]["nodeSelector"]


def test_pods_that_are_there_are_not_made_again() -> None:
    known = stored(leader_worker_set())
    present = [pod_named(name, uid=name) for name in ("l-0", "l-1", "l-1-1")]

    assert {"l-0-1", "l-0-2", "l-1-2"} == {*pods_made(known, *present)}


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ({"workerTemplate": None}, "spec.leaderWorkerTemplate.workerTemplate is required"),
        ({"size": 0}, "spec.leaderWorkerTemplate.size must be at least 1, not 0"),
        (
            {"subGroupPolicy": {"subGroupSize": 4}},
            (
                "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize must be at least 1 and at "
                "most the size (3), not 4"
            ),
        ),
        (
            {"size": 8, "subGroupPolicy": {"subGroupSize": 3}},
            (
                "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize must divide the size (8) or "
                "the size less 1, not 3"
            ),
        ),
    ],
)
def test_what_the_webhook_refuses_is_refused_by_field(template: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(leader_worker_set(template=template))

    assert problem == str(caught.value)
