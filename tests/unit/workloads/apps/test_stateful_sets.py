"""StatefulSets whose pods are to be a gang."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import (
    ELASTIC,
    GANG_MODE,
    JOB_GANG_LABEL,
    NETWORK_TOPOLOGY_SPEC,
    QUEUE,
)
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.refs import GangKey, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import apps
from support import decoded
from support.api_objects import pod_body

LABEL = {"labels": {JOB_GANG_LABEL: "true"}}


def set_body(template: dict[str, Any], labels: Any = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "namespace": "ns", "uid": "u", "labels": labels or {}},
        "spec": {"podManagementPolicy": "Parallel", "template": {"metadata": template}, **spec},
    }


def gang_of(template: dict[str, Any], **fields: Any) -> GangSpec:
    (found,) = apps.read_stateful_set(set_body(template, **fields)).gang_specs
    return found


def wrong(template: dict[str, Any], **fields: Any) -> str:
    problem = gang_of(template, **fields).problem
    return text_of(problem.cause) if problem is not None else ""


@pytest.mark.parametrize(("replicas", "quorum"), [({}, 1), ({"replicas": 20}, 20)])
def test_all_replicas_are_the_quorum(replicas: dict[str, int], quorum: int) -> None:
    gang = gang_of(LABEL, **replicas)

    assert GangKey("StatefulSet", "ns", "web") == gang.key
    assert (quorum, None) == (gang.min_member, gang.problem)


@pytest.mark.parametrize("template", [{}, {"labels": {JOB_GANG_LABEL: "false"}}])
def test_without_the_label_it_is_no_gang(template: dict[str, Any]) -> None:
    assert () == apps.read_stateful_set(set_body(template)).gang_specs


def test_without_replicas_it_is_no_gang() -> None:
    assert () == apps.read_stateful_set(set_body(LABEL, replicas=0)).gang_specs


def test_a_topology_request_makes_a_gang_too() -> None:
    layers = '{"gatherStrategy": [{"layer": "rack", "strategy": "MustGather"}]}'

    assert gang_of({"annotations": {NETWORK_TOPOLOGY_SPEC: layers}}).topology_request is not None


def test_pods_that_are_created_in_order_are_no_gang() -> None:
    said = wrong(LABEL, podManagementPolicy="OrderedReady")

    assert 'spec.podManagementPolicy must be Parallel for a gang, not "OrderedReady"' == said


def test_all_faults_are_said_at_once() -> None:
    template = {**LABEL, "annotations": {GANG_MODE: "strict", NETWORK_TOPOLOGY_SPEC: "{"}}

    said = wrong(template, podManagementPolicy="OrderedReady")

    assert all(key in said for key in ("podManagementPolicy", GANG_MODE, NETWORK_TOPOLOGY_SPEC))


def test_it_says_its_queue() -> None:
    expected = QueueRequest((QueueName(QueueNameKind.QUEUE, "q"),))
    assert expected == gang_of(LABEL, labels={QUEUE: "q"}).queue_request


def test_the_label_beside_the_template_is_misplaced() -> None:
    found = apps.read_stateful_set(set_body({}, labels={JOB_GANG_LABEL: "true"})).misplaced

    assert found is not None
    assert "belongs in spec.template.metadata.labels" in text_of(found.problem.cause)


@pytest.mark.parametrize(
    ("api_version", "kind", "source"),
    [
        ("apps/v1", "StatefulSet", "StatefulSet"),
        ("apps.kruise.io/v1beta1", "StatefulSet", "Pod"),
        ("apps/v1", "ReplicaSet", "Pod"),
    ],
)
def test_pods_are_those_of_stateful_sets_of_kubernetes(
    api_version: str, kind: str, source: str
) -> None:
    owner = {"apiVersion": api_version, "kind": kind, "name": "web", "controller": True}

    found = decoded.pod(pod_body("web-0", metadata={**LABEL, "ownerReferences": [owner]}))

    assert source == found.gang.source


@pytest.mark.parametrize("mode", ["Bind", "Replicas"])
def test_an_elastic_one_needs_its_least_workers_whatever_has_the_annotation(mode: str) -> None:
    said = {ELASTIC: f'{{"minWorkers": 2, "maxWorkers": 8, "mode": "{mode}"}}'}
    body = set_body(LABEL, replicas=4)
    body["metadata"]["annotations"] = said
    elastic = Elastic(2, 8, by_replicas=mode == "Replicas")

    (of_set,) = apps.read_stateful_set(body).gang_specs
    of_template = gang_of({**LABEL, "annotations": said}, replicas=4)

    for each in (of_set, of_template):
        assert (elastic, 2, None) == (each.elastic, each.min_member, each.problem)


@pytest.mark.parametrize(("spec", "expected"), [({}, True), ({"ordinals": {"start": 3}}, False)])
def test_the_ordinals_that_end_first_are_known_where_they_are_indexes(
    spec: dict[str, Any], *, expected: bool
) -> None:
    field = apps.STATEFUL_SET.replicas

    assert field is not None
    assert expected == field.drops_highest(set_body(LABEL, **spec))
    assert field.same_number_field(set_body(LABEL)) is None
