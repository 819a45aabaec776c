"""Life after the first bind: members die, succeed and come again; objects come and go."""

from dataclasses import replace
from typing import Any

import pytest

import builders
from gang_scheduler.cluster.records import Record
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.pods import Pod
from towns import Body, Town, group_body, job_body, job_set_body, native_body, template


def running(minimum: int = 3, cpu: int = 100) -> Town:
    """Return a town in which gang `a` runs."""
    town = Town(cpu)
    town.gang("a", minimum)
    assert minimum == len(town.bound())
    town.cycle()
    return town


def test_a_member_that_died_and_was_recreated_is_bound_alone() -> None:
    town = running()

    town.end("a-1")
    town.pod("a-1", "a")

    assert {"a-1"} == town.bound()


def test_a_member_that_was_deleted_and_recreated_is_bound_alone() -> None:
    town = running()

    town.gone("a-1")
    town.pod("a-1", "a")

    assert {"a-1"} == town.bound()


def test_members_beyond_the_minimum_may_come_later() -> None:
    town = running()

    town.pod("a-8", "a")
    town.pod("a-9", "a")

    assert {"a-8", "a-9"} == town.bound()


def test_a_gang_that_was_scaled_down_goes_on() -> None:
    town = running()

    town.gone("a-2")
    town.put(group_body("a", 2))

    assert set() == town.bound()
    (record,) = town.cache.gangs.records.values()
    assert record.whole_once


def test_when_all_members_died_the_next_attempt_is_whole_or_nothing() -> None:
    town = running()

    for i in range(3):
        town.end(f"a-{i}")
        town.pod(f"b-{i}", "a")
    town.room(2)
    before = town.bound()
    town.room(3)

    assert (set(), {"b-0", "b-1", "b-2"}) == (before, town.bound(later=100))


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_second_run_under_the_same_pod_group_needs_its_whole_quorum(phase: str) -> None:
    town = running()

    for i in range(3):
        town.end(f"a-{i}", phase)
    town.cycle()
    town.pod("second-0", "a")
    town.pod("second-1", "a")
    before = town.bound()
    town.pod("second-2", "a")

    assert (set(), {"second-0", "second-1", "second-2"}) == (before, town.bound())


def test_ended_members_of_the_first_attempt_do_not_count_for_the_second() -> None:
    town = running()
    for i in range(3):
        town.end(f"a-{i}", "Succeeded")
    town.pod("second-0", "a")

    assert "WaitingForMembers" == town.waits("a")[0]


def test_a_pod_group_that_is_deleted_while_bound_leaves_the_bound_alone() -> None:
    town = running()

    town.delete(group_body("a", 3))
    town.pod("a-9", "a")

    assert "PodGroupNotFound" == town.waits("a")[0]


def test_a_pod_group_that_comes_back_while_its_gang_runs_finds_it_running() -> None:
    town = running()
    town.delete(group_body("a", 3))
    town.end("a-1")
    town.pod("a-1", "a")
    before = town.bound()

    town.put(group_body("a", 3))

    assert (set(), {"a-1"}) == (before, town.bound())


def test_a_pod_group_that_is_deleted_while_waiting_and_comes_back() -> None:
    town = Town(2)
    town.gang("a", 3)
    town.cycle()

    town.delete(group_body("a", 3))
    without = town.waits("a")[0]
    town.room(3)
    before = town.bound(later=100)
    town.put(group_body("a", 3))

    assert ("PodGroupNotFound", set()) == (without, before)
    assert {"a-0", "a-1", "a-2"} == town.bound()


def test_a_pod_that_is_moved_to_another_gang_by_its_label() -> None:
    town = Town()
    town.gang("a", 2)
    town.gang("b", 1, pods=0)
    town.room(1)
    before = town.bound()

    town.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert (set(), {"a-1"}) == (before, town.bound())


def test_who_lost_a_member_to_another_gang_waits_for_members() -> None:
    town = Town(1)
    town.gang("a", 2)
    town.gang("b", 9, pods=0)
    town.cycle()

    town.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert {"a": "WaitingForMembers", "b": "WaitingForMembers"} == {
        each.gang.key.name: each.reason for each in town.cycle().refused
    }


def test_a_bound_pod_that_is_moved_leaves_its_gang_running() -> None:
    town = running()
    town.gang("b", 2, pods=1)

    town.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert {"b-0"} == town.bound()


def test_a_bound_member_whose_label_was_removed_is_alone_and_stays() -> None:
    town = running()

    town.change("a-1", labels={})

    assert set() == town.bound()


def test_only_confirmed_members_make_a_gang_whole() -> None:
    town = Town()
    town.gang("a", 2)
    plan = town.cycle()
    gang = plan.placed[0].gang.key
    record = town.cache.gangs.records[gang]
    record.whole_once = False
    for pod in list(record.members.values()):
        record.take(replace(pod, assumed=True))

    record.settle(town.now)
    assumed = record.whole_once
    for pod in list(record.members.values()):
        record.take(replace(pod, assumed=False))
    record.settle(town.now)

    assert (False, True) == (assumed, record.whole_once)


def test_a_gang_with_a_problem_is_never_whole() -> None:
    town = Town()
    town.put(group_body("a", 1, mode="Odd"))
    town.pod("a-0", "a", spec={"nodeName": "n1"})
    town.pod("a-1", "a")
    town.cycle()

    assert not any(record.whole_once for record in town.cache.gangs.records.values())


# Jobs.


def test_row_owner_a_job_is_a_gang_of_what_runs_at_once() -> None:
    town = Town(2)
    town.workload(job_body(parallelism=3, completions=9))
    before = town.bound()
    town.room(3)

    assert (set(), {"job-0", "job-1", "job-2"}) == (before, town.bound(later=100))


def test_row_owner_the_last_member_of_a_job_that_is_retried_does_not_starve() -> None:
    town = Town()
    body = job_body(parallelism=3, completions=3)
    town.workload(body)
    town.cycle()
    town.end("job-0", "Succeeded")
    town.end("job-1", "Succeeded")
    town.end("job-2", "Failed")
    town.put({**body, "status": {"succeeded": 2}})

    town.pod("job-2-again", **job_metadata(body))

    assert {"job-2-again"} == town.bound()


def test_the_last_member_of_a_job_under_a_pod_group_that_is_retried_does_not_starve() -> None:
    town = Town()
    town.put(group_body("a", 3))
    body = job_body(parallelism=3, completions=3)
    town.put(body)
    for i in range(3):
        town.pod(f"w-{i}", "a", **job_metadata(body))
    assert 3 == len(town.bound())
    town.end("w-0", "Succeeded")
    town.end("w-1", "Succeeded")
    town.end("w-2", "Failed")
    town.put({**body, "status": {"succeeded": 2}})

    town.pod("w-2-again", "a", **job_metadata(body))

    assert {"w-2-again"} == town.bound()


def test_a_job_with_more_work_than_pods_starts_whole_again_after_a_loss_of_all() -> None:
    town = Town()
    town.put(group_body("a", 3))
    body = job_body(parallelism=3, completions=9)
    town.put({**body, "status": {"succeeded": 5}})

    town.pod("w-5", "a", **job_metadata(body))
    town.pod("w-6", "a", **job_metadata(body))
    before = town.bound()
    town.pod("w-7", "a", **job_metadata(body))

    assert (set(), {"w-5", "w-6", "w-7"}) == (before, town.bound())


def test_what_was_there_before_others_were_bound_is_the_rest_of_a_crash() -> None:
    bound = replace(builders.pod("a-0", node="n1"), scheduled_at=100)
    living = [bound, builders.pod("a-1", created_at=90)]
    replaced = [bound, builders.pod("a-2", created_at=101)]

    assert [True, False] == [rest_of(living), rest_of(replaced)]


def rest_of(members: list[Pod]) -> bool:
    record = Record(GangKey("annotation", "default", "a"))
    for each in members:
        record.take(each)
    return record.as_gang(frozenset({each.scheduler for each in members})).rest


def test_a_second_job_of_the_same_name_under_a_pod_group_must_be_whole() -> None:
    town = Town()
    town.put(group_body("a", 3))
    for i in range(3):
        town.pod(f"w-{i}", "a", **job_metadata(job_body()))
    town.cycle()
    for i in range(3):
        town.end(f"w-{i}", "Succeeded")

    town.pod("v-0", "a", **job_metadata(job_body(uid="another")))

    assert set() == town.bound()


def job_metadata(job: Body) -> dict[str, Any]:
    """Return what the Job controller writes into its pods."""
    metadata = job["metadata"]
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    labels = {"py-gang-scheduler.io/gang": "true"}
    return {"labels": labels, "ownerReferences": [owner]}


def test_row_owner_a_job_that_does_not_ask_for_it_is_pods_alone() -> None:
    town = Town(2)
    town.workload(job_body(pods=template(labels={}), parallelism=3))

    assert 2 == len(town.bound())


def test_a_job_that_is_deleted_while_waiting_says_so() -> None:
    town = Town(1)
    body = job_body(parallelism=2)
    town.workload(body)
    town.cycle()

    town.delete(body)

    expected = ("PodGroupNotFound", 'Job "default/job" does not exist')
    assert expected == town.waits("job")


def test_bad_input_min_member_above_what_the_job_can_ever_make() -> None:
    town = Town()
    town.put(group_body("a", 5))
    body = job_body(parallelism=3)
    town.put(body)
    for i in range(3):
        town.pod(f"w-{i}", "a", **job_metadata(body))

    reason, message = town.waits("a", later=100)

    assert "InvalidSpec" == reason
    assert "minMember must be at most 3" in message
    assert "not 5" in message


# JobSets.


def test_row_owner_a_job_set_is_a_group_with_a_gang_a_replicated_job() -> None:
    town = Town(4)
    town.workload(job_set_body("set", {"leader": (1, 1), "workers": (2, 2)}))
    before = town.bound()
    town.room(5)

    assert (set(), 5) == (before, len(town.bound(later=100)))
    assert {"set/leader": 1, "set/workers": 4} == {
        key.name: record.min_member for key, record in town.cache.gangs.records.items()
    }


def test_a_member_of_a_job_set_that_died_is_bound_alone() -> None:
    town = Town(5)
    town.workload(job_set_body("set", {"leader": (1, 1), "workers": (2, 2)}))
    town.cycle()
    town.cycle()
    dead = dict(town.pods["default", "set-workers-1-0"])
    town.gone("set-workers-1-0")

    metadata = {key: dead["metadata"][key] for key in ("labels", "annotations", "ownerReferences")}
    town.pod("again", **metadata)

    assert {"again"} == town.bound()


# Native PodGroups.


def native_pods(town: Town, names: list[str], group: str = "g") -> None:
    for name in names:
        town.pod(name, spec={"schedulingGroup": {"podGroupName": group}})


def test_row_native_min_count_is_the_quorum() -> None:
    town = Town()
    town.put(native_body("g", 2))
    native_pods(town, ["p-0"])
    before = town.bound()
    native_pods(town, ["p-1"])

    assert (set(), {"p-0", "p-1"}) == (before, town.bound())


def test_row_native_basic_makes_gangs_of_one() -> None:
    town = Town(1)
    town.put(native_body("g", None))
    native_pods(town, ["p-0", "p-1", "p-2"])

    assert {"p-0"} == town.bound()


def test_row_native_a_pod_group_that_does_not_exist_is_waited_for() -> None:
    town = Town()
    native_pods(town, ["p-0"])
    before = town.waits("g")
    town.put(native_body("g", 1))

    assert ("PodGroupNotFound", 'PodGroup "default/g" does not exist') == before
    assert {"p-0"} == town.bound()


def test_row_native_the_priority_is_that_of_the_pod_group() -> None:
    town = Town(1)
    town.put(native_body("g", 1, priority=10))
    native_pods(town, ["p-0"])
    town.pod("other", spec={"priority": 5})

    assert {"p-0"} == town.bound()


def test_row_native_another_pod_group_of_that_name_is_another_gang() -> None:
    town = Town()
    town.put(native_body("g", 1))
    town.gang("g", 1)
    native_pods(town, ["p-0"])

    assert {"g-0", "p-0"} == town.bound()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {"schedulingConstraints": {"claims": [{"name": "gpus"}]}},
            "spec.schedulingConstraints.claims",
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": "rack"}, {"key": "row", "skew": 1}]}},
            "spec.schedulingConstraints.topology[1].skew",
        ),
        ({"resourceClaims": [{"name": "gpus"}]}, "spec.resourceClaims"),
        ({"parentCompositePodGroupName": "all"}, "spec.parentCompositePodGroupName"),
    ],
)
def test_row_native_what_is_not_known_is_refused_and_not_ignored(
    spec: dict[str, Any], field: str
) -> None:
    town = Town()
    town.put(native_body("g", 1, **spec))
    native_pods(town, ["p-0"])

    expected = f"{field} cannot be honoured by this scheduler yet"
    assert ("UnsupportedFeature", expected) == town.waits("g")
