"""Modes, match policies, the total number, minResources and bad input: section 2, row by row."""

from typing import Any

import pytest

from builders import GPU
from gang_scheduler.state.gangs.grouping import TOTAL_SECONDS
from towns import START, Town, group_body, native_body, options

POLICIES = ["only-waiting", "waiting-and-running", "once-satisfied"]


def half_bound(mode: str, policy: str) -> Town:
    """Return a town in which two of a gang of four were bound and it was never whole."""
    town = Town()
    town.put(group_body("a", 4, mode=mode, match_policy=policy))
    for i in range(2):
        town.pod(f"a-{i}", "a", spec={"nodeName": "n1"}, status={"phase": "Running"})
    return town


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
@pytest.mark.parametrize(("policy", "pending"), [*zip(POLICIES, [4, 2, 2], strict=True)])
def test_row_match_policy_what_counts_for_a_first_quorum(
    mode: str, policy: str, pending: int
) -> None:
    town = half_bound(mode, policy)
    new = [f"b-{i}" for i in range(pending)]

    for name in new[:-1]:
        town.pod(name, "a")
    before = town.bound()
    town.pod(new[-1], "a")

    assert (set(), set(new)) == (before, town.bound())


@pytest.mark.parametrize(
    ("mode", "policy", "needed"),
    [
        ("Strict", "only-waiting", 4),
        ("Strict", "waiting-and-running", 2),
        ("Strict", "once-satisfied", 1),
        ("NonStrict", "only-waiting", 1),
        ("NonStrict", "waiting-and-running", 1),
        ("NonStrict", "once-satisfied", 1),
    ],
)
def test_rows_mode_and_match_policy_after_the_first_quorum_two_of_four_died(
    mode: str, policy: str, needed: int
) -> None:
    town = Town()
    town.gang("a", 4, mode=mode, match_policy=policy)
    town.cycle()
    town.cycle()
    for i in range(2):
        town.gone(f"a-{i}")

    new = [f"b-{i}" for i in range(needed)]
    for name in new[:-1]:
        town.pod(name, "a")
    before = town.bound()
    town.pod(new[-1], "a")

    assert (set(), set(new)) == (before, town.bound())


def test_row_mode_non_strict_binds_a_first_quorum_all_or_nothing_too() -> None:
    town = Town(3)
    town.gang("a", 4, mode="NonStrict")

    assert set() == town.bound()


# The total number.


def test_row_total_number_waits_a_moment_for_the_rest() -> None:
    town = Town()
    town.gang("a", 2, total_number=4)
    before = town.bound()

    town.pod("a-2", "a")
    town.pod("a-3", "a")

    assert (set(), 4) == (before, len(town.bound()))


def test_row_total_number_waits_no_longer_than_two_seconds() -> None:
    town = Town()
    town.gang("a", 2, total_number=4)

    found = [town.bound(), town.bound(1)]

    assert [set(), set()] == found
    assert START + TOTAL_SECONDS == town.cache.gangs.next_retry()
    assert {"a-0", "a-1"} == town.bound(1)


def test_row_total_number_does_not_wait_for_more_than_are_expected() -> None:
    town = Town()
    town.gang("a", 2, total_number=2)

    assert {"a-0", "a-1"} == town.bound()


def test_row_total_number_the_clock_starts_with_the_quorum() -> None:
    town = Town()
    town.gang("a", 2, pods=1, total_number=3)
    town.cycle()
    town.pod("a-1", "a")

    assert [set(), set(), {"a-0", "a-1"}] == [town.bound(100), town.bound(1), town.bound(1)]


def test_row_total_number_a_running_gang_waits_for_nobody() -> None:
    town = Town()
    town.gang("a", 2, total_number=4)
    town.cycle()
    town.cycle(2)
    town.cycle()

    town.pod("a-2", "a")

    assert {"a-2"} == town.bound()


def test_row_total_number_holds_nobody_else() -> None:
    town = Town()
    town.gang("a", 2, total_number=4)
    town.gang("b", 1)

    assert {"b-0"} == town.bound()


# minResources.


def test_min_resources_are_a_gate() -> None:
    town = Town(8)
    town.gang("a", 1, spec={"minResources": {"cpu": "9"}})

    reason, message = town.waits("a")

    assert "Unschedulable" == reason
    assert "spec.minResources: the cluster has not enough cpu free" == message
    town.room(9)
    assert {"a-0"} == town.bound()


def test_min_resources_count_what_lower_priorities_hold() -> None:
    town = Town(8)
    town.pod("low", spec={"nodeName": "n1", "priority": 1})
    town.put(group_body("a", 1, spec={"minResources": {"cpu": "8"}}))
    town.pod("a-0", "a", spec={"priority": 2})

    assert {"a-0"} == town.bound()


@pytest.mark.parametrize("priority", [2, 3])
def test_min_resources_do_not_count_what_others_hold(priority: int) -> None:
    town = Town(8)
    town.pod("other", spec={"nodeName": "n1", "priority": priority})
    town.put(group_body("a", 1, spec={"minResources": {"cpu": "8"}}))
    town.pod("a-0", "a", spec={"priority": 2})

    assert set() == town.bound()


def test_min_resources_of_a_kind_that_no_node_has() -> None:
    town = Town()
    town.gang("a", 1, spec={"minResources": {GPU: "1"}})

    assert f"spec.minResources: the cluster has not enough {GPU} free" == town.waits("a")[1]


def test_min_resources_are_no_gate_for_a_gang_that_runs() -> None:
    town = Town(4)
    town.gang("a", 2, spec={"minResources": {"cpu": "4"}})
    town.cycle()
    town.cycle()
    town.gone("a-1")
    town.pod("a-1", "a")

    assert {"a-1"} == town.bound()


# The timeout.


@pytest.mark.parametrize(
    ("setting", "given", "expected"),
    [
        (600, {}, 600),
        (50, {}, 50),
        (600, {"waiting_time": "90s"}, 90),
        (600, {"spec": {"scheduleTimeoutSeconds": 30}}, 30),
        (600, {"waiting_time": "90s", "spec": {"scheduleTimeoutSeconds": 30}}, 30),
    ],
)
def test_row_waiting_time_is_the_schedule_timeout(
    setting: int, given: dict[str, Any], expected: int
) -> None:
    town = Town(0, timeout_seconds=setting)
    town.gang("a", 1, **given)
    town.cycle()

    (record,) = town.cache.gangs.records.values()
    assert START + expected == town.cache.gangs.deadline(record)


# Annotation gangs.


def test_row_annotations_need_no_object() -> None:
    town = Town(2)
    town.annotated("a", 3)
    before = town.bound()
    town.room(3)

    assert (set(), {"a-0", "a-1", "a-2"}) == (before, town.bound())


def test_row_annotations_label_form() -> None:
    town = Town()
    labels = {
        "pod-group.scheduling.sigs.k8s.io/name": "a",
        "pod-group.scheduling.sigs.k8s.io/min-available": "2",
    }
    town.pod("a-0", labels=labels)
    before = town.bound()
    town.pod("a-1", labels=labels)

    assert (set(), {"a-0", "a-1"}) == (before, town.bound())


def test_row_annotations_the_oldest_member_with_valid_ones_speaks() -> None:
    town = Town()
    for day, minimum in ((3, "9"), (1, "none"), (2, "3")):
        metadata = {"creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
        given = options({"name": "a", "min_available": minimum})
        town.pod(f"a-{day}", annotations=given, **metadata)

    assert {"a-1", "a-2", "a-3"} == town.bound()


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({}, "min-available", "is required"),
        ({"min_available": "none"}, "min-available", '"none"'),
        ({"min_available": "0"}, "min-available", '"0"'),
        ({"min_available": "1", "mode": "Loose"}, "mode", '"Loose"'),
        ({"min_available": "1", "match_policy": "x"}, "match-policy", '"x"'),
        ({"min_available": "1", "waiting_time": "long"}, "waiting-time", '"long"'),
        ({"min_available": "2", "total_number": "1"}, "total-number", "1"),
        ({"min_available": "1", "groups": "{"}, "groups", '"{"'),
        ({"min_available": "1", "network_topology_index": "x"}, "network-topology-index", '"x"'),
    ],
)
def test_bad_input_of_an_annotation_gang_has_field_and_value_and_blocks_nobody(
    given: dict[str, Any], field: str, value: str
) -> None:
    town = Town()
    town.pod("p", annotations=options({"name": "a", **given}))
    town.pod("other")

    plan = town.cycle()

    assert ["other"] == [each.gang.key.name for each in plan.placed]
    (refused,) = plan.refused
    assert "InvalidSpec" == refused.reason
    assert f"metadata.annotations[gang.scheduling.koordinator.sh/{field}]" in refused.detail
    assert value in refused.detail


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"mode": "Loose"}, "mode", '"Loose"'),
        ({"match_policy": "x"}, "match-policy", '"x"'),
        ({"waiting_time": "long"}, "waiting-time", '"long"'),
        ({"total_number": "0"}, "total-number", '"0"'),
        ({"groups": "[1]"}, "groups", '"[1]"'),
    ],
)
def test_bad_input_of_a_pod_group_has_field_and_value_and_can_be_mended(
    given: dict[str, Any], field: str, value: str
) -> None:
    town = Town()
    town.gang("a", 1, **given)

    reason, message = town.waits("a")
    town.put(group_body("a", 1))

    assert "InvalidSpec" == reason
    assert f"metadata.annotations[gang.scheduling.koordinator.sh/{field}]" in message
    assert value in message
    assert {"a-0"} == town.bound()


def test_bad_input_of_a_native_pod_group_has_field_and_value() -> None:
    town = Town()
    town.put(native_body("g", 0))
    town.pod("p", spec={"schedulingGroup": {"podGroupName": "g"}})

    expected = "spec.schedulingPolicy.gang.minCount must be at least 1, not 0"
    assert ("InvalidSpec", expected) == town.waits("g")


def test_bad_input_two_pod_groups_of_one_name() -> None:
    town = Town()
    town.gang("a", 1)
    other = group_body("a", 1)
    metadata = {**other["metadata"], "uid": "another"}
    town.put({**other, "metadata": metadata, "apiVersion": "scheduling.x-k8s.io/v1alpha1"})

    reason, message = town.waits("a")

    assert "InvalidSpec" == reason
    assert "scheduling.sigs.k8s.io and scheduling.x-k8s.io" in message


def test_bad_input_objects_that_cannot_be_read_are_left_out_with_their_field() -> None:
    town = Town()
    broken = {"metadata": {"name": "j", "namespace": "default", "uid": "u"}}
    town.put({**broken, "apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": "x"}})
    jobs = {"replicatedJobs": [{"replicas": "x"}]}
    town.put({**broken, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": jobs})

    assert [
        'spec.parallelism must be a whole number, not "x"',
        'spec.replicatedJobs[0].replicas must be a whole number, not "x"',
    ] == town.broken
