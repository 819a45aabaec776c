"""Which gangs are found by a workload."""

from gang_scheduler.state.gangs.workloads import GangsByWorkload
from support.builders import gang_key, pod

A, B = gang_key("a"), gang_key("b")
OF_JOB_SET = {
    "jobset.sigs.k8s.io/jobset-name": "s",
    "jobset.sigs.k8s.io/replicatedjob-name": "workers",
}


def test_a_gang_is_known_by_all_workloads_that_its_pods_are_of() -> None:
    gangs = GangsByWorkload()
    gangs.upsert_member(A, pod("a-0", job="j", labels=OF_JOB_SET))

    names = ("uid-j", "default/s", "TrainJob default/s", "default/s/workers")
    assert [{A}] * 4 == [gangs.of(each) for each in names]
    assert set() == gangs.of("uid-other")


def test_a_gang_that_is_gone_is_of_no_workload_and_others_stay() -> None:
    gangs = GangsByWorkload()
    gangs.upsert_member(A, pod("a-0", job="j"))
    gangs.upsert_member(A, pod("a-1", job="k"))
    gangs.upsert_member(B, pod("b-0", job="j"))

    gangs.forget(A)
    gangs.forget(A)

    assert ({B}, set()) == (gangs.of("uid-j"), gangs.of("uid-k"))
