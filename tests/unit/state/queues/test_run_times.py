"""When gangs will have ended, by the smallest of what pods, PodGroups and Jobs declare."""

from dataclasses import replace

from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.state.gangs.workloads import GangsByWorkload
from gang_scheduler.state.queues.run_times import RunTimes
from support.builders import gang_key, pod

A = gang_key("a")
NOW = 1000


def member(name: str, run_time: RunTime | None = None, started_at: int = 900) -> Pod:
    made = pod(name, gang="a", job="j", node="n")
    return replace(made, run_time=run_time, started_at=started_at)


def of_job(said: RunTime) -> RunTimes:
    times = RunTimes(GangsByWorkload())
    times.upsert("uid-j", said, None)
    return times


def test_the_smallest_of_a_pod_counts_and_the_latest_of_its_gang() -> None:
    pods = [member("x", RunTime(500, 300)), member("y", RunTime(250), started_at=980)]

    assert RunTimes(GangsByWorkload()).ends_at(pods, None, NOW) == 1230
    assert RunTimes(GangsByWorkload()).ends_at(pods, RunTime(expected=200), NOW) == 1180
    assert RunTimes(GangsByWorkload()).duration(pods, None) == 300


def test_one_pod_without_an_end_leaves_the_end_unknown() -> None:
    pods = [member("x", RunTime(500)), member("y")]

    assert RunTimes(GangsByWorkload()).ends_at(pods, None, NOW) is None
    assert RunTimes(GangsByWorkload()).duration(pods, None) is None


def test_the_deadline_of_a_job_counts_from_its_own_start() -> None:
    pods = [member("x")]

    assert of_job(RunTime(600, None, 700)).ends_at(pods, None, NOW) == 1300
    assert of_job(RunTime(None, 600, 700)).ends_at(pods, None, NOW) == 1500
    assert of_job(RunTime(600, None, 700)).duration(pods, None) == 600


def test_what_was_expected_and_has_passed_says_nothing_but_a_deadline_does() -> None:
    pods = [member("x", RunTime(expected=100))]

    assert RunTimes(GangsByWorkload()).ends_at(pods, None, NOW) is None
    assert RunTimes(GangsByWorkload()).ends_at(pods, RunTime(90), NOW) == 990


def test_only_the_gangs_of_its_pods_hear_of_a_job_and_only_news() -> None:
    gangs = GangsByWorkload()
    gangs.upsert_member(A, member("x"))
    times = RunTimes(gangs)
    problem = Problem(Reason.INVALID_SPEC, InvalidInput("x"))

    heard = [
        times.upsert("other", RunTime(1), None),
        times.upsert("uid-j", None, problem),
        times.upsert("uid-j", None, problem),
    ]

    assert heard == [set(), {A}, set()]
    assert times.problem([member("x")]) == problem
    assert times.delete("uid-j") == {A}
    assert times.problem([member("x")]) is None
