"""Gangs that are asked over HTTP before they are evicted, and gangs that are asked in no way."""

import asyncio
from collections.abc import Mapping

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import POD_GROUPS, PODS
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.client.interfaces import PodAnswer, PodRequest
from gang_scheduler.client.pod_http import _bytes_of
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.report.checkpoints import EvictionWriter
from gang_scheduler.report.queues.gang_texts import EvictionTexts
from integration.support.saving_gangs import (
    LOW,
    TIMEOUT,
    counts,
    last_save,
    nothing_is_left,
    outcome,
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
from support.parts import Modes
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

BY_HTTP = {
    annotations.CHECKPOINT: "HTTP",
    annotations.CHECKPOINT_PORT: "8080",
    annotations.CHECKPOINT_PATH: "/save",
}
SAVED = PodAnswer(200, b'{"step": 7, "path": "s3://bucket/7"}')


class Pods:
    """Answer 202 until it is time, then another answer."""

    def __init__(self, answer: PodAnswer = SAVED, after_seconds: float = 0) -> None:
        self.asked: list[PodRequest] = []
        self._answer = answer
        self._after = after_seconds
        self._begun: float | None = None

    async def ask(self, request: PodRequest) -> PodAnswer:
        """Answer at once."""
        now = asyncio.get_running_loop().time()
        self._begun = now if self._begun is None else self._begun
        self.asked.append(request)
        return self._answer if now - self._begun >= self._after else PodAnswer(202)


def of_http(says: Mapping[str, str] = BY_HTTP) -> FakeWorkloads:
    """Return the cluster with a gang of low priority whose pods have addresses."""
    made = workloads(says)
    for number in range(VICTIMS):
        with made.cluster.changing(PODS, NAMESPACE, f"low-{number}") as found:
            found["status"]["podIP"] = f"10.0.0.{number + 1}"
    return made


async def test_the_first_member_answers_for_its_gang() -> None:
    made, pods = of_http(), Pods(after_seconds=TIMEOUT / 2)
    async with SchedulerProcess(made, modes=Modes(http=pods)) as process:
        await process.until(lambda: bool(pods.asked))
        with pytest.raises(TimeoutError):
            await process.until(lambda: bool(made.marked()), TIMEOUT / 2 - 1)
        await process.until(lambda: is_bound(made), TIMEOUT / 4)

        assert CheckpointOutcome.SAVED is outcome(process)
        save = last_save(process)
        assert save is not None
        assert (7, "s3://bucket/7") == (save.step, save.path)
    assert {("10.0.0.1", 8080, "/save")} == {each[1:4] for each in pods.asked}
    assert 1 == len({each.id for each in pods.asked})
    assert "annotate_pod" not in counts(process)
    assert_the_right_ones_went(made)


async def test_a_gang_that_is_not_done_in_time_is_asked_no_longer() -> None:
    made, pods = of_http(), Pods(after_seconds=10**6)
    async with SchedulerProcess(made, modes=Modes(http=pods)) as process:
        await process.until(lambda: is_bound(made))
        asked = len(pods.asked)
        await asyncio.sleep(TIMEOUT)

        assert (CheckpointOutcome.TIMED_OUT, asked) == (outcome(process), len(pods.asked))
    assert TIMEOUT - 3 <= asked <= TIMEOUT + 3
    assert_the_right_ones_went(made)


async def test_a_gang_that_cannot_save_its_work_is_evicted_at_once() -> None:
    made = of_http()
    async with SchedulerProcess(made, modes=Modes(http=Pods(PodAnswer(404)))) as process:
        await process.until(lambda: is_bound(made), TIMEOUT / 4)

        assert CheckpointOutcome.FAILED is outcome(process)


@pytest.mark.parametrize("forged", ["é", "a\r\nX: y", "", " ", "r" * 65])
async def test_no_id_that_users_forge_keeps_a_gang_from_being_evicted(forged: str) -> None:
    class Encoding(Pods):
        async def ask(self, request: PodRequest) -> PodAnswer:
            """Answer, once the request is encoded as it is sent."""
            _bytes_of(request)
            return await super().ask(request)

    made, pods = of_http(), Encoding()
    for number in range(VICTIMS):
        with made.cluster.changing(PODS, NAMESPACE, f"low-{number}") as found:
            said = found["metadata"].setdefault("annotations", {})
            said[annotations.CHECKPOINT_REQUEST_ID] = forged
            said[annotations.CHECKPOINT_REQUESTED_AT] = "2099-01-01T00:00:00Z"
    async with SchedulerProcess(made, modes=Modes(http=pods)) as process:
        await process.until(lambda: is_bound(made), TIMEOUT)

    assert {forged}.isdisjoint({each.id for each in pods.asked})
    assert_the_right_ones_went(made)


async def test_a_gang_whose_plan_is_void_is_asked_no_longer() -> None:
    made, pods = of_http(), Pods(after_seconds=10**6)
    async with SchedulerProcess(made, modes=Modes(http=pods)) as process:
        await process.until(lambda: len(pods.asked) > 1)
        for i in range(MEMBERS):
            made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
        await asyncio.sleep(2)
        asked = len(pods.asked)
        await asyncio.sleep(2 * TIMEOUT)

        assert (None, asked) == (outcome(process), len(pods.asked))
    assert ["n1"] * VICTIMS == made.nodes("low")


@pytest.mark.parametrize("done", [False, True], ids=["saving", "saved"])
async def test_a_next_life_asks_by_the_same_id_in_the_time_that_is_left(*, done: bool) -> None:
    made, pods = of_http(), Pods(after_seconds=10**6)
    async with SchedulerProcess(made, modes=Modes(http=pods)) as first:
        await first.until(lambda: len(pods.asked) > 1)
        await asyncio.sleep(TIMEOUT / 2)
    later = Pods(after_seconds=0 if done else 10**6)
    begun = asyncio.get_running_loop().time()
    async with SchedulerProcess(made, modes=Modes(http=later)) as second:
        await second.until(lambda: is_bound(made))
        found, last = outcome(second), last_save(second)

    assert {each.id for each in pods.asked} == {each.id for each in later.asked}
    assert asyncio.get_running_loop().time() - begun <= TIMEOUT / 2 + 3
    assert (CheckpointOutcome.SAVED if done else CheckpointOutcome.TIMED_OUT) is found
    assert done == (last is not None)
    assert_the_right_ones_went(made)


async def test_a_next_life_withdraws_what_is_noted_for_a_preemptor_that_is_gone() -> None:
    made, pods = of_http(), Pods(after_seconds=10**6)
    async with SchedulerProcess(made, modes=Modes(http=pods)) as first:
        await first.until(lambda: bool(pods.asked))
    for i in range(MEMBERS):
        made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
    made.pod("late", priority=0)
    assert ["low-0"] == list(requests(made))
    async with SchedulerProcess(made, modes=Modes(http=Pods())) as second:
        await second.until(lambda: nothing_is_left(made))

    assert ["n1"] * VICTIMS == made.nodes("low")


async def test_without_the_setting_no_gang_is_asked_over_http() -> None:
    made = of_http()
    async with SchedulerProcess(made, modes=Modes(annotates=True)) as process:
        await process.until(lambda: is_bound(made), TIMEOUT / 2)

        assert outcome(process) is None
    assert_the_right_ones_went(made)


async def test_what_was_saved_is_written_before_the_first_pod_is_deleted() -> None:
    made = of_http()
    async with SchedulerProcess(made, modes=Modes(http=Pods())) as process:
        texts = EvictionTexts(process.cache, Naming())
        process.evictor._remember = EvictionWriter(
            process.api, process.cache, texts, Writes()
        ).write
        await process.until(lambda: is_bound(made))
        calls = [call.method for call in process.api.calls]

    written = calls.index("patch_status")
    assert "delete_pod" not in calls[:written]
    status = made.cluster.get(POD_GROUPS, NAMESPACE, "low")["status"]
    found = status["checkpoint"]
    assert ("Saved", 7, "s3://bucket/7") == (found["outcome"], found["step"], found["path"])
    assert [7] == [each["step"] for each in status["checkpoints"]]


async def test_a_gang_that_is_bound_again_gets_its_checkpoint_to_continue_from() -> None:
    made = of_http()
    async with SchedulerProcess(made, modes=Modes(http=Pods())) as process:
        await process.until(lambda: is_bound(made))
        for i in range(MEMBERS):
            made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
        for i in range(VICTIMS):
            made.pod(f"low-{i + VICTIMS}", gang="low", priority=1)
        await process.until(lambda: len([n for n in made.nodes("low") if n]) == VICTIMS)

        (_, *bound) = [call for call in process.api.calls if call.method == "bind"]
        said = [call.arguments["annotations"] for call in bound if call.name.startswith("low-")]
        assert [("s3://bucket/7", "7", "1")] * VICTIMS == [
            tuple(each[f"py-gang-scheduler.io/resume-{key}"] for key in ("path", "step", "count"))
            for each in said
        ]
        await process.until(lambda: _resumes(process) == 1)


def _resumes(process: SchedulerProcess) -> int:
    process.cache.checkpoints.take_in(2**40)
    return process.cache.checkpoints.of(LOW).resume_count
