"""The life of gangs that Jobs and JobSets make."""

from dataclasses import replace
from typing import Any

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from support import builders
from support.gang_queue_builders import gang_info
from support.in_memory_cluster import (
    Body,
    InMemoryCluster,
    group_body,
    job_body,
    job_set_body,
    template,
)

# Jobs.


def test_row_owner_a_job_is_a_gang_of_what_runs_at_once() -> None:
    cluster = InMemoryCluster(2)
    cluster.workload(job_body(parallelism=3, completions=9))
    before = cluster.bound()
    cluster.room(3)

    assert (set(), {"job-0", "job-1", "job-2"}) == (before, cluster.bound(later=100))


def test_row_owner_the_last_member_of_a_job_that_is_retried_does_not_starve() -> None:
    cluster = InMemoryCluster()
    body = job_body(parallelism=3, completions=3)
    cluster.workload(body)
    cluster.cycle()
    cluster.end("job-0", "Succeeded")
    cluster.end("job-1", "Succeeded")
    cluster.end("job-2", "Failed")
    cluster.put({**body, "status": {"succeeded": 2}})

    cluster.pod("job-2-again", **job_metadata(body))

    assert {"job-2-again"} == cluster.bound()


def test_the_last_member_of_a_job_under_a_pod_group_that_is_retried_does_not_starve() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3))
    body = job_body(parallelism=3, completions=3)
    cluster.put(body)
    for i in range(3):
        cluster.pod(f"w-{i}", "a", **job_metadata(body))
    assert 3 == len(cluster.bound())
    cluster.end("w-0", "Succeeded")
    cluster.end("w-1", "Succeeded")
    cluster.end("w-2", "Failed")
    cluster.put({**body, "status": {"succeeded": 2}})

    cluster.pod("w-2-again", "a", **job_metadata(body))

    assert {"w-2-again"} == cluster.bound()


def test_a_job_with_more_work_than_pods_starts_whole_again_after_a_loss_of_all() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3))
    body = job_body(parallelism=3, completions=9)
    cluster.put({**body, "status": {"succeeded": 5}})

    cluster.pod("w-5", "a", **job_metadata(body))
    cluster.pod("w-6", "a", **job_metadata(body))
    before = cluster.bound()
    cluster.pod("w-7", "a", **job_metadata(body))

    assert (set(), {"w-5", "w-6", "w-7"}) == (before, cluster.bound())


def test_what_was_there_before_others_were_bound_is_the_rest_of_a_crash() -> None:
    bound = replace(builders.pod("a-0", node="n1"), scheduled_at=100)
    living = [bound, builders.pod("a-1", created_at=90)]
    replaced = [bound, builders.pod("a-2", created_at=101)]

    assert [True, False] == [rest_of(living), rest_of(replaced)]


def rest_of(members: list[Pod]) -> bool:
    info = gang_info(GangKey("annotation", "default", "a"), members)
    return info.as_gang(frozenset({each.scheduler for each in members})).partially_bound


def test_a_second_job_of_the_same_name_under_a_pod_group_must_be_whole() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3))
    for i in range(3):
        cluster.pod(f"w-{i}", "a", **job_metadata(job_body()))
    cluster.cycle()
    for i in range(3):
        cluster.end(f"w-{i}", "Succeeded")

    cluster.pod("v-0", "a", **job_metadata(job_body(uid="another")))

    assert set() == cluster.bound()


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
    cluster = InMemoryCluster(2)
    cluster.workload(job_body(pods=template(labels={}), parallelism=3))

    assert 2 == len(cluster.bound())


def test_a_job_that_is_deleted_while_waiting_says_so() -> None:
    cluster = InMemoryCluster(1)
    body = job_body(parallelism=2)
    cluster.workload(body)
    cluster.cycle()

    cluster.delete(body)

    expected = ("PodGroupNotFound", 'Job "default/job" does not exist')
    assert expected == cluster.waits("job")


def test_min_member_above_what_the_job_can_have_names_both_ways_out() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 5))
    body = job_body(parallelism=3)
    cluster.put(body)
    for i in range(3):
        cluster.pod(f"w-{i}", "a", **job_metadata(body))

    expected = (
        "3 of minMember 5 members exist; Job default/job can have 3 at once: other pods must come, "
        "or minMember be lowered to 3"
    )
    assert ("WaitingForMembers", expected) == cluster.waits("a", later=100)


# JobSets.


def test_row_owner_a_job_set_is_a_group_with_a_gang_a_replicated_job() -> None:
    cluster = InMemoryCluster(4)
    cluster.workload(job_set_body("set", {"leader": (1, 1), "workers": (2, 2)}))
    before = cluster.bound()
    cluster.room(5)

    assert (set(), 5) == (before, len(cluster.bound(later=100)))
    assert {"set/leader": 1, "set/workers": 4} == {
        key.name: info.observed.min_member for key, info in cluster.cache.gang_queue.infos.items()
    }


def test_a_member_of_a_job_set_that_died_is_bound_alone() -> None:
    cluster = InMemoryCluster(5)
    cluster.workload(job_set_body("set", {"leader": (1, 1), "workers": (2, 2)}))
    cluster.cycle()
    cluster.cycle()
    dead = dict(cluster.pods["default", "set-workers-1-0"])
    cluster.gone("set-workers-1-0")

    metadata = {key: dead["metadata"][key] for key in ("labels", "annotations", "ownerReferences")}
    cluster.pod("again", **metadata)

    assert {"again"} == cluster.bound()
