"""A PodGroup says what its gang needs, or what is wrong with it."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_GROUPS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs import pod_groups, specs
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.causes.specs import FieldsUnsupported, InvalidInput
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from support.api_objects import pod_group_body
from support.builders import gang_key

NOW = "2026-01-02T03:04:05Z"
SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"


def condition(kind: str, status: str) -> dict[str, Any]:
    words = {"reason": "Because", "message": "", "lastTransitionTime": NOW}
    return {"type": kind, "status": status, **words}


def test_a_pod_group_is_read() -> None:
    body = pod_group_body(
        min_member=4,
        scheduleTimeoutSeconds=60,
        metadata={"generation": 3, "creationTimestamp": NOW},
    )

    expected = GangSpec(
        key=gang_key("a"),
        uid="uid-a",
        gvr=POD_GROUPS,
        generation=3,
        created_at=1767323045,
        min_member=4,
        options=GangOptions(timeout_seconds=60),
    )
    assert expected == pod_groups.pod_group(body)


def test_the_api_group_tells_two_pod_groups_of_one_name_apart() -> None:
    ours = pod_groups.pod_group(pod_group_body())
    theirs = pod_groups.pod_group(pod_group_body(api_version="scheduling.x-k8s.io/v1alpha1"))

    assert ours.key == theirs.key
    assert (POD_GROUPS, SCHED_PLUGINS_POD_GROUPS) == (ours.gvr, theirs.gvr)


@pytest.mark.parametrize(
    ("conditions", "was_scheduled"),
    [
        ([condition("Scheduled", "True")], True),
        ([condition("Scheduled", "False")], False),
        ([condition("Preempted", "True")], False),
        ([], False),
    ],
)
def test_the_status_says_whether_the_gang_was_whole_once(
    conditions: list[dict[str, Any]], *, was_scheduled: bool
) -> None:
    body = pod_group_body(status={"conditions": conditions})

    assert was_scheduled == pod_groups.pod_group(body).was_scheduled


@pytest.mark.parametrize("status", [None, "Running", {"phase": "Odd"}, {"members": "many"}])
def test_a_status_that_cannot_be_read_is_no_problem(status: Any) -> None:
    found = pod_groups.pod_group({**pod_group_body(min_member=2), "status": status})

    assert (2, None) == (found.min_member, found.problem)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (pod_group_body(min_member=0), "spec.minMember must be at least 1, not 0"),
        (pod_group_body(min_member="4"), 'spec.minMember must be a whole number, not "4"'),
        (pod_group_body(min_member=None), "spec.minMember is required"),
        ({**pod_group_body(), "spec": None}, "spec is required"),
        (
            pod_group_body(scheduleTimeoutSeconds=-1),
            "spec.scheduleTimeoutSeconds must be at least 0, not -1",
        ),
        (
            pod_group_body(minResources={"cpu": "many"}),
            'spec.minResources.cpu must be a quantity such as 4 or "16Gi", not "many"',
        ),
    ],
)
def test_what_is_invalid_becomes_the_problem(body: dict[str, Any], message: str) -> None:
    found = pod_groups.pod_group(body)

    assert Problem(Reason.INVALID_SPEC, InvalidInput(message)) == found.problem
    assert (gang_key("a"), "uid-a", 1) == (found.key, found.uid, found.min_member)


def test_what_is_asked_of_the_network_is_read() -> None:
    rules = '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather"}]}'

    found = pod_groups.pod_group(pod_group_body(metadata={"annotations": {SPEC: rules}}))

    assert (TopologyRequest(must=(LayerRef("SpineLayer"),)), None) == (
        found.topology_request,
        found.problem,
    )


def test_what_is_wrong_with_it_becomes_the_problem() -> None:
    found = pod_groups.pod_group(pod_group_body(metadata={"annotations": {SPEC: "x"}}))

    words = f'metadata.annotations[{SPEC}] must be JSON, not "x"'
    wrong = Problem(Reason.INVALID_SPEC, InvalidInput(words))
    assert (wrong, None) == (found.problem, found.topology_request)


def test_other_annotations_are_no_problem() -> None:
    annotation = {"gang.scheduling.koordinator.sh/mode": "Strict", "example.com/a": "b"}

    assert (
        pod_groups.pod_group(pod_group_body(metadata={"annotations": annotation})).problem is None
    )


def test_the_key_of_a_pod_group_needs_its_metadata_only() -> None:
    assert gang_key("a") == specs.key_of({"metadata": pod_group_body()["metadata"]}, "PodGroup")


@pytest.mark.parametrize(
    ("mode", "is_whole"),
    [
        ({"all": {}}, True),
        ({"single": {}}, False),
        ({}, False),
        (None, False),
        ("PodGroup", True),
        ("Pod", False),
    ],
)
def test_a_native_pod_group_says_whether_it_is_disrupted_as_a_whole(
    mode: Any,
    is_whole: bool,  # noqa: FBT001 - a row of a table.
) -> None:
    body = pod_group_body(api_version="scheduling.k8s.io/v1beta1", disruptionMode=mode)

    assert is_whole == pod_groups.native_pod_group(body).disrupted_whole


@pytest.mark.parametrize("api_version", ["scheduling.sigs.k8s.io/v1alpha1", "scheduling.k8s.io/v1"])
def test_a_pod_group_can_ask_for_a_minimum_run_time(api_version: str) -> None:
    wanted = {"annotations": {"py-gang-scheduler.io/min-runtime": "1m30s"}}
    body = pod_group_body(api_version=api_version, metadata=wanted)
    read = {"scheduling.k8s.io": pod_groups.native_pod_group}.get(
        api_version.partition("/")[0], pod_groups.pod_group
    )

    assert 90 == read(body).options.min_runtime_seconds


@pytest.mark.parametrize("api_version", ["scheduling.sigs.k8s.io/v1alpha1", "scheduling.k8s.io/v1"])
@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("soon", None)])
def test_a_pod_group_can_let_stuck_pods_be_removed(
    api_version: str, text: str, seconds: int | None
) -> None:
    wanted = {"annotations": {"py-gang-scheduler.io/force-delete-stuck-pods": text}}
    body = pod_group_body(api_version=api_version, metadata=wanted)
    read = {"scheduling.k8s.io": pod_groups.native_pod_group}.get(
        api_version.partition("/")[0], pod_groups.pod_group
    )

    found = read(body)

    assert (seconds, seconds is None) == (
        found.options.force_delete_seconds,
        found.problem is not None,
    )


def test_all_that_is_wrong_with_a_native_pod_group_is_said_at_once() -> None:
    body = pod_group_body(
        api_version="scheduling.k8s.io/v1",
        metadata={
            "annotations": {
                "py-gang-scheduler.io/min-runtime": "soon",
                "gang.scheduling.koordinator.sh/mode": "Strict",
            }
        },
    )
    policy = {"gang": {"minCount": 0}}
    body["spec"] = {
        "schedulingPolicy": policy,
        "schedulingConstraints": {"topology": [{"key": "a b"}]},
        "parentCompositePodGroupName": "all",
    }

    problem = pod_groups.native_pod_group(body).problem

    assert problem is not None
    assert isinstance(problem.cause, InvalidInput)
    expected = [
        "metadata.annotations[gang.scheduling.koordinator.sh/mode]",
        "spec.schedulingPolicy.gang.minCount",
        "metadata.annotations[py-gang-scheduler.io/min-runtime]",
        "spec.schedulingConstraints.topology[0].key",
        "spec.parentCompositePodGroupName",
    ]
    assert expected == [each.split(" ")[0] for each in problem.cause.message.split("; ")]


def test_all_fields_of_a_native_pod_group_that_cannot_be_honoured_are_named() -> None:
    body = pod_group_body(api_version="scheduling.k8s.io/v1")
    body["spec"] = {
        "parentCompositePodGroupName": "all",
        "schedulingConstraints": {"topology": [{"key": "rack", "mode": "x"}]},
    }

    problem = pod_groups.native_pod_group(body).problem

    where = ("spec.schedulingConstraints.topology[0].mode", "spec.parentCompositePodGroupName")
    assert Problem(Reason.UNSUPPORTED_FEATURE, FieldsUnsupported(where)) == problem


def test_claims_of_a_native_pod_group_are_those_that_its_pods_may_name() -> None:
    body = pod_group_body(api_version="scheduling.k8s.io/v1")
    body["spec"] = {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "resourceClaims": [
            {"name": "channel", "resourceClaimTemplateName": "t"},
            {"name": "data", "resourceClaimName": "d"},
        ],
    }

    found = pod_groups.native_pod_group(body)

    assert found.problem is None
    assert (PodClaim("channel", "", "t"), PodClaim("data", "d")) == found.claims


@pytest.mark.parametrize(
    ("status", "scaled"),
    [
        ({"lastScaleTime": NOW, "now": 5, "lastScale": -2}, (1767323045, 5, -2, "None")),
        (
            {"lastScaleTime": NOW, "now": 5, "lastScale": 3, "reason": "RoomFree"},
            (1767323045, 5, 3, "RoomFree"),
        ),
        ({"now": 5, "lastScale": 3}, None),
        ({"lastScaleTime": "soon", "now": 5, "lastScale": 3}, None),
        ({"lastScaleTime": NOW, "now": "5", "lastScale": 3}, None),
        ("text", None),
    ],
)
def test_a_status_tells_when_an_elastic_gang_last_changed(status: Any, scaled: Any) -> None:
    body = {**pod_group_body(), "status": {"elastic": status}}

    assert scaled == pod_groups.pod_group(body).scaled


def test_a_pod_group_may_say_how_its_gang_grows() -> None:
    said = {"py-gang-scheduler.io/elastic": '{"minWorkers": 2, "maxWorkers": 4}'}

    fine = pod_groups.pod_group(pod_group_body(min_member=2, metadata={"annotations": said}))
    wrong = pod_groups.pod_group(pod_group_body(min_member=3, metadata={"annotations": said}))

    assert (Elastic(2, 4), None) == (fine.elastic, fine.problem)
    assert wrong.problem is not None
    assert wrong.problem.reason is Reason.INVALID_SPEC
