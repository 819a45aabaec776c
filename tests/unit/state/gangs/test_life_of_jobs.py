"""The life of gangs that Jobs and JobSets make."""

from dataclasses import replace
from typing import Any

import builders
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.gangs.gang_info import Record
from towns import Body, Town, group_body, job_body, job_set_body, template

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
