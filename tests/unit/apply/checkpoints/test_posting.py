"""Requests over HTTP: which pods they reach, and what becomes of each answer."""

import asyncio
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import anyio
import msgspec
import pytest

from gang_scheduler.apply.checkpoints import AT_ONCE, AskedGang, SaveRequests, is_of_a_pod
from gang_scheduler.client.http import BrokenError
from gang_scheduler.client.interfaces import PodAnswer, PodRequest
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import (
    CheckpointMode,
    CheckpointPolicy,
    CheckpointReport,
    Request,
)
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support.builders import SCHEDULER, gang_key, pod

pytestmark = pytest.mark.looptime

NOW = 1_767_268_800
A = gang_key("a")
REQUEST = Request("r1", NOW)
POLICY = CheckpointPolicy(CheckpointMode.HTTP, port=8080, path="/save")
SAVED = PodAnswer(200, b'{"step": 7, "path": "c7"}')
UNDER_WAY = PodAnswer(202)


class Pods:
    """Answer in turn, the last answer again and again; keep what was asked."""

    def __init__(self, *answers: PodAnswer | OSError) -> None:
        self.asked: list[PodRequest] = []
        self.at_once = self.most = 0
        self._answers = list(answers)

    async def ask(self, request: PodRequest) -> PodAnswer:
        """Answer after a second."""
        self.asked.append(request)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(1)
        self.at_once -= 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


def asked(cache: Cache, policy: CheckpointPolicy = POLICY, **member: Any) -> AskedGang:
    """Return a gang whose first member is as said, once it is noted that it is asked."""
    first = pod("a-0", gang="a", node="n1", phase="Running")
    first = replace(first, **{"address": "10.0.0.7", **member})
    cache.upsert_pod(first)
    cache.checkpoints.ask(A, REQUEST, CheckpointReport(None))
    return AskedGang(A, policy, REQUEST, NOW + 30, (first,))


async def came_of(
    pods: Pods, seconds: float = 60, **how: Any
) -> tuple[CheckpointOutcome | None, str]:
    """Return what came of asking, and why that failed."""
    cache = Cache([SCHEDULER], Changes())
    with anyio.move_on_after(seconds):
        await SaveRequests(cache, pods, clock=lambda: NOW).ask(asked(cache, **how))
    last = cache.checkpoints.news[-1][1]
    return cache.checkpoints.outcome_of(A, "r1"), last.why


async def test_the_first_member_is_asked_with_the_id_of_the_request() -> None:
    pods = Pods(SAVED)

    assert (CheckpointOutcome.SAVED, "") == await came_of(pods)

    (found,) = pods.asked
    assert ("POST", "10.0.0.7", 8080, "/save", "r1") == found[:5]
    said = {"requestId": "r1", "requestedAt": "2026-01-01T12:00:00Z"}
    assert said == msgspec.json.decode(found.body or b"")


async def test_a_gang_that_takes_its_time_is_asked_again() -> None:
    pods = Pods(UNDER_WAY, UNDER_WAY, SAVED)

    assert CheckpointOutcome.SAVED is (await came_of(pods))[0]
    assert ["POST", "GET", "GET"] == [each.method for each in pods.asked]
    assert [None, None] == [each.body for each in pods.asked[1:]]


@pytest.mark.parametrize(
    "first", [PodAnswer(500), PodAnswer(503, b"x"), TimeoutError(), BrokenError("too long")]
)
async def test_no_answer_is_asked_for_again(first: PodAnswer | OSError) -> None:
    pods = Pods(first, SAVED)

    assert CheckpointOutcome.SAVED is (await came_of(pods))[0]
    assert ["POST", "POST"] == [each.method for each in pods.asked]


async def test_a_gang_that_never_answers_is_asked_until_that_is_cancelled() -> None:
    pods = Pods(ConnectionRefusedError())

    assert None is (await came_of(pods, 30))[0]
    assert 10 < len(pods.asked) < 20


@pytest.mark.parametrize(
    "answer",
    [
        PodAnswer(301, b"http://169.254.169.254/"),
        PodAnswer(307),
        PodAnswer(204),
        PodAnswer(404),
        PodAnswer(200, b"saved"),
        PodAnswer(200, b'{"step": -1}'),
    ],
)
async def test_any_other_answer_says_that_it_failed(answer: PodAnswer) -> None:
    pods = Pods(answer)

    outcome, why = await came_of(pods)

    assert (CheckpointOutcome.FAILED, 1) == (outcome, len(pods.asked))
    assert why


@pytest.mark.parametrize(
    "member",
    [
        {"address": ""},
        {"address": "evil.example.com"},
        {"address": "127.0.0.1"},
        {"address": "::1"},
        {"address": "169.254.169.254"},
        {"address": "fe80::1"},
        {"address": "::"},
        {"address": "224.0.0.1"},
        {"address": "::ffff:127.0.0.1"},
        {"address": "10.0.0.7/x"},
        {"deleting": True},
        {"policy": replace(POLICY, port=80)},
        {"policy": replace(POLICY, port=0)},
    ],
)
async def test_nothing_else_than_a_pod_is_asked(member: dict[str, Any]) -> None:
    pods = Pods(SAVED)

    outcome, _ = await came_of(pods, **member)

    assert (CheckpointOutcome.FAILED, []) == (outcome, pods.asked)


@pytest.mark.parametrize("address", ["10.0.0.7", "192.168.3.4", "100.64.0.1", "fd00::7", "8.8.8.8"])
def test_addresses_of_pods(address: str) -> None:
    assert is_of_a_pod(ip_address(address))


async def test_only_some_are_asked_at_once() -> None:
    cache = Cache([SCHEDULER], Changes())
    pods = Pods(UNDER_WAY)
    posting = SaveRequests(cache, pods, clock=lambda: NOW)
    with anyio.move_on_after(20):
        async with anyio.create_task_group() as asking:
            for _ in range(3 * AT_ONCE):
                asking.start_soon(posting.ask, asked(cache))

    assert AT_ONCE == pods.most


async def test_pods_of_one_namespace_that_are_slow_keep_those_of_no_other_from_being_asked() -> (
    None
):
    cache = Cache([SCHEDULER], Changes())
    pods = Pods(UNDER_WAY)
    posting = SaveRequests(cache, pods, clock=lambda: NOW)
    slow = asked(cache)
    other = replace(slow, key=gang_key("b", "other"), policy=replace(POLICY, path="/other"))
    with anyio.move_on_after(0.5):
        async with anyio.create_task_group() as asking:
            for _ in range(3 * AT_ONCE):
                asking.start_soon(posting.ask, slow)
            asking.start_soon(posting.ask, other)

    assert "/other" == pods.asked[-1].path
    assert AT_ONCE + 1 == len(pods.asked)
