"""Which lists and watches of Kopf are answered."""

from typing import Any

import aiohttp
import pytest
from kopf._cogs.clients import api

from gang_scheduler.api.kinds import PODS
from gang_scheduler.watch import kopf, synced
from support.metric_values import growing, sample

GIVEN = aiohttp.ClientTimeout(total=330, sock_connect=10)
LIST, WATCH = "/api/v1/pods?limit=500", "/api/v1/pods?watch=true&allowWatchBookmarks=true"


@pytest.fixture
def answers(
    monkeypatch: pytest.MonkeyPatch, timeouts: list[aiohttp.ClientTimeout]
) -> list[BaseException | None]:
    """Have Kopf's requests answered so: with an error, or well."""
    found: list[BaseException | None] = []

    async def request(*_: object, timeout: aiohttp.ClientTimeout, **__: Any) -> None:  # noqa: ASYNC109 - Kopf's signature.
        timeouts.append(timeout)
        if (error := found.pop(0)) is not None:
            raise error

    monkeypatch.setattr(api, "request", request)
    return found


@pytest.fixture
def timeouts() -> list[aiohttp.ClientTimeout]:
    """Note how long each of the requests may take."""
    return []


async def ask(url: str, method: str = "get") -> None:
    await api.request(method, url, timeout=GIVEN)  # type: ignore[call-arg] # the test's own takes anything.


async def test_a_list_after_the_first_one_is_counted(answers: list[BaseException | None]) -> None:
    answers += [None] * 5
    with (
        growing("pgs_relists_total") as grown,
        kopf.seen({PODS: "toys"}, silence_seconds=20),
    ):
        await ask(LIST)
        await ask(WATCH)
        await ask(f"{LIST}&continue=abc")
        await ask("/api/v1/namespaces/ns/pods/a", "patch")
        await ask(LIST)

    assert {("toys",): 1} == grown
    synced.not_served("toys")


async def test_only_what_is_answered_is_a_sign_of_life(answers: list[BaseException | None]) -> None:
    answers += [TimeoutError(), None]
    with kopf.seen({PODS: "toys"}, silence_seconds=20):
        with pytest.raises(TimeoutError):
            await ask(WATCH)
        assert sample("pgs_watch_age_seconds", kind="toys") is None

        await ask(WATCH)
        assert sample("pgs_watch_age_seconds", kind="toys") is not None
    synced.not_served("toys")


async def test_every_watch_may_be_silent_for_so_long_and_lists_are_left_alone(
    answers: list[BaseException | None], timeouts: list[aiohttp.ClientTimeout]
) -> None:
    answers += [None, None]
    with kopf.seen({}, silence_seconds=20):
        await ask(WATCH)
        await ask(LIST)

    assert [aiohttp.ClientTimeout(total=330, sock_connect=10, sock_read=20), GIVEN] == timeouts


async def test_afterwards_kopf_asks_as_before(answers: list[BaseException | None]) -> None:
    before = api.request
    with kopf.seen({}, silence_seconds=20):
        assert api.request is not before
    assert api.request is before
    assert [] == answers
