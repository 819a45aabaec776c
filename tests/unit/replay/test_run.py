"""In virtual time jobs start in turn, work is conserved, and nothing happens without an event."""

from dataclasses import replace
from random import Random

import pytest

from gang_scheduler.replay import side_by_side
from gang_scheduler.replay.run import Rules
from support.replays import Played, played, scenario, trace

WITH_PRIORITY = "name,submit,duration,pods,gpu,priority,checkpoint"


def test_a_job_starts_when_it_comes_and_ends_after_its_duration() -> None:
    found = played(["a,10,100,2,8"])

    assert [(0, 100)] == found.runs("a")
    assert found.replay.complete


def test_a_gang_waits_for_all_of_its_room() -> None:
    found = played(["a,0,100,1,8", "b,5,50,2,8"])

    assert [(100, 150)] == found.runs("b")
    assert 95 == found.life("b").wait(found.replay.now)


def test_a_gang_that_is_evicted_comes_again_and_loses_its_work() -> None:
    found = played(["low,0,1000,2,8,0,", "high,100,50,2,8,10,"], header=WITH_PRIORITY)

    assert [(101, 151)] == found.runs("high")
    assert [(0, 101), (151, 1151)] == found.runs("low")
    assert 1 == found.life("low").evictions
    assert 101 * 16 == found.life("low").lost


def test_a_gang_that_is_evicted_goes_on_from_its_last_checkpoint() -> None:
    found = played(["low,0,1000,2,8,0,40", "high,100,50,2,8,10,"], header=WITH_PRIORITY)

    assert [(0, 101), (151, 151 + 1000 - 80)] == found.runs("low")
    assert 21 * 16 == found.life("low").lost


def test_an_elastic_gang_runs_at_the_speed_of_its_members() -> None:
    rows = ["other,0,100,1,8,1", "a,0,300,2,8,1"]
    found = played(rows, header="name,submit,duration,pods,gpu,min")

    # One member for 100 seconds is 100 of 600 pod seconds; two do the rest in 250.
    ((begun, ended),) = found.runs("a")
    assert (0, 350) == (begun, ended)


def test_a_job_that_was_given_up_leaves_the_line() -> None:
    jobs = trace("a,0,100,2,8", "b,1,100,2,8", "c,2,100,2,8")
    given_up = [
        replace(job, withdrawn=job.submit + 50) if job.name == "b" else job for job in jobs.jobs
    ]
    jobs = replace(jobs, jobs=tuple(given_up))
    found = Played(jobs, scenario(jobs))

    assert found.life("b").withdrawn
    assert [] == found.runs("b")
    assert [(100, 200)] == found.runs("c")


def test_jobs_that_never_end_do_not_keep_the_replay_going() -> None:
    found = played(["a,0,never,2,8", "b,1,100,1,8"])

    assert found.life("b").began is None
    used, counted = found.work()
    assert used == pytest.approx(counted)


def test_a_replay_that_is_stopped_is_not_complete() -> None:
    jobs = trace("a,0,100,2,8", "b,500,100,2,8")
    made = side_by_side.made_of(jobs, scenario(jobs), Rules(), lambda _: None)
    made.replay.stop()
    made.replay.run()

    assert not made.replay.complete


def test_a_node_that_fails_costs_the_work_since_the_last_checkpoint() -> None:
    rules = Rules(failures=(3000, 60), seed=3, until=200_000)
    found = played(
        ["a,0,20000,2,8,600"], header="name,submit,duration,pods,gpu,checkpoint", rules=rules
    )
    life = found.life("a")

    assert life.failures > 0
    assert life.lost > 0
    used, counted = found.work()
    assert used == pytest.approx(counted)


def test_the_replay_ends_at_the_time_that_was_asked_for() -> None:
    found = played(["a,0,never,1,8", "b,0,100,1,8"], rules=Rules(until=500))

    assert found.replay.complete
    assert 500 == found.replay.now - found.replay.measures.begin
    assert [(0, 500)] == found.runs("a")


def test_latencies_delay_the_work_and_not_the_start() -> None:
    found = played(["a,0,100,1,8"], rules=Rules(bind_latency=3, start_latency=20))

    assert [(23, 123)] == found.runs("a")
    assert 0 == found.life("a").wait(found.replay.now)


def test_a_gang_that_never_fits_does_not_keep_the_replay_going() -> None:
    found = played(["a,0,100,3,8", "b,0,100,1,8"])

    assert found.life("a").began is None
    assert found.replay.now - found.replay.measures.begin < 3 * 7200


def test_an_idle_year_costs_no_cycle() -> None:
    found = played(["a,0,100,1,8", "b,31536000,100,1,8"])

    assert 2 == found.replay.measures.totals.cycles


@pytest.mark.parametrize("policy", ["as-is", "strict-fifo"])
def test_work_is_conserved_and_nobody_starts_before_it_comes(policy: str) -> None:
    dice = Random(7)  # noqa: S311 - the same seed, the same jobs.
    rows = [
        f"j{number},{dice.randrange(3000)},{dice.randrange(1, 600)},{dice.choice([1, 1, 2])},"
        f"{dice.choice([1, 2, 4, 8])},{dice.choice([0, 0, 5])},{dice.choice(['', 60])}"
        for number in range(40)
    ]
    found = played(rows, policy=policy, header=WITH_PRIORITY)

    used, counted = found.work()
    assert used == pytest.approx(counted)
    begun = [life for life in found.replay.measures.lives.values() if life.began is not None]
    assert 40 == len(begun)
    assert all(life.began is not None and life.began >= life.job.submit for life in begun)


@pytest.mark.parametrize("until", range(50, 3000, 190))
def test_work_is_conserved_at_every_instant(until: int) -> None:
    dice = Random(11)  # noqa: S311 - the same seed, the same jobs.
    rows = [
        f"j{number},{dice.randrange(2000)},{dice.randrange(1, 600)},{dice.choice([1, 1, 2])},"
        f"{dice.choice([1, 2, 4, 8])},{dice.choice([0, 0, 5])},{dice.choice(['', 60])}"
        for number in range(30)
    ]
    rules = Rules(until=until, failures=(2000, 100), seed=3)
    found = played(rows, header=WITH_PRIORITY, rules=rules)

    used, counted = found.work()
    assert used == pytest.approx(counted)


def test_no_second_has_two_cycles() -> None:
    found = played(["a,0,100,2,8", "b,0,100,2,8", "c,0,100,2,8"])

    log = found.replay.log or []
    assert [0, 100, 200] == [moment - found.replay.measures.begin for moment, *_ in log]
    # Three for events, and one whenever a gang that waits is tried again.
    totals = found.replay.measures.totals
    assert totals.cycles == 3 + totals.wakes


def test_a_gang_that_waits_for_long_is_looked_at_ever_more_rarely() -> None:
    rows = ["a,0,86400,2,8,q", "b,5,100,2,8,q"]
    found = played(rows, header="name,submit,duration,pods,gpu,queue")

    assert [(86_400, 86_500)] == found.runs("b")
    # Once an hour, and some more at the begin: each minute would be 1,440.
    assert 24 <= found.replay.measures.totals.wakes <= 40


def test_between_events_of_one_minute_no_gang_is_tried_again() -> None:
    rows = ["a,0,1000,2,8", *(f"b{number:02},{10 + 20 * number},5,1,8" for number in range(49))]
    found = played(rows)

    assert [(1000, 1005)] == found.runs("b00")
    # All known times are those of events, but for one after the last submission.
    assert found.replay.measures.totals.wakes <= 2
