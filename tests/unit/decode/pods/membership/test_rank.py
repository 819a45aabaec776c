"""Members are put in the order in which they talk to each other."""

from itertools import permutations
from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import job_sets, jobs
from support import decoded as pod_decode
from support.api_objects import pod_body
from support.builders import pod
from support.in_memory_cluster import job_set_body

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
KUBEFLOW = "training.kubeflow.org/replica-"
LWS = "leaderworkerset.sigs.k8s.io/"


def labelled(name: str, **metadata: Any) -> Pod:
    return pod_decode.pod(pod_body(name, metadata=metadata))


def indexed(name: str, index: int, **others: Any) -> Pod:
    written = {annotations.NETWORK_TOPOLOGY_INDEX: str(index), **others}
    return labelled(name, annotations=written)


def in_order(*members: Pod) -> list[str]:
    """Return the names in rank order, which is the same from every order of the members."""
    orders = {
        tuple(each.name for each in sorted(shuffled, key=rank_key))
        for shuffled in permutations(members)
    }
    (found,) = orders
    return list(found)


@pytest.mark.parametrize(
    "key",
    [
        COMPLETION_INDEX,
        JOB_INDEX,
        f"{LWS}worker-index",
        f"{KUBEFLOW}index",
        "kueue.x-k8s.io/pod-group-pod-index",
    ],
)
@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_the_index_that_a_controller_wrote_is_the_rank(key: str, where: str) -> None:
    assert (7,) == labelled("p-3", **{where: {key: "7"}}).rank


def test_ranks_are_numbers_and_the_own_index_comes_before_a_controllers() -> None:
    members = [
        indexed("z", 0),
        indexed("y", 2, **{COMPLETION_INDEX: "1"}),
        indexed("x", 10),
        indexed("w", 10),
    ]

    assert ["z", "y", "w", "x"] == in_order(*members)


def test_pods_without_an_index_come_after_those_with_one_by_name() -> None:
    assert ["z", "a-9", "a-10"] == in_order(pod("a-10"), indexed("z", 5), pod("a-9"))


def test_two_jobs_of_a_replicated_job_do_not_take_turns() -> None:
    made = job_sets.jobs_of(job_set_body("s", {"w": (11, 2)}))
    bodies = [body for job in made for body in jobs.pods_of(job)]
    members = [pod_decode.pod({**each, "status": {}}) for each in reversed(bodies)]

    found = [each.name for each in sorted(members, key=rank_key)]

    assert [f"s-w-{job}-{i}" for job in range(11) for i in range(2)] == found


def test_pods_of_a_job_set_without_a_completion_index_stay_by_job() -> None:
    members = [
        labelled(f"s-w-{job}-{name}", labels={JOB_INDEX: str(job)})
        for job, name in ((2, "xyz"), (10, "abc"), (2, "pqr"))
    ]

    assert ["s-w-2-pqr", "s-w-2-xyz", "s-w-10-abc"] == in_order(*members)


def test_groups_of_a_leader_worker_set_stay_together() -> None:
    members = [
        labelled(
            f"{group}{worker}", labels={f"{LWS}group-index": group, f"{LWS}worker-index": worker}
        )
        for group, worker in (("1", "0"), ("0", "1"), ("1", "1"), ("0", "0"))
    ]

    assert ["00", "01", "10", "11"] == in_order(*members)


def test_replicas_of_kubeflow_are_by_type_and_the_leader_is_first() -> None:
    members = [
        labelled(name, labels={f"{KUBEFLOW}type": kind, f"{KUBEFLOW}index": index})
        for name, kind, index in (
            ("d", "worker", "0"),
            ("c", "worker", "10"),
            ("b", "worker", "9"),
            ("e", "master", "0"),
            ("a", "something", "0"),
        )
    ]

    assert ["e", "d", "b", "c", "a"] == in_order(*members)


def test_a_type_alone_is_no_rank() -> None:
    assert () == labelled("p", labels={f"{KUBEFLOW}type": "worker"}).rank


@pytest.mark.parametrize("junk", ["", "-1", "1.0", " 1", "1\n", "0x1", "9" * 20, "\u0661", "a" * 9])
def test_an_index_that_is_no_number_is_a_problem_with_pod_field_and_value(junk: str) -> None:
    member = labelled("p", annotations={annotations.NETWORK_TOPOLOGY_INDEX: junk})

    problem = member.problem

    assert problem is not None
    assert () == member.rank
    assert "default/p" in text_of(problem.cause)
    assert annotations.NETWORK_TOPOLOGY_INDEX in text_of(problem.cause)


@pytest.mark.parametrize("junk", ["", "x", "-1", "9" * 20, "\u0661"])
def test_an_index_of_a_controller_that_is_no_number_says_nothing(junk: str) -> None:
    member = labelled("p", labels={JOB_INDEX: junk}, annotations={COMPLETION_INDEX: junk})

    assert ((), None) == (member.rank, member.problem)
