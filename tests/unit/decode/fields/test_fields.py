"""What cannot be read is named with its field and its value."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster, fields
from gang_scheduler.wire.base import Wire
from gang_scheduler.wire.pods import PodTemplate
from support import decoded as pod
from support.api_objects import container, node_body, pod_body

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
FIRST_EXPRESSION = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"


class Replica(Wire, frozen=True):
    """A kind of pods of a job."""

    template: PodTemplate


class ReplicaSpecs(Wire, frozen=True):
    """The kinds of pods of a job, by name."""

    specs: dict[str, Replica]


def required_terms(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def expression(operator: str, *values: Any, key: str = "zone") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (pod_body(metadata={"name": 5}), "metadata.name must be a string, not 5"),
        (
            pod_body(metadata={"annotations": {"ok": "yes", "count": 4}}),
            "metadata.annotations[count] must be a string, not 4",
        ),
        (
            pod_body(metadata={"annotations": {"ok": "yes", "on": True}}),
            "metadata.annotations[on] must be a string, not true",
        ),
        (
            pod_body(metadata={"annotations": {"spec": {"gatherStrategy": []}}}),
            'metadata.annotations[spec] must be a string, not {"gatherStrategy": []}',
        ),
        (
            pod_body(metadata={"labels": {"pod-group.scheduling.sigs.k8s.io": 7}}),
            "metadata.labels[pod-group.scheduling.sigs.k8s.io] must be a string, not 7",
        ),
        (pod_body(metadata={"labels": ["a"]}), 'metadata.labels must be an object, not ["a"]'),
        (pod_body(priority="high"), 'spec.priority must be a whole number or absent, not "high"'),
        (
            pod_body(containers=[container(), container("b", requests={"cpu": "x"})]),
            'spec.containers[1].resources.requests.cpu must be a quantity, not "x"',
        ),
        (
            pod_body(containers=[container(requests={"cpu": -1})]),
            "spec.containers[0].resources.requests.cpu must be at least 0, not -1",
        ),
        (pod_body(containers=[3]), "spec.containers[0] must be an object, not 3"),
        (
            pod_body(containers=[container(ports=[{"hostPort": "80"}])]),
            'spec.containers[0].ports[0].hostPort must be a whole number, not "80"',
        ),
        (pod_body(affinity="zone-a"), 'spec.affinity must be an object, not "zone-a"'),
        (
            pod_body(affinity=required_terms({"matchExpressions": [expression("In", 4)]})),
            f"{FIRST_EXPRESSION}.values[0] must be a string, not 4",
        ),
        (node_body(unschedulable="yes"), 'spec.unschedulable must be true or false, not "yes"'),
        (
            node_body(status={"allocatable": {"cpu": "1", "memory": [1]}}),
            "status.allocatable[memory] must be a whole number or a number or a string, not [1]",
        ),
        (node_body(taints={"key": "a"}), 'spec.taints must be a list, not {"key": "a"}'),
    ],
)
def test_a_wrong_type_is_named_with_field_and_value(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidField) as caught:
        (cluster.read_node if body["kind"] == "Node" else pod.pod)(body)

    assert sentence == str(caught.value)


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        (pod_body(status={"phase": "Bogus"}), "status.phase", "Bogus"),
        (
            pod_body(affinity=required_terms({"matchExpressions": [expression("Near", "a")]})),
            f"{FIRST_EXPRESSION}.operator",
            "Near",
        ),
        (
            pod_body(topologySpreadConstraints=[{"whenUnsatisfiable": "Never"}]),
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
            "Never",
        ),
    ],
)
def test_an_unknown_word_is_named_with_field_and_value(
    body: dict[str, Any], field: str, value: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        pod.pod(body)

    assert (field, value) == (caught.value.field, caught.value.value)


@pytest.mark.parametrize("body", [{}, {"spec": {}}, {"metadata": None}])
def test_an_object_without_metadata_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidField):
        pod.pod(body)


@pytest.mark.parametrize(
    ("replicas", "sentence"),
    [
        (
            {"Launcher": {"template": {}}, "Worker": {"template": {"spec": {"containers": "x"}}}},
            'specs[Worker].template.spec.containers must be a list, not "x"',
        ),
        (
            {
                "Master": {"template": {"spec": {"containers": []}}},
                "Worker": {"template": {"spec": {"containers": ["x"]}}},
            },
            'specs[Worker].template.spec.containers[0] must be an object, not "x"',
        ),
        (
            {
                "Master": {"template": {"spec": {"containers": [{}]}}},
                "Worker": {"template": {"spec": {"containers": [3]}}},
            },
            "specs[Worker].template.spec.containers[0] must be an object, not 3",
        ),
    ],
)
def test_the_entry_of_a_map_is_named_in_which_something_is_wrong(
    replicas: dict[str, Any], sentence: str
) -> None:
    """Msgspec says only that it is in one of them."""
    with pytest.raises(InvalidField) as caught:
        fields.read({"specs": replicas}, ReplicaSpecs)

    assert sentence == str(caught.value)
