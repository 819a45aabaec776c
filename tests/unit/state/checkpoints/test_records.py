"""What is known of checkpoints: reports, requests, and what statuses remember."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import (
    BY_SIGNAL,
    NO_CHECKPOINTS,
    CheckpointMode,
    CheckpointPolicy,
    CheckpointReport,
    Checkpoints,
    Request,
    Requested,
    Save,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.checkpoints import MOST_GONE, SKEW_SECONDS, CheckpointRecords
from support import cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, pod

NOW = 1_767_268_800
A = gang_key("a")
REQUEST = Request("r1", NOW - 10)
ASKED = CheckpointReport(None, by="default/high", seconds=30)


def new_cache(**spec: Any) -> Cache:
    """Return a cache with the PodGroup `a`; `spec` are fields of what it says."""
    cache = Cache([SCHEDULER], Changes(), most_checkpoints=3)
    describe(cache, **spec)
    return cache


def describe(cache: Cache, uid: str = "uid-a", **spec: Any) -> None:
    said = replace(gang_spec("a", 2, uid=uid), **spec)
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, uid, [said])


def member(number: int = 0, at: int | None = None, **says: Any) -> Pod:
    """Return a running member; it saved its work at a time, and says more in annotations."""
    done = {} if at is None else {annotations.CHECKPOINT_DONE_AT: rfc3339(at)}
    said = {f"py-gang-scheduler.io/{key.replace('_', '-')}": str(v) for key, v in says.items()}
    return pod(f"a-{number}", gang="a", node="n1", phase="Running", annotations={**done, **said})


def see(cache: Cache, *pods: Pod, now: int = NOW) -> CheckpointRecords:
    """Let pods be seen, and take in what they report."""
    for each in pods:
        cache.upsert_pod(each)
    cache.checkpoints.take_in(now)
    return cache.checkpoints


# Reports.


def test_a_gang_that_reports_nothing_has_nothing() -> None:
    found = see(new_cache(), member())

    assert (NO_CHECKPOINTS, BY_SIGNAL, 0) == (found.of(A), found.policy_of(A), found.saved_at(A))
    assert {} == found.all_saved_at()


def test_a_report_of_a_member_is_that_of_its_gang() -> None:
    cache = new_cache()
    cache.gang_queue.changed.clear()

    found = see(cache, member(0, NOW - 5, checkpoint_step=7, checkpoint_path="c7"))

    save = Save(NOW - 5, 7, "c7")
    assert Checkpoints((save,)) == found.of(A)
    assert {A: NOW - 5} == found.all_saved_at()
    assert [(A, CheckpointReport(CheckpointOutcome.SAVED, save, evicted=False))] == list(found.news)
    assert A in cache.gang_queue.changed


def test_a_report_of_the_pod_group_is_one_too() -> None:
    cache = new_cache(saved=Save(NOW - 5, 7))
    cache.checkpoints.take_in(NOW)

    assert (Save(NOW - 5, 7),) == cache.checkpoints.of(A).saves


def test_members_that_report_the_same_have_saved_once() -> None:
    cache = new_cache()

    found = see(cache, *(member(i, NOW - 5 + i, checkpoint_step=7) for i in range(3)))

    assert (Save(NOW - 3, 7),) == found.of(A).saves
    assert 1 == len(found.news)


def test_the_newest_are_kept_and_an_older_report_is_none() -> None:
    cache = new_cache()
    for step in (1, 2, 3, 4, 2):
        see(cache, member(0, NOW - 100 + step, checkpoint_step=step))

    assert [4, 3, 2] == [each.step for each in cache.checkpoints.of(A).saves]


def test_what_was_taken_in_is_not_taken_in_again() -> None:
    cache = new_cache()
    see(cache, member(0, NOW - 5))
    cache.checkpoints.news.clear()

    see(cache, member(0, NOW - 5, checkpoint_step=7))
    see(cache, member(0, NOW - 5, checkpoint_step=7), member(1, NOW - 9))

    assert 1 == len(cache.checkpoints.of(A).saves)


@pytest.mark.parametrize(
    ("ahead", "saved_at"), [(1, NOW), (SKEW_SECONDS, NOW), (SKEW_SECONDS + 1, 0), (10**9, 0)]
)
def test_a_report_from_the_future_is_of_now_if_it_is_little_ahead(
    ahead: int, saved_at: int
) -> None:
    found = see(new_cache(), member(0, NOW + ahead))

    assert saved_at == found.saved_at(A)


def test_a_pod_that_is_being_evicted_says_so_of_what_it_leaves_behind() -> None:
    cache = new_cache()
    see(cache, replace(member(0, NOW - 5), marked_as_victim=True))

    assert [True] == [each.evicted for _, each in cache.checkpoints.news]


# What statuses remember.


WRITTEN = Checkpoints(
    (Save(NOW - 500, 5, "c5"), Save(NOW - 900, 4, "c4")),
    Requested(Request("r0", NOW - 600), CheckpointOutcome.TIMED_OUT),
    resume_count=2,
)


def test_a_status_is_believed_until_something_happens_here() -> None:
    cache = new_cache(checkpoints=WRITTEN)
    assert WRITTEN == cache.checkpoints.of(A)
    assert {A: NOW - 500} == cache.checkpoints.all_saved_at()

    see(cache, member(0, NOW - 5, checkpoint_step=6))
    describe(cache, checkpoints=NO_CHECKPOINTS)

    assert [6, 5, 4] == [each.step for each in cache.checkpoints.of(A).saves]
    assert 2 == cache.checkpoints.of(A).resume_count


def test_a_report_that_the_status_has_is_no_news() -> None:
    found = see(new_cache(checkpoints=WRITTEN), member(0, NOW - 500, checkpoint_step=5))

    assert 2 == len(found.of(A).saves)
    again = see(
        new_cache(checkpoints=WRITTEN),
        member(0, NOW - 500, checkpoint_step=5, checkpoint_path="c5"),
    )
    assert [] == list(again.news)


def test_only_pods_say_that_a_request_stands() -> None:
    stands = replace(WRITTEN, requested=Requested(REQUEST))

    found = new_cache(checkpoints=stands).checkpoints

    assert found.of(A).requested is None
    assert found.standing(A) is None


def test_another_object_of_the_name_has_another_history() -> None:
    cache = new_cache()
    see(cache, member(0, NOW - 5))
    cache_feeding.delete_gang_specs(cache, POD_GROUPS.group, "uid-a")
    cache.delete_pod("uid-a-0")

    describe(cache, uid="another")

    assert NO_CHECKPOINTS == cache.checkpoints.of(A)


def test_a_gang_of_pods_alone_comes_back_under_its_name() -> None:
    cache = Cache([SCHEDULER], Changes())
    alone = pod("w-0", node="n1", annotations={annotations.CHECKPOINT_DONE_AT: rfc3339(NOW - 5)})
    see(cache, alone)
    cache.delete_pod("uid-w-0")

    cache.upsert_pod(pod("w-0", uid="next"))

    assert NOW - 5 == cache.checkpoints.saved_at(alone.gang)


# How gangs are asked.


def test_the_object_says_the_mode_before_its_members() -> None:
    by_http = CheckpointPolicy(CheckpointMode.HTTP, port=8080)
    members = (member(0, checkpoint="Annotation"), member(1))

    assert CheckpointMode.ANNOTATION is see(new_cache(), *members).policy_of(A).mode
    assert by_http == see(new_cache(checkpoint=by_http), *members).policy_of(A)


def test_an_answer_is_that_to_the_request_which_stands() -> None:
    cache = new_cache()
    see(cache, member(0, NOW - 50, checkpoint_request_id="r0"))
    cache.checkpoints.ask(A, REQUEST, ASKED)
    assert REQUEST == cache.checkpoints.standing(A)
    assert cache.checkpoints.outcome_of(A, "r1") is None

    see(cache, member(1, NOW - 3, checkpoint_request_id="r0"))
    assert cache.checkpoints.outcome_of(A, "r1") is None
    see(cache, member(0, NOW - 1, checkpoint_request_id="r1"))

    assert CheckpointOutcome.SAVED is cache.checkpoints.outcome_of(A, "r1")
    assert cache.checkpoints.standing(A) is None
    assert [None, CheckpointOutcome.SAVED] == [
        n.outcome for _, n in cache.checkpoints.news if n.evicted
    ]


def test_an_answer_counts_whatever_time_it_tells() -> None:
    cache = new_cache()
    cache.checkpoints.ask(A, REQUEST, ASKED)

    found = see(cache, member(0, NOW + 10**9, checkpoint_request_id="r1"))

    assert (CheckpointOutcome.SAVED, NOW) == (found.outcome_of(A, "r1"), found.saved_at(A))


def test_an_answer_that_was_reported_before_the_request_was_taken_over() -> None:
    cache = new_cache()
    said = {"checkpoint_request_id": "r1", "checkpoint_requested_at": rfc3339(REQUEST.at)}
    found = see(cache, member(0, NOW - 1, **said))
    assert REQUEST == found.standing(A)
    found.news.clear()

    found.ask(A, REQUEST, ASKED)

    assert CheckpointOutcome.SAVED is found.outcome_of(A, "r1")
    assert [] == list(found.news)


def test_a_request_that_is_withdrawn_was_none() -> None:
    cache = new_cache(checkpoints=WRITTEN)
    stale = member(0, checkpoint_request_id="r1", checkpoint_requested_at=rfc3339(REQUEST.at))
    found = see(cache, stale)
    found.ask(A, REQUEST, ASKED)

    found.withdraw(A, REQUEST)

    assert WRITTEN == found.of(A)
    # The pod is as it was before the request was removed from it.
    assert (None, None) == (found.standing(A), found.standing_on(stale))


def test_a_late_answer_is_a_report() -> None:
    cache = new_cache()
    cache.checkpoints.ask(A, REQUEST, ASKED)
    cache.checkpoints.gave_up(A, "r1", CheckpointOutcome.TIMED_OUT)

    found = see(cache, member(0, NOW - 1, checkpoint_request_id="r1", checkpoint_step=7))

    assert CheckpointOutcome.TIMED_OUT is found.outcome_of(A, "r1")
    assert NOW - 1 == found.saved_at(A)


def test_what_is_over_is_not_given_up() -> None:
    cache = new_cache()
    found = cache.checkpoints
    found.ask(A, REQUEST, ASKED)
    found.answered(A, Save(NOW, 7, "", "r1"), NOW)

    found.gave_up(A, "r1", CheckpointOutcome.TIMED_OUT)
    found.gave_up(A, "another", CheckpointOutcome.TIMED_OUT)

    assert CheckpointOutcome.SAVED is found.outcome_of(A, "r1")


# Bindings.


def test_bindings_tell_how_often_a_gang_went_on() -> None:
    found = see(new_cache(checkpoints=WRITTEN), member(0, resume_count=3), member(1))

    assert 3 == found.of(A).resume_count
    assert 2 == see(new_cache(checkpoints=WRITTEN), member(0, resume_count=1)).of(A).resume_count


# A replica that does not lead takes nothing in.


def test_what_members_that_are_gone_reported_takes_memory_as_what_is_remembered() -> None:
    waits, leads = new_cache(), new_cache()
    for number in range(50):
        told = [member(number, NOW - 200 + number), member(50 + number, NOW - 199 + number)]
        for cache in (waits, leads):
            for each in told:
                cache.upsert_pod(each)
                cache.delete_pod(each.uid)
        leads.checkpoints.take_in(NOW)
    reports = waits.checkpoints._reports

    assert 3 == len(reports.left[A])
    assert {} == reports._reports
    waits.checkpoints.take_in(NOW)
    assert 3 == len(waits.checkpoints.of(A).saves)
    assert leads.checkpoints.of(A) == waits.checkpoints.of(A)


def test_members_that_tell_of_one_save_do_not_hide_an_earlier_one() -> None:
    cache = new_cache()
    saves = [(NOW - 90, 1), *((NOW - 80 + number, 2) for number in range(9))]
    for number, (at, step) in enumerate(saves):
        cache.upsert_pod(member(number, at, checkpoint_step=step))
        cache.delete_pod(f"uid-a-{number}")

    cache.checkpoints.take_in(NOW)

    assert [2, 1] == [save.step for save in cache.checkpoints.of(A).saves]


def test_gangs_that_are_gone_take_memory_as_far_as_they_are_remembered() -> None:
    cache = new_cache()
    said = {annotations.CHECKPOINT_DONE_AT: rfc3339(NOW - 9), annotations.RESUME_COUNT: "2"}
    for number in range(MOST_GONE + 50):
        cache.upsert_pod(pod(f"p-{number}", node="n1", annotations=said))
        cache.delete_pod(f"uid-p-{number}")

    records = cache.checkpoints
    assert (MOST_GONE, MOST_GONE) == (len(records._reports.left), len(records._resumed))
    records.take_in(NOW)
    assert ({}, set()) == (records._taken, records.unwritten)
