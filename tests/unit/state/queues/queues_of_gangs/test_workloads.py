"""What Jobs say of the queue of their pods."""

from gang_scheduler.model.refs import QueueRequest
from gang_scheduler.state.gangs.workloads import GangsByWorkload
from gang_scheduler.state.queues.queues_of_gangs import WorkloadQueues
from support.builders import gang_key, pod

REQUEST = QueueRequest((), "high")
A = gang_key("a")
POD = pod("a-0", gang="a", job="j")


def test_only_the_gangs_of_its_pods_hear_of_a_job_and_only_news() -> None:
    gangs = GangsByWorkload()
    gangs.upsert_member(A, POD)
    workloads = WorkloadQueues(gangs)

    heard = [
        workloads.upsert("other", "other", REQUEST),
        workloads.upsert("uid-j", "uid-j", REQUEST),
        workloads.upsert("uid-j", "uid-j", REQUEST),
        workloads.delete("uid-j"),
        workloads.delete("uid-j"),
    ]

    assert [set(), {A}, set(), {A}, set()] == heard


def test_a_pod_without_a_job_hears_nothing() -> None:
    workloads = WorkloadQueues(GangsByWorkload())
    workloads.upsert("uid-j", "uid-j", REQUEST)

    assert ((REQUEST,), ()) == (workloads.requests_of(POD), workloads.requests_of(pod("x")))
