"""One way to write: only as the leader, counted by the answer, and repeated while that may help."""

import asyncio
from collections.abc import Callable

import pytest

from gang_scheduler.client.backoff import DENIED_SECONDS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.writing import (
    GIVE_UP_SECONDS,
    NOT_LEADING,
    RACED,
    Refusal,
    Writes,
    count,
)
from support import metric_values

BROKEN, CONFLICT, DENIED = ApiError(500, "broken"), ApiError(409, "newer"), ApiError(403, "no")
GONE, REFUSED = ApiError(404, "gone"), ApiError(422, "no pod")
WRITES = "pgs_writes_total"


def answering(*answers: ApiError | None) -> tuple[Callable[[], asyncio.Future[None]], list[float]]:
    """Return a write with these answers, the last one again and again, and when it was sent."""
    sent: list[float] = []

    def write() -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        answer = answers[min(len(sent), len(answers) - 1)]
        sent.append(loop.time())
        done: asyncio.Future[None] = loop.create_future()
        if answer is None:
            done.set_result(None)
        else:
            done.set_exception(answer)
        return done

    return write, sent


async def test_a_write_is_sent_once_and_counted() -> None:
    write, sent = answering(None)

    with metric_values.growing(WRITES) as grown:
        assert await Writes().send("thing", write) is None

    assert 1 == len(sent)
    assert {("written", "thing"): 1} == grown


@pytest.mark.parametrize(
    ("error", "passes"), [(BROKEN, True), (DENIED, True), (CONFLICT, False), (REFUSED, False)]
)
async def test_a_write_that_fails_is_not_repeated_unless_there_is_time(
    error: ApiError, *, passes: bool
) -> None:
    write, sent = answering(error)

    assert Refusal(error, passes) == await Writes().send("thing", write)
    assert 1 == len(sent)


@pytest.mark.looptime
async def test_a_write_is_repeated_while_its_answers_may_pass() -> None:
    write, sent = answering(BROKEN, CONFLICT, DENIED, None)

    with metric_values.growing(WRITES) as grown:
        refusal = await Writes().send("thing", write, passing=RACED, seconds=GIVE_UP_SECONDS)

    assert refusal is None
    assert 4 == len(sent)
    assert {(each, "thing"): 1 for each in ("unknown", "conflict", "denied", "written")} == grown


@pytest.mark.looptime
async def test_a_write_is_given_up_when_its_time_is_over() -> None:
    write, sent = answering(BROKEN)

    assert Refusal(BROKEN, passes=True) == await Writes().send("thing", write, seconds=60)
    assert 60 == sent[-1]


@pytest.mark.looptime
async def test_writes_on_the_same_subject_are_denied_together() -> None:
    writes = Writes()
    write, sent = answering(DENIED)

    await writes.send("thing", write, about="a", seconds=DENIED_SECONDS + 1)
    assert DENIED_SECONDS <= sent[-1]

    assert Refusal(DENIED, passes=False) == await writes.send("thing", write, about="a")
    assert Refusal(DENIED, passes=True) == await writes.send("thing", write, about="b")
    assert Refusal(DENIED, passes=True) == await writes.send("other", write, about="a")


@pytest.mark.looptime
async def test_nothing_is_sent_once_another_replica_may_lead() -> None:
    write, sent = answering(BROKEN)

    assert NOT_LEADING == await Writes(lambda: len(sent) < 2).send("thing", write, seconds=60)
    assert 2 == len(sent)


@pytest.mark.looptime
async def test_a_write_that_is_needed_no_longer_is_not_repeated() -> None:
    write, sent = answering(BROKEN)

    assert NOT_LEADING == await Writes().send(
        "thing", write, seconds=60, as_long_as=lambda: len(sent) < 3
    )
    assert 3 == len(sent)


async def test_an_error_that_is_no_answer_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        await Writes().send("thing", fail)


@pytest.mark.parametrize(
    ("refusal", "is_gone", "is_final"),
    [
        (Refusal(GONE), True, False),
        (Refusal(CONFLICT), True, False),
        (NOT_LEADING, True, False),
        (Refusal(REFUSED), False, True),
        (Refusal(DENIED), False, True),
        (Refusal(DENIED, passes=True), False, False),
        (Refusal(BROKEN, passes=True), False, False),
    ],
    ids=str,
)
def test_what_a_refusal_means(refusal: Refusal, *, is_gone: bool, is_final: bool) -> None:
    assert (is_gone, is_final) == (refusal.is_gone, refusal.is_final)


def test_a_refusal_has_what_the_answer_says() -> None:
    throttled = Refusal(ApiError(429, "later", retry_after=7))

    assert (Kind.THROTTLED, 7) == (throttled.kind, throttled.retry_after)
    assert (None, 0) == (NOT_LEADING.kind, NOT_LEADING.retry_after)


def test_other_results_are_counted_by_their_names() -> None:
    with metric_values.growing(WRITES) as grown:
        count("event", "dropped")
        count("event", BROKEN)

    assert {("dropped", "event"): 1, ("unknown", "event"): 1} == grown
