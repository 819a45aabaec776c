"""How much of the machine a tried job may take, and what a user that waits is told."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.page import trials
from gang_scheduler.page.trials import Busy, Gone, Turns
from gang_scheduler.page.view import Reading
from support.listed_clusters import gang, node
from support.page_users import NODES, PODS, Known, bearer, by_token, opened_for
from support.pages import source_of

CLUSTER = [node(f"node-{number}") for number in range(4)] + gang("runs", 1, nodes=["node-0"])
TRY = "/try?name=small&namespace=team&nodes=1&gpus=8"


class Clock:
    """A clock that goes on while something sleeps or works. `slept` are the pauses."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Sleep in no time."""
        self.slept.append(seconds)
        self.now += seconds

    def taking(self, seconds: float, name: str, done: list[str]) -> Callable[[], str]:
        """Return a work that takes this long."""

        def work() -> str:
            self.now += seconds
            done.append(name)
            return name

        return work

    def turns(self) -> Turns:
        """Return turns by this clock."""
        return Turns(lambda: self.now, self.sleep)


def always() -> bool:
    return True


async def test_works_take_turns_with_pauses_as_long_as_they_took() -> None:
    clock, done = Clock(), list[str]()
    turns = clock.turns()
    works = [(f"user-{number}", 4.0 + number) for number in range(3)]

    found = await asyncio.gather(
        *(turns.run(name, clock.taking(each, name, done), always) for name, each in works)
    )
    await turns.close()

    assert found == done == ["user-0", "user-1", "user-2"]
    assert [4.0, 5.0] == clock.slept


async def test_a_user_waits_for_one_answer_beside_another_and_no_more() -> None:
    clock, done, free = Clock(), list[str](), threading.Event()
    turns = clock.turns()

    def slow() -> str:
        free.wait()
        return "first"

    running = asyncio.create_task(turns.run("ruby", slow, always))
    waiting = asyncio.create_task(turns.run("ruby", clock.taking(1, "second", done), always))
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="2 of your tries"):
        await turns.run("ruby", clock.taking(1, "third", done), always)
    other = asyncio.create_task(turns.run("jade", clock.taking(1, "other", done), always))
    await asyncio.sleep(0)
    free.set()

    assert ["first", "second", "other"] == [*await asyncio.gather(running, waiting, other)]
    # Later there is room again.
    assert "fourth" == await turns.run("ruby", clock.taking(1, "fourth", done), always)
    await turns.close()


async def test_the_accounts_of_a_namespace_wait_for_as_many_answers_as_one_user() -> None:
    clock, done, free = Clock(), list[str](), threading.Event()
    turns = clock.turns()
    names = [f"system:serviceaccount:team:{each}" for each in range(2)]
    running = [asyncio.create_task(turns.run(each, free.wait, always)) for each in names]
    await asyncio.sleep(0)

    with pytest.raises(Busy, match="2 of your tries"):
        await turns.run("system:serviceaccount:team:other", clock.taking(1, "c", done), always)
    free.set()
    await asyncio.gather(*running)
    await turns.close()


async def test_all_users_together_wait_in_a_queue_of_some_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trials, "MOST_WAITING", 3)
    clock, done = Clock(), list[str]()
    turns = clock.turns()
    names = ["a", "b", "c", "d"]

    found = await asyncio.gather(
        *(turns.run(name, clock.taking(1, name, done), always) for name in names),
        return_exceptions=True,
    )
    await turns.close()

    assert ["a", "b", "c"] == found[:3] == done
    assert isinstance(found[3], Busy)


async def test_what_nobody_waits_for_any_more_is_not_worked_out() -> None:
    clock, done = Clock(), list[str]()
    turns = clock.turns()

    with pytest.raises(Gone):
        await turns.run("ruby", clock.taking(1, "first", done), lambda: False)
    await turns.close()

    assert [] == done


class Slow:
    """A source whose trials wait until a test lets them go on. `begun` is set by the first."""

    still = False

    def __init__(self, directory: Path) -> None:
        self._of_files = source_of(directory, CLUSTER)
        self.begun, self.free = threading.Event(), threading.Event()

    def read(self) -> Reading:
        """Return the cluster."""
        return self._of_files.read()

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with these, later."""
        self.begun.set()
        self.free.wait()
        return self._of_files.tried(manifests)

    def close(self) -> None:
        """Do nothing."""


async def test_while_a_job_is_tried_screens_are_answered_and_a_third_try_is_refused(
    tmp_path: Path,
) -> None:
    users = Known({"good": "ruby", "fine": "jade"}, {})
    users.rights = {name: {(PODS, ""), (NODES, "")} for name in ("ruby", "jade")}
    source = Slow(tmp_path)
    async with opened_for(source, by_token(users)) as browser:
        own = bearer("good")
        tries = {asyncio.create_task(browser.get(TRY, **own)) for _ in range(3)}
        await asyncio.to_thread(source.begun.wait)
        screen = await browser.get("/gangs", **own)
        ended, left = await asyncio.wait(tries, return_when=asyncio.FIRST_COMPLETED)
        other = asyncio.create_task(browser.get(TRY, **bearer("fine")))
        source.free.set()
        answers = await asyncio.gather(*left, other)

    (refused,) = (each.result() for each in ended)
    assert 200 == screen.status
    assert 429 == refused.status
    assert "2 of your tries are being worked out" in refused.text
    assert "10" == refused.headers["Retry-After"]
    assert 'value="small"' in refused.text
    assert [200] * 3 == [each.status for each in answers]
    assert all("It would start now" in each.text for each in answers)
