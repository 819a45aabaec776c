"""How long requests wait before they are made again."""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest

from gang_scheduler.client.backoff import DENIED_SECONDS, MOST_DENIED, Backoff, Denials
from gang_scheduler.client.errors import ApiError


def drawing(*drawn: float) -> Callable[[], float]:
    """Return dice that fall as they are told to, and then stay."""

    def draws() -> Iterator[float]:
        yield from drawn
        while True:
            yield drawn[-1]

    return draws().__next__


def pauses(backoff: Backoff, asked_for: Iterable[float]) -> list[float]:
    return [backoff.seconds(each) for each in asked_for]


def test_each_pause_is_twice_as_long_as_the_one_before_and_none_above_the_last() -> None:
    backoff = Backoff(1, 5, draw=drawing(0.0))

    assert [1, 2, 4, 5, 5] == pauses(backoff, [0] * 5)


def test_chance_makes_each_longer_by_up_to_the_jitter() -> None:
    backoff = Backoff(1, 8, jitter=0.5, draw=drawing(0.0, 0.5, 0.25))

    assert [1, 2.5, 4.5, 9] == pauses(backoff, [0] * 4)


def test_without_jitter_nothing_is_left_to_chance() -> None:
    assert [1, 2, 4] == pauses(Backoff(1, 8, jitter=0), [0] * 3)


def test_the_server_is_not_asked_sooner_than_it_wants_nor_by_all_at_once() -> None:
    asked_for = [7.0, 7.0, 7.0]

    found = [pauses(Backoff(1, 8, 0.5, drawing(drawn)), asked_for) for drawn in (0.0, 0.5)]

    assert [[7, 7, 7], [7.25, 7.5, 8]] == found


def test_after_a_success_the_first_pause_is_the_next() -> None:
    backoff = Backoff(1, 8, draw=drawing(0.0))
    pauses(backoff, [0] * 3)

    backoff.reset()

    assert 1 == backoff.seconds()


def test_a_pause_stays_finite_however_often_requests_fail() -> None:
    assert {5.0} == set(pauses(Backoff(0.1, 5, draw=drawing(0.0)), [0] * 50_000)[10:])


def test_what_failed_together_does_not_come_back_together() -> None:
    dice = random.Random(1)  # noqa: S311 - nothing is to be kept secret.
    backoffs = [Backoff(draw=dice.random) for _ in range(64)]
    due = [0.0] * len(backoffs)

    for _ in range(8):
        due = sorted(at + each.seconds() for at, each in zip(due, backoffs, strict=True))

    busiest = max(sum(begin <= at < begin + 0.1 for at in due) for begin in due)
    assert busiest <= len(backoffs) / 4
    assert all(later > sooner for sooner, later in pairwise(due))


@pytest.mark.looptime
async def test_a_wait_is_no_longer_than_there_is_time() -> None:
    clock = asyncio.get_running_loop().time
    backoff = Backoff(1, 8, draw=drawing(0.0))

    await backoff.after(ApiError(429, "", retry_after=60), most=3)
    first = clock()
    await backoff.after(ApiError(500, ""))

    assert (3, 5) == (first, clock())


@pytest.mark.parametrize("status", [401, 403])
def test_a_denial_may_pass_at_first(status: int) -> None:
    now = [0.0]
    denials, error = Denials(lambda: now[0]), ApiError(status, "not allowed")

    found = []
    for moment in (0, 1, DENIED_SECONDS - 1, DENIED_SECONDS, DENIED_SECONDS + 20):
        now[0] = moment
        found.append(denials.may_pass(error, "a"))
    assert [True, True, True, False, False] == found
    assert denials.may_pass(error, "b")
    now[0] += DENIED_SECONDS + 1
    assert denials.may_pass(error, "a")


@pytest.mark.parametrize("status", [400, 404, 409, 422, 429, 500, 0])
def test_no_other_error_is_a_denial(status: int) -> None:
    assert not Denials(lambda: 0.0).may_pass(ApiError(status, "another error"))


def test_what_is_remembered_of_denials_is_bounded() -> None:
    denials = Denials(lambda: 0.0)

    for number in range(MOST_DENIED + 10):
        denials.may_pass(ApiError(403, "not allowed"), number)

    assert MOST_DENIED == len(denials._denied)
