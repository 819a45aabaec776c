"""Gangs save their work before they are evicted: what stands on their pods, and for how long."""

import asyncio
from collections.abc import Callable

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import NODES, POD_GROUPS, PODS
from gang_scheduler.apply.checkpoints import Annotating
from gang_scheduler.apply.preemption_run import StepWriter
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, FakeApi, Fault
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import BY_SIGNAL, CheckpointPolicy
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from integration.support.saving_gangs import (
    STAGES,
    TIMEOUT,
    answer,
    answer_on_pod_group,
    counts,
    last_save,
    nothing_is_left,
    outcome,
    process_of,
    requests,
    workloads,
)
from integration.support.victims_and_preemptor import (
    MEMBERS,
    NAMESPACE,
    VICTIMS,
    assert_the_right_ones_went,
    is_bound,
)
from support import api_objects, builders
from support.builders import gang_key
from support.parts import Modes
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

ALL = [f"low-{number}" for number in range(VICTIMS)]


async def until_asked(process: SchedulerProcess) -> None:
    """Wait until all victims are asked, and this is seen."""
    made = process.workloads
    await process.until(lambda: sorted(requests(made)) == ALL)


def is_evicted(made: FakeWorkloads) -> bool:
    """Return whether any victim is marked or gone."""
    return bool(made.marked()) or len(made.nodes("low")) < VICTIMS


def reason(process: SchedulerProcess) -> Reason | None:
    """Return why the preemptor waits."""
    refusal = process.cache.gang_queue.infos[gang_key("high")].verdict.refusal
    return refusal.reason if refusal is not None else None


# Answers.


@pytest.mark.parametrize("answers", [answer, answer_on_pod_group])
async def test_no_pod_is_marked_before_its_gang_has_answered(
    answers: Callable[[FakeWorkloads], None],
) -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        with pytest.raises(TimeoutError):
            await process.until(lambda: is_evicted(made), TIMEOUT / 2)
        assert ["n1"] * VICTIMS == made.nodes("low")
        assert 1 == len(set(requests(made).values()))

        answers(made)
        await process.until(lambda: is_bound(made), TIMEOUT / 4)

        assert list(STAGES) == counts(process)
        assert CheckpointOutcome.SAVED is outcome(process)
        save = last_save(process)
        assert save is not None
        assert (7, "s3://bucket/7") == (save.step, save.path)
        assert_the_right_ones_went(made)


async def test_an_earlier_report_is_no_answer() -> None:
    made = workloads()
    for name in ALL:
        with made.cluster.changing(PODS, NAMESPACE, name) as found:
            said = {annotations.CHECKPOINT_DONE_AT: "2026-01-01T00:00:00Z"}
            found["metadata"]["annotations"] = said
    async with process_of(made) as process:
        await until_asked(process)
        with pytest.raises(TimeoutError):
            await process.until(lambda: is_evicted(made), TIMEOUT / 2)

        assert outcome(process) is None
        assert last_save(process) is not None


async def test_an_answer_to_another_request_is_none() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        answer(made, "low", POD_GROUPS, **{annotations.CHECKPOINT_REQUEST_ID: "another"})
        with pytest.raises(TimeoutError):
            await process.until(lambda: is_evicted(made), TIMEOUT / 2)

        assert outcome(process) is None


async def test_a_gang_that_does_not_answer_is_evicted_when_its_time_is_over() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        begun = asyncio.get_running_loop().time()
        await process.until(lambda: is_evicted(made))

        assert TIMEOUT - 2 <= asyncio.get_running_loop().time() - begun <= TIMEOUT + 2
        await process.until(lambda: is_bound(made))
        assert CheckpointOutcome.TIMED_OUT is outcome(process)
        assert_the_right_ones_went(made)


async def test_a_request_that_users_forge_of_a_time_to_come_gives_them_no_more_time() -> None:
    made = workloads()
    for name in ALL:
        with made.cluster.changing(PODS, NAMESPACE, name) as found:
            found["metadata"]["annotations"] = {
                annotations.CHECKPOINT_REQUEST_ID: "forged",
                annotations.CHECKPOINT_REQUESTED_AT: "9999-01-01T00:00:00Z",
            }
    async with process_of(made) as process:
        await process.until(lambda: reason(process) is Reason.WAITING_FOR_CHECKPOINT)
        begun = asyncio.get_running_loop().time()
        await process.until(lambda: is_evicted(made))

        assert asyncio.get_running_loop().time() - begun <= TIMEOUT + 2
        await process.until(lambda: is_bound(made))
    assert_the_right_ones_went(made)


@pytest.mark.parametrize(("asked", "most", "gets"), [("10s", 300, 10), ("1h", 60, 60)])
async def test_a_gang_says_how_long_it_takes_up_to_the_setting(
    asked: str, most: int, gets: int
) -> None:
    made = workloads(more={annotations.CHECKPOINT_TIMEOUT: asked})
    async with process_of(made, modes=Modes(annotates=True, most_seconds=most)) as process:
        await until_asked(process)
        begun = asyncio.get_running_loop().time()
        await process.until(lambda: is_evicted(made))

        assert gets - 2 <= asyncio.get_running_loop().time() - begun <= gets + 2


async def test_a_gang_that_has_ended_meanwhile_is_not_waited_for() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        for name in ALL:
            with made.cluster.changing(PODS, NAMESPACE, name) as found:
                found["status"]["phase"] = "Succeeded"
        await process.until(lambda: is_bound(made), TIMEOUT / 2)

        assert "delete_pod" not in counts(process)
        assert outcome(process) is None


# What the preemptor says.


async def test_the_preemptor_says_what_it_waits_for() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        await process.until(lambda: reason(process) is Reason.WAITING_FOR_CHECKPOINT, 5)
        queue = process.cache.gang_queue
        assert (1, 0) == (
            queue.waiting[Reason.WAITING_FOR_CHECKPOINT],
            queue.waiting[Reason.WAITING_FOR_VICTIMS],
        )
        queue.room_freed()
        process.changes.cycle.set()
        await asyncio.sleep(5)
        assert Reason.WAITING_FOR_CHECKPOINT is reason(process)
        for name in ALL:
            with made.cluster.changing(PODS, NAMESPACE, name) as found:
                found["metadata"]["finalizers"] = ["example.com/held"]
        answer(made)

        await process.until(lambda: all(made.pods()[name].deleting for name in ALL))
        assert Reason.WAITING_FOR_VICTIMS is reason(process)


async def test_preemptions_that_wait_hold_up_no_others() -> None:
    made = FakeWorkloads(*(f"n{i}" for i in range(21)))
    slow = {annotations.CHECKPOINT: "Annotation", annotations.CHECKPOINT_TIMEOUT: "5m"}
    for i in range(20):
        made.gang(f"low{i}", 4, priority=1, node=f"n{i}", says=slow)
    made.gang("fast", 4, priority=2, node="n20")
    for i in range(21):
        made.gang(f"high{i}", 4, priority=10)
    async with process_of(made) as process:
        await process.until(lambda: bool(process.writes()) and not made.nodes("fast"), 60)

        assert 80 == len(requests(made))
        assert [] == [name for name in made.marked() if name.startswith("low")]


# Void plans.


async def test_a_preemptor_that_is_deleted_meanwhile_has_the_request_withdrawn() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        for i in range(MEMBERS):
            made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
        await process.until(lambda: nothing_is_left(made), TIMEOUT / 2)
        await asyncio.sleep(2 * TIMEOUT)

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert outcome(process) is None
        assert not {"patch_pod_condition", "delete_pod"} & set(counts(process))


def test_the_policy_of_a_gang_is_looked_for_once_however_many_members_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = Cache([builders.SCHEDULER], Changes())
    asked: list[GangKey] = []

    def policy_of(key: GangKey) -> CheckpointPolicy:
        asked.append(key)
        return BY_SIGNAL

    monkeypatch.setattr(cache.checkpoints, "policy_of", policy_of)
    writer = StepWriter(1, Writes())
    pods = [builders.pod(f"low-{number}", gang="low") for number in range(100)]
    steps = [*Annotating(FakeApi(), cache.checkpoints, writer).withdrawals(pods)]

    assert (100, 1) == (len(steps), len(asked))


async def test_a_preemptor_that_finds_room_elsewhere_has_the_request_withdrawn() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        made.cluster.put(
            NODES,
            api_objects.node_body("n3", allocatable={"cpu": "4", "memory": "8Gi", "pods": "9"}),
        )
        await process.until(lambda: is_bound(made) and not requests(made), TIMEOUT / 2)
        await asyncio.sleep(2 * TIMEOUT)

        assert ["n3"] * MEMBERS == made.nodes("high")
        assert ["n1"] * VICTIMS == made.nodes("low")
        assert nothing_is_left(made)


async def test_a_gang_that_was_spared_is_asked_anew_another_time() -> None:
    made = workloads()
    async with process_of(made) as process:
        await until_asked(process)
        first = set(requests(made).values())
        for i in range(MEMBERS):
            made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
        await process.until(lambda: nothing_is_left(made))
        for i in range(MEMBERS):
            made.pod(f"high-{i + 5}", gang="high", priority=10)
        await until_asked(process)
        assert first.isdisjoint(requests(made).values())
        answer(made)
        await process.until(lambda: is_bound(made))

        assert CheckpointOutcome.SAVED is outcome(process)


# Faults.


@pytest.mark.parametrize("status", [0, 429, 500])
@pytest.mark.parametrize("after", [False, True])
async def test_a_request_that_failed_for_now_is_sent_again(status: int, *, after: bool) -> None:
    made = workloads()
    async with process_of(made) as process:
        process.api.fail("annotate_pod", Fault(ApiError(status, "for now"), after=after))
        await until_asked(process)
        answer(made)
        await process.until(lambda: is_bound(made))

        assert_the_right_ones_went(made)


async def test_a_gang_that_cannot_be_asked_is_evicted_at_once() -> None:
    made = workloads()
    async with process_of(made) as process:
        process.api.fail("annotate_pod", *[Fault(ApiError(422, "invalid"))] * VICTIMS)
        await process.until(lambda: is_bound(made), TIMEOUT / 2)

        assert CheckpointOutcome.FAILED is outcome(process)
        assert_the_right_ones_went(made)


async def test_without_the_setting_no_gang_is_asked() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        await process.until(lambda: is_bound(made), TIMEOUT / 2)

        assert "annotate_pod" not in counts(process)
        assert_the_right_ones_went(made)


async def test_a_replica_that_does_not_lead_any_more_leaves_the_request() -> None:
    made, leads = workloads(), True
    async with process_of(made, may_write=lambda: leads) as process:
        await until_asked(process)
        leads = False
        written = len(process.writes())
        await asyncio.sleep(2 * TIMEOUT)

        assert written == len(process.writes())
        assert ALL == sorted(requests(made))


# Restarts.


WRITES = MEMBERS + VICTIMS + VICTIMS + VICTIMS + MEMBERS


@pytest.mark.parametrize("number", range(WRITES))
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_kill_between_two_writes_the_next_life_ends_as_the_first_would_have(
    number: int, *, after: bool
) -> None:
    made = workloads()
    answered = False

    def script(_: Call) -> None:
        nonlocal answered
        if sorted(requests(made)) == ALL and not answered:
            answered = True
            answer(made)

    async with process_of(made) as first:
        first.hang_from(number, after=after)
        first.api.scripts.insert(0, script)
        await first.until(lambda: len(first.writes()) > number or sorted(requests(made)) == ALL, 9)
        if not answered and sorted(requests(made)) == ALL:
            answered = True
            answer(made)
        await first.until(lambda: len(first.writes()) > number)
    async with process_of(made) as second:
        second.api.scripts.insert(0, script)
        await second.until(lambda: is_bound(made) and not made.nodes("low"))
        found = outcome(second)

    assert_the_right_ones_went(made)
    assert found is not CheckpointOutcome.FAILED


async def test_a_next_life_takes_over_what_stands_on_the_pods() -> None:
    made = workloads()
    async with process_of(made) as first:
        await until_asked(first)
        asked = requests(made)
        await asyncio.sleep(TIMEOUT / 2)
    begun = asyncio.get_running_loop().time()
    async with process_of(made) as second:
        await second.until(lambda: reason(second) is Reason.WAITING_FOR_CHECKPOINT)
        assert asked == requests(made)
        assert [] == second.writes()
        await second.until(lambda: is_evicted(made))

        # The time goes on that has begun.
        assert TIMEOUT / 2 - 2 <= asyncio.get_running_loop().time() - begun <= TIMEOUT / 2 + 2
        await second.until(lambda: is_bound(made))
    assert_the_right_ones_went(made)


@pytest.mark.parametrize("asked", [1, VICTIMS], ids=["one", "all"])
async def test_a_next_life_keeps_to_victims_that_were_asked_though_others_are_cheaper(
    asked: int,
) -> None:
    made = workloads()
    async with process_of(made) as first:
        first.hang_from(MEMBERS + asked, after=False)
        await first.until(lambda: len(requests(made)) == asked)
    before = set(requests(made).values())
    offered = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    made.cluster.put(NODES, api_objects.node_body("n3", allocatable=offered))
    made.gang("free", VICTIMS, priority=0, node="n3")
    async with process_of(made) as second:
        await second.until(lambda: is_bound(made))
        requested = second.cache.checkpoints.of(gang_key("low")).requested

    assert requested is not None
    assert before == {requested.request.id}
    assert ["n3"] * VICTIMS == made.nodes("free")
    assert_the_right_ones_went(made)


async def test_a_next_life_finds_an_answer_that_came_between() -> None:
    made = workloads()
    async with process_of(made) as first:
        await until_asked(first)
    answer(made, "low-2")
    async with process_of(made) as second:
        await second.until(lambda: is_bound(made), TIMEOUT / 2)

        assert CheckpointOutcome.SAVED is outcome(second)
        assert "annotate_pod" not in counts(second)
    assert_the_right_ones_went(made)


async def test_a_next_life_withdraws_what_is_asked_for_a_preemptor_that_is_gone() -> None:
    made = workloads()
    async with process_of(made) as first:
        await until_asked(first)
    for i in range(MEMBERS):
        made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
    made.pod("late", priority=0)
    async with process_of(made) as second:
        await second.until(lambda: nothing_is_left(made))

        assert not {"patch_pod_condition", "delete_pod"} & set(counts(second))
    assert ["n1"] * VICTIMS == made.nodes("low")
