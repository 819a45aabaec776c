"""Which pods of a JobSet come only after the first one of their Job. Decisions: tests/cases."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.wire.base import Metadata
from gang_scheduler.workloads import exclusive_topology, job_sets
from gang_scheduler.workloads.job_sets import jobs_of
from support.expansion import TEMPLATE, Body, annotations_of, pods_made, stored

LAYER = "alpha.jobset.sigs.k8s.io/exclusive-topology"
BY_HAND = "alpha.jobset.sigs.k8s.io/node-selector"
GANG: Body = {**TEMPLATE, "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}}}


def job_set(of_set: Body, of_template: Body, *, pods: int = 4, replicas: int = 2) -> Body:
    spec = {"parallelism": pods, "completions": pods, "template": GANG}
    template = {"metadata": {"annotations": of_template}, "spec": spec}
    return {
        "kind": "JobSet",
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "metadata": {"name": "s", "uid": "u", "namespace": "default", "annotations": of_set},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": replicas, "template": template}]},
    }


def gang(of_set: Body, of_template: Body, **size: int) -> GangSpec:
    (found,) = job_sets.read(job_set(of_set, of_template, **size)).gang_specs
    return found


@pytest.mark.parametrize(
    ("of_set", "of_template", "layer", "held_back"),
    [
        ({}, {}, "", 0),
        ({LAYER: "rack"}, {}, "rack", 3),
        ({}, {LAYER: "rack"}, "rack", 3),
        ({LAYER: "rack"}, {LAYER: "block"}, "block", 3),
        ({LAYER: "cloud.google.com/gke-nodepool"}, {}, "cloud.google.com/gke-nodepool", 3),
        ({LAYER: "rack", BY_HAND: "true"}, {}, "", 0),
        ({LAYER: "rack", BY_HAND: ""}, {}, "", 0),
        ({}, {LAYER: "rack", BY_HAND: "false"}, "", 0),
        ({LAYER: "rack"}, {BY_HAND: "true"}, "rack", 3),
        ({BY_HAND: "true"}, {LAYER: "rack"}, "rack", 3),
        ({BY_HAND: "true"}, {}, "", 0),
        ({LAYER: ""}, {}, "", 0),
    ],
)
def test_which_jobs_hold_pods_back(
    of_set: Body, of_template: Body, layer: str, held_back: int
) -> None:
    said = exclusive_topology.said_by(
        Metadata(annotations={**of_set}), Metadata(annotations={**of_template})
    )

    assert layer == exclusive_topology.layer_of(said)
    found = gang(of_set, of_template)
    assert (held_back, 8) == (found.held_back, found.min_member)
    assert bool(held_back) == bool(found.min_resources)


def test_a_job_of_one_pod_holds_none_back() -> None:
    assert 0 == gang({LAYER: "rack"}, {}, pods=1).held_back


def test_pods_of_a_manifest_are_those_that_the_webhook_makes() -> None:
    pods = pods_made(job_set({LAYER: "rack"}, {}))

    assert {"rack"} == {annotations_of(each, LAYER)[""] for each in pods.values()}
    assert all(terms(each, "podAffinity") for each in pods.values())
    (apart,) = terms(pods["s-w-1-0"], "podAntiAffinity")
    assert ("rack", {}) == (apart["topologyKey"], apart["namespaceSelector"])


def priority_class(name: str, value: int, **more: bool) -> Body:
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


HIGH, USUAL = priority_class("high", 100), priority_class("usual", 5, globalDefault=True)


@pytest.mark.parametrize(
    ("of_pods", "classes", "priority"),
    [
        ({}, [], "0"),
        ({"priority": 7}, [], "7"),
        ({"priorityClassName": "high"}, [HIGH, USUAL], "100"),
        ({}, [HIGH, USUAL], "5"),
        ({"priorityClassName": "unknown"}, [HIGH], "0"),
    ],
)
def test_jobs_of_another_priority_are_not_kept_out(
    of_pods: Body, classes: list[Body], priority: str
) -> None:
    body = job_set({LAYER: "rack"}, {})
    template = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    template["template"] = {**GANG, "spec": {**GANG["spec"], **of_pods}}
    first = pods_made(body, *classes)["s-w-0-0"]
    (apart,) = terms(first, "podAntiAffinity")

    assert priority == first["metadata"]["labels"]["jobset.sigs.k8s.io/priority"]
    alike = {"key": "jobset.sigs.k8s.io/priority", "operator": "In", "values": [priority]}
    assert alike in apart["labelSelector"]["matchExpressions"]


@pytest.mark.parametrize(("of_set", "labelled"), [({}, True), ({LAYER: "r", BY_HAND: ""}, False)])
def test_which_pods_are_labelled_by_their_priority(of_set: Body, *, labelled: bool) -> None:
    pods = pods_made(job_set(of_set, {}))

    assert {labelled} == {
        "jobset.sigs.k8s.io/priority" in each["metadata"]["labels"] for each in pods.values()
    }


def without_indexes(of_set: Body) -> Body:
    body = job_set(of_set, {})
    body["spec"]["replicatedJobs"][0]["template"]["spec"]["completionMode"] = "NonIndexed"
    return {**body, "metadata": {"name": "s", "annotations": of_set}}


def test_pods_without_an_index_would_follow_none() -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(without_indexes({LAYER: "rack"}))

    assert str(caught.value) == (
        "spec.replicatedJobs[0].template.spec.completionMode must be Indexed with "
        f'{LAYER}, as JobSet refuses pods without an index (it is "NonIndexed")'
    )
    assert {} == pods_made(stored(without_indexes({LAYER: "rack"})))


@pytest.mark.parametrize("of_set", [{}, {LAYER: "rack", BY_HAND: "true"}])
def test_pods_without_an_index_that_follow_none_are_made(of_set: Body) -> None:
    assert 8 == len(pods_made(without_indexes(of_set)))


def test_on_a_cluster_only_the_first_pods_are_made() -> None:
    pods = pods_made(stored(job_set({LAYER: "rack"}, {})))

    assert ["s-w-0-0", "s-w-1-0"] == [*pods]


@pytest.mark.parametrize(
    ("status", "labels", "made"),
    [
        ({"phase": "Running"}, {"rack": "r1"}, 3),
        ({"phase": "Running"}, {}, 0),
        ({"phase": "Failed"}, {"rack": "r1"}, 1),
    ],
)
def test_the_others_go_where_the_first_one_is(status: Body, labels: Body, made: int) -> None:
    source = stored(job_set({LAYER: "rack"}, {}, replicas=1), "u")
    (job,) = jobs_of(source)
    first = pods_made(source)["s-w-0-0"]
    bound: dict[str, Any] = {**first, "status": status}
    bound["spec"] = {**first["spec"], "nodeName": "n"}
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "labels": labels}}

    pods = pods_made(source, stored(job, job["metadata"]["uid"]), stored(bound, "p"), node)

    assert made == len(pods)
    assert made < 3 or {"r1"} == {each["spec"]["nodeSelector"]["rack"] for each in pods.values()}


def terms(pod: Body, kind: str) -> list[Body]:
    found: list[Body] = pod["spec"]["affinity"][kind][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    return found
