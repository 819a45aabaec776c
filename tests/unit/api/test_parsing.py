"""A stored object is read, or the field that is wrong is named with its value."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField, parse_spec
from gang_scheduler.api.pod_group import Phase, PodGroup, PodGroupStatus
from gang_scheduler.api.topology import ClusterNetworkTopology


def pod_group(spec: Any, **others: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "team"}, "spec": spec, **others}


def topology(*layers: Any) -> dict[str, Any]:
    return {"metadata": {"name": "default"}, "spec": {"networkTopologySpec": list(layers)}}


def refusal(kind: type[PodGroup] | type[ClusterNetworkTopology], obj: dict[str, Any]) -> str:
    with pytest.raises(InvalidField) as caught:
        parse_spec(kind, obj)
    return str(caught.value)


def test_an_invalid_field_carries_field_value_and_problem() -> None:
    with pytest.raises(InvalidField) as caught:
        parse_spec(PodGroup, pod_group({"minMember": "three"}))

    found = (caught.value.field, caught.value.value, caught.value.problem)
    assert ("spec.minMember", "three", "must be a whole number") == found


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"minMember": "three"}, 'spec.minMember must be a whole number, not "three"'),
        ({"minMember": "3"}, 'spec.minMember must be a whole number, not "3"'),
        ({"minMember": True}, "spec.minMember must be a whole number, not true"),
        ({"minMember": 2.5}, "spec.minMember must be a whole number, not 2.5"),
        ({"minMember": [3]}, "spec.minMember must be a whole number, not [3]"),
        ({"minMember": 0}, "spec.minMember must be at least 1, not 0"),
        ({"minMember": 2**31}, "spec.minMember must be at most 2147483647, not 2147483648"),
        ({"minMember": None}, "spec.minMember is required"),
        ({}, "spec.minMember is required"),
        ("minMember: 3", 'spec must be an object, not "minMember: 3"'),
        (None, "spec is required"),
        (
            {"minMember": 1, "scheduleTimeoutSeconds": -1},
            "spec.scheduleTimeoutSeconds must be at least 0, not -1",
        ),
        (
            {"minMember": 1, "scheduleTimeoutSeconds": "10m"},
            'spec.scheduleTimeoutSeconds must be a whole number, not "10m"',
        ),
        (
            {"minMember": 1, "minResources": {"nvidia.com/gpu": "eight"}},
            'spec.minResources[nvidia.com/gpu] must be a quantity such as 4 or "16Gi", not "eight"',
        ),
        (
            {"minMember": 1, "minResources": {"cpu": 0.5}},
            'spec.minResources.cpu must be a quantity such as 4 or "16Gi", not 0.5',
        ),
        (
            {"minMember": 1, "minResources": ["cpu"]},
            'spec.minResources must be an object, not ["cpu"]',
        ),
        (
            {"minMember": 1, "minResources": {1: 2}},
            "spec.minResources[1] must be a string, not 1",
        ),
    ],
)
def test_a_bad_pod_group_is_refused_in_a_sentence(spec: Any, sentence: str) -> None:
    assert sentence == refusal(PodGroup, pod_group(spec))


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        ([{}], "spec.networkTopologySpec[0].topologyLayer is required"),
        (
            [{"topologyLayer": ""}],
            "spec.networkTopologySpec[0].topologyLayer must not be empty",
        ),
        (
            [{"topologyLayer": "A", "labelKey": ["x", ""]}],
            "spec.networkTopologySpec[0].labelKey[1] must not be empty",
        ),
        (
            [{"topologyLayer": "A", "labelKey": "x"}],
            'spec.networkTopologySpec[0].labelKey must be a list, not "x"',
        ),
        (
            [{"topologyLayer": "A"}, "B"],
            'spec.networkTopologySpec[1] must be an object, not "B"',
        ),
    ],
)
def test_a_bad_topology_is_refused_in_a_sentence(layers: list[Any], sentence: str) -> None:
    assert sentence == refusal(ClusterNetworkTopology, topology(*layers))


def test_a_topology_that_makes_no_sense_is_read() -> None:
    """Its meaning is judged later, and answered by a condition."""
    twice = {"topologyLayer": "A", "parentTopologyLayer": "A", "labelKey": ["x", "x"]}

    parsed = parse_spec(ClusterNetworkTopology, topology(twice, twice))

    assert 2 == len(parsed.spec.network_topology_spec)


def test_a_topology_without_layers_is_read() -> None:
    assert () == parse_spec(ClusterNetworkTopology, {"spec": {}}).spec.network_topology_spec


def test_a_long_value_is_shown_only_in_part() -> None:
    sentence = refusal(PodGroup, pod_group({"minMember": "x" * 10_000}))

    assert sentence.endswith("xxx...")
    assert len(sentence) < 200


def test_what_a_problem_says_of_other_fields_is_shown_only_in_part() -> None:
    covered = "9" * 24_000

    told = str(InvalidField("spec.resources", ["cpu"], f"must be those covered: {covered}"))

    assert told.startswith("spec.resources must be those covered: 999")
    assert told.endswith('999..., not ["cpu"]')
    assert len(told) < 3000


def test_quantities_are_kept_as_they_were_written() -> None:
    wanted = {"cpu": 4, "memory": "16Gi", "nvidia.com/gpu": "8", "example.com/x": "1e3"}

    parsed = parse_spec(PodGroup, pod_group({"minMember": 1, "minResources": wanted}))

    assert wanted == parsed.spec.min_resources


def test_null_is_the_same_as_absent() -> None:
    spec = {"minMember": 2, "scheduleTimeoutSeconds": None, "minResources": {"cpu": None}}

    parsed = parse_spec(PodGroup, pod_group(spec, status=None))

    assert (None, {}) == (parsed.spec.schedule_timeout_seconds, parsed.spec.min_resources)


def test_fields_of_another_product_are_ignored() -> None:
    obj = pod_group(
        {"minMember": 2, "queue": "research"}, apiVersion="scheduling.x-k8s.io/v1alpha1"
    )

    assert 2 == parse_spec(PodGroup, obj).spec.min_member


@pytest.mark.parametrize("status", ["Running", ["x"], 3, {"phase": "Dreaming", "members": "many"}])
def test_a_bad_status_never_invalidates_a_gang(status: Any) -> None:
    parsed = parse_spec(PodGroup, pod_group({"minMember": 2}, status=status))

    assert PodGroupStatus() == parsed.status


def test_the_readable_part_of_a_bad_status_is_kept() -> None:
    status = {"phase": "Running", "members": 4, "conditions": [{"type": "Scheduled"}], "failed": -1}

    parsed = parse_spec(PodGroup, pod_group({"minMember": 2}, status=status))

    assert PodGroupStatus(phase=Phase.RUNNING, members=4) == parsed.status


def test_an_invalid_field_can_be_raised_and_grouped_like_any_exception() -> None:
    problem = InvalidField("spec.minMember", 0, "must be at least 1")

    assert (problem,) == ExceptionGroup("several", [problem]).exceptions
