"""Modes, match policies, the total number, minResources and bad input."""

from typing import Any

import pytest

from gang_scheduler.report.words.messages import describe
from gang_scheduler.state.gangs.grouping import TOTAL_SECONDS
from support.builders import GPU
from support.in_memory_cluster import START, InMemoryCluster, group_body, native_body, options

POLICIES = ["only-waiting", "waiting-and-running", "once-satisfied"]


def half_bound(mode: str, policy: str) -> InMemoryCluster:
    """Return a cluster in which two of a gang of four were bound and it was never whole."""
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 4, mode=mode, match_policy=policy))
    for i in range(2):
        cluster.pod(f"a-{i}", "a", spec={"nodeName": "n1"}, status={"phase": "Running"})
    return cluster


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
@pytest.mark.parametrize(("policy", "pending"), [*zip(POLICIES, [4, 2, 2], strict=True)])
def test_row_match_policy_what_counts_for_a_first_quorum(
    mode: str, policy: str, pending: int
) -> None:
    cluster = half_bound(mode, policy)
    new = [f"b-{i}" for i in range(pending)]

    for name in new[:-1]:
        cluster.pod(name, "a")
    before = cluster.bound()
    cluster.pod(new[-1], "a")

    assert (set(), set(new)) == (before, cluster.bound())


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
    cluster = InMemoryCluster()
    cluster.gang("a", 4, mode=mode, match_policy=policy)
    cluster.cycle()
    cluster.cycle()
    for i in range(2):
        cluster.gone(f"a-{i}")

    new = [f"b-{i}" for i in range(needed)]
    for name in new[:-1]:
        cluster.pod(name, "a")
    before = cluster.bound()
    cluster.pod(new[-1], "a")

    assert (set(), set(new)) == (before, cluster.bound())


def test_row_mode_non_strict_binds_a_first_quorum_all_or_nothing_too() -> None:
    cluster = InMemoryCluster(3)
    cluster.gang("a", 4, mode="NonStrict")

    assert set() == cluster.bound()


# The total number.


def test_row_total_number_waits_a_moment_for_the_rest() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, total_number=4)
    before = cluster.bound()

    cluster.pod("a-2", "a")
    cluster.pod("a-3", "a")

    assert (set(), 4) == (before, len(cluster.bound()))


def test_row_total_number_waits_no_longer_than_two_seconds() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, total_number=4)

    found = [cluster.bound(), cluster.bound(1)]

    assert [set(), set()] == found
    assert START + TOTAL_SECONDS == cluster.cache.gang_queue.next_retry()
    assert {"a-0", "a-1"} == cluster.bound(1)


def test_row_total_number_does_not_wait_for_more_than_are_expected() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, total_number=2)

    assert {"a-0", "a-1"} == cluster.bound()


def test_row_total_number_the_clock_starts_with_the_quorum() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, pods=1, total_number=3)
    cluster.cycle()
    cluster.pod("a-1", "a")

    assert [set(), set(), {"a-0", "a-1"}] == [
        cluster.bound(100),
        cluster.bound(1),
        cluster.bound(1),
    ]


def test_row_total_number_a_running_gang_waits_for_no_pod() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, total_number=4)
    cluster.cycle()
    cluster.cycle(2)
    cluster.cycle()

    cluster.pod("a-2", "a")

    assert {"a-2"} == cluster.bound()


def test_row_total_number_holds_no_other_gang() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, total_number=4)
    cluster.gang("b", 1)

    assert {"b-0"} == cluster.bound()


# minResources.


def test_min_resources_are_a_gate() -> None:
    cluster = InMemoryCluster(8)
    cluster.gang("a", 1, spec={"minResources": {"cpu": "9"}})

    reason, message = cluster.waits("a")

    assert "Unschedulable" == reason
    assert "the cluster has not enough cpu free (spec.minResources)" == message
    cluster.room(9)
    assert {"a-0"} == cluster.bound()


def test_min_resources_count_what_lower_priorities_hold() -> None:
    cluster = InMemoryCluster(8)
    cluster.pod("low", spec={"nodeName": "n1", "priority": 1})
    cluster.put(group_body("a", 1, spec={"minResources": {"cpu": "8"}}))
    cluster.pod("a-0", "a", spec={"priority": 2})

    assert {"a-0"} == cluster.bound()


@pytest.mark.parametrize("priority", [2, 3])
def test_min_resources_do_not_count_what_others_hold(priority: int) -> None:
    cluster = InMemoryCluster(8)
    cluster.pod("other", spec={"nodeName": "n1", "priority": priority})
    cluster.put(group_body("a", 1, spec={"minResources": {"cpu": "8"}}))
    cluster.pod("a-0", "a", spec={"priority": 2})

    assert set() == cluster.bound()


def test_min_resources_of_a_kind_that_no_node_has() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1, spec={"minResources": {GPU: "1"}})

    assert f"the cluster has not enough {GPU} free (spec.minResources)" == cluster.waits("a")[1]


def test_min_resources_are_no_gate_for_a_gang_that_runs() -> None:
    cluster = InMemoryCluster(4)
    cluster.gang("a", 2, spec={"minResources": {"cpu": "4"}})
    cluster.cycle()
    cluster.cycle()
    cluster.gone("a-1")
    cluster.pod("a-1", "a")

    assert {"a-1"} == cluster.bound()


# The timeout.


@pytest.mark.parametrize(
    ("setting", "given", "expected"),
    [
        (600, {}, 600),
        (50, {}, 50),
        (600, {"waiting_time": "90s"}, 90),
        (600, {"spec": {"scheduleTimeoutSeconds": 30}}, 30),
        (600, {"waiting_time": "90s", "spec": {"scheduleTimeoutSeconds": 30}}, 30),
        # mpi-operator writes 0 into every PodGroup.
        (600, {"spec": {"scheduleTimeoutSeconds": 0}}, 600),
        (600, {"waiting_time": "90s", "spec": {"scheduleTimeoutSeconds": 0}}, 90),
    ],
)
def test_row_waiting_time_is_the_schedule_timeout(
    setting: int, given: dict[str, Any], expected: int
) -> None:
    cluster = InMemoryCluster(0, timeout_seconds=setting)
    cluster.gang("a", 1, **given)
    cluster.cycle()

    (record,) = cluster.cache.gang_queue.infos.values()
    assert START + expected == cluster.cache.gang_queue.deadlines.of(record)


# Annotation gangs.


def test_row_annotations_need_no_object() -> None:
    cluster = InMemoryCluster(2)
    cluster.annotated("a", 3)
    before = cluster.bound()
    cluster.room(3)

    assert (set(), {"a-0", "a-1", "a-2"}) == (before, cluster.bound())


def test_row_annotations_label_form() -> None:
    cluster = InMemoryCluster()
    labels = {
        "pod-group.scheduling.sigs.k8s.io/name": "a",
        "pod-group.scheduling.sigs.k8s.io/min-available": "2",
    }
    cluster.pod("a-0", labels=labels)
    before = cluster.bound()
    cluster.pod("a-1", labels=labels)

    assert (set(), {"a-0", "a-1"}) == (before, cluster.bound())


def test_row_annotations_the_oldest_member_with_valid_ones_speaks() -> None:
    cluster = InMemoryCluster()
    for day, minimum in ((3, "9"), (1, "none"), (2, "3")):
        metadata = {"creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
        given = options({"name": "a", "min_available": minimum})
        cluster.pod(f"a-{day}", annotations=given, **metadata)

    assert {"a-1", "a-2", "a-3"} == cluster.bound()


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
def test_bad_input_of_an_annotation_gang_has_field_and_value_and_blocks_no_other_gang(
    given: dict[str, Any], field: str, value: str
) -> None:
    cluster = InMemoryCluster()
    cluster.pod("p", annotations=options({"name": "a", **given}))
    cluster.pod("other")

    plan = cluster.cycle()

    assert ["other"] == [each.gang.key.name for each in plan.placed]
    (refused,) = plan.refused
    assert "InvalidSpec" == refused.reason
    assert f"metadata.annotations[gang.scheduling.koordinator.sh/{field}]" in describe(refused)
    assert value in describe(refused)


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
    cluster = InMemoryCluster()
    cluster.gang("a", 1, **given)

    reason, message = cluster.waits("a")
    cluster.put(group_body("a", 1))

    assert "InvalidSpec" == reason
    assert f"metadata.annotations[gang.scheduling.koordinator.sh/{field}]" in message
    assert value in message
    assert {"a-0"} == cluster.bound()


def test_bad_input_of_a_native_pod_group_has_field_and_value() -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 0))
    cluster.pod("p", spec={"schedulingGroup": {"podGroupName": "g"}})

    expected = "spec.schedulingPolicy.gang.minCount must be at least 1, not 0"
    assert ("InvalidSpec", expected) == cluster.waits("g")


def test_bad_input_two_pod_groups_of_one_name() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1)
    other = group_body("a", 1)
    metadata = {**other["metadata"], "uid": "another"}
    cluster.put({**other, "metadata": metadata, "apiVersion": "scheduling.x-k8s.io/v1alpha1"})

    reason, message = cluster.waits("a")

    assert "InvalidSpec" == reason
    assert "scheduling.sigs.k8s.io and scheduling.x-k8s.io" in message


def test_bad_input_objects_that_cannot_be_read_are_left_out_with_their_field() -> None:
    cluster = InMemoryCluster()
    broken = {"metadata": {"name": "j", "namespace": "default", "uid": "u"}}
    cluster.put({**broken, "apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": "x"}})
    jobs = {"replicatedJobs": [{"replicas": "x"}]}
    cluster.put(
        {**broken, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": jobs}
    )

    assert [
        'spec.parallelism must be a whole number, not "x"',
        'spec.replicatedJobs[0].replicas must be a whole number, not "x"',
    ] == cluster.take_left_out()
