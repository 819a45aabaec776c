"""When gangs will have ended, by the smallest of what pods, PodGroups and Jobs declare."""

from dataclasses import replace

import pytest

from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.state.gangs.run_times import RunTimes
from gang_scheduler.state.gangs.workloads import GangsByWorkload
from support.builders import gang_key, pod

A = gang_key("a")
NOW = 1000


def member(name: str, run_time: RunTime | None = None, started_at: int = 900) -> Pod:
    made = pod(name, gang="a", job="j", node="n")
    return replace(made, run_time=run_time, started_at=started_at)


def of_job(said: RunTime) -> RunTimes:
    times = RunTimes(GangsByWorkload().of)
    times.upsert("uid-j", said, None)
    return times


def test_the_smallest_of_a_pod_counts_and_the_latest_of_its_gang() -> None:
    pods = [member("x", RunTime(500, 300)), member("y", RunTime(250), started_at=980)]

    assert RunTimes(GangsByWorkload().of).end_of(pods, None, NOW).at == 1230
    assert RunTimes(GangsByWorkload().of).end_of(pods, RunTime(expected=200), NOW).at == 1180
    assert RunTimes(GangsByWorkload().of).duration(pods, None) == 300


def test_one_pod_without_an_end_leaves_the_end_unknown() -> None:
    pods = [member("x", RunTime(500)), member("y")]

    assert RunTimes(GangsByWorkload().of).end_of(pods, None, NOW).at is None
    assert RunTimes(GangsByWorkload().of).duration(pods, None) is None


def test_the_deadline_of_a_job_counts_from_its_own_start() -> None:
    pods = [member("x")]

    assert of_job(RunTime(600, None, 700)).end_of(pods, None, NOW).at == 1300
    assert of_job(RunTime(None, 600, 700)).end_of(pods, None, NOW).at == 1500
    assert of_job(RunTime(600, None, 700)).duration(pods, None) == 600


def test_what_was_expected_and_has_passed_says_nothing_but_a_deadline_does() -> None:
    pods = [member("x", RunTime(expected=100))]

    assert RunTimes(GangsByWorkload().of).end_of(pods, None, NOW).at is None
    assert RunTimes(GangsByWorkload().of).end_of(pods, RunTime(90), NOW).at == 990


@pytest.mark.parametrize(
    ("run_time", "started_at", "holds"),
    [
        (RunTime(expected=200), 900, "1000 1099"),
        (RunTime(500, 200), 900, "1000 1099"),
        (RunTime(500), 900, "1000 1099 1100 9999"),
        (None, 900, "1000 1099 1100 9999"),
        (RunTime(expected=50), 900, "1000 1099 1100 9999"),
        (RunTime(expected=50), 0, "1000"),
    ],
)
def test_an_end_holds_until_an_expected_one_passes(
    run_time: RunTime | None, started_at: int, holds: str
) -> None:
    pods, times = [member("x", run_time, started_at)], RunTimes(GangsByWorkload().of)
    end = times.end_of(pods, None, NOW)

    found = [each for each in (999, 1000, 1099, 1100, 9999) if end.holds(each, times.version)]

    assert holds == " ".join(map(str, found))
    assert {end.at} == {times.end_of(pods, None, each).at for each in found}


def test_an_end_holds_until_a_job_declares_something_else() -> None:
    times = of_job(RunTime(600))
    end = times.end_of([member("x")], None, NOW)
    held = []
    for said in (RunTime(600), RunTime(700)):
        times.upsert("uid-j", said, None)
        held.append(end.holds(NOW, times.version))
    end = times.end_of([member("x")], None, NOW)
    times.delete("uid-other")
    held.append(end.holds(NOW, times.version))
    times.delete("uid-j")
    held.append(end.holds(NOW, times.version))

    assert [True, False, True, False] == held


def test_only_the_gangs_of_its_pods_hear_of_a_job_and_only_news() -> None:
    gangs = GangsByWorkload()
    gangs.upsert_member(A, member("x"))
    times = RunTimes(gangs.of)
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
