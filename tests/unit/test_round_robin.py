"""Namespaces take turns, and each tells its oldest first."""

import asyncio
import contextlib

import anyio
import pytest

from gang_scheduler.round_robin import ByNamespace, Slots, TurnsQueue, party_of


def queue_of(*keys: str) -> ByNamespace[str, int]:
    """Return a queue of keys `namespace/name`, with their places as values."""
    found: ByNamespace[str, int] = ByNamespace()
    for number, key in enumerate(keys):
        found.put(key.partition("/")[0], key, number)
    return found


def all_of(queue: ByNamespace[str, int]) -> list[str]:
    return [queue.take()[0] for _ in range(len(queue))]


def test_namespaces_take_turns() -> None:
    queue = queue_of("a/1", "a/2", "a/3", "b/1", "c/1", "c/2")

    assert ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"] == all_of(queue)


def test_what_comes_behind_a_thousand_of_another_namespace_is_next_but_one() -> None:
    queue = queue_of(*(f"a/{number}" for number in range(1000)))
    queue.take()

    queue.put("b", "b/1", 0)

    assert "b/1" in [queue.take()[0] for _ in range(2)]


def test_a_key_that_is_put_again_keeps_its_place_and_has_its_last_value() -> None:
    queue = queue_of("a/1", "a/2")

    queue.put("a", "a/1", 7)

    assert (2, ("a/1", 7)) == (len(queue), queue.take())


def test_a_key_that_is_removed_is_not_taken() -> None:
    queue = queue_of("a/1", "b/1")

    queue.remove("a/1")

    assert queue.get("a/1") is None
    assert (["b/1"], ["b/1"]) == (list(queue), all_of(queue))


def test_a_key_may_be_discarded_whether_or_not_it_is_known() -> None:
    queue = queue_of("a/1", "b/1")

    queue.discard("a/1")
    queue.discard("a/1")

    assert ["b/1"] == all_of(queue)


def test_the_namespace_that_has_most_loses_its_oldest() -> None:
    queue = queue_of("a/1", "b/1", "b/2", "b/3", "c/1")

    queue.drop()

    assert ["a/1", "b/2", "c/1", "b/3"] == all_of(queue)


def test_nothing_is_taken_of_an_empty_queue() -> None:
    queue = queue_of("a/1")
    queue.take()

    assert 0 == len(queue)
    with pytest.raises(KeyError):
        queue.take()


def test_tasks_take_turns_too_and_what_is_put_twice_comes_twice() -> None:
    queue = TurnsQueue[str](lambda each: each.partition("/")[0])
    for each in ("a/1", "a/2", "a/1", "b/1"):
        queue.put_nowait(each)

    assert 4 == queue.qsize()
    assert ["a/1", "b/1", "a/2", "a/1"] == [queue.get_nowait() for _ in range(4)]
    assert queue.empty()


@pytest.mark.looptime
async def test_a_request_waits_for_no_slots_of_all_requests_of_another_namespace() -> None:
    slots, done = Slots(2), list[str]()

    async def request(namespace: str) -> None:
        async with slots.of(namespace):
            await asyncio.sleep(1)
            done.append(namespace)

    await asyncio.gather(*map(request, [*["a"] * 9, "b", "b"]))

    assert ["a", "a", "a", "b", "a", "b"] == done[:6]
    assert 11 == len(done)


@pytest.mark.looptime
async def test_a_request_that_is_cancelled_keeps_no_slot_and_no_place() -> None:
    slots = Slots(1)

    async def request() -> None:
        async with slots.of("a"):
            await asyncio.sleep(1)

    tasks = [asyncio.create_task(request()) for _ in range(4)]
    await asyncio.sleep(0.5)
    tasks[1].cancel()
    await asyncio.sleep(0.5)
    # Right after the slot was given to it, and before it runs.
    tasks[0].add_done_callback(lambda _: tasks[2].cancel())
    for each in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await each

    assert [False, True, True, False] == [each.cancelled() for each in tasks]
    with anyio.fail_after(1):
        async with slots.of("b"):
            pass


@pytest.mark.looptime
async def test_a_request_that_is_cancelled_just_before_its_turn_leaves_the_slot_to_the_next() -> (
    None
):
    slots, done = Slots(1), list[str]()

    async def request(name: str) -> None:
        async with slots.of("a"):
            done.append(name)

    async with slots.of("a"):
        tasks = [asyncio.create_task(request(name)) for name in ("first", "second")]
        await asyncio.sleep(0)
        # It runs only after the slot is given back.
        tasks[0].cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)

    assert [asyncio.CancelledError, type(None)] == [type(each) for each in found]
    assert ["second"] == done


@pytest.mark.parametrize(
    ("name", "party"),
    [
        ("ada", "ada"),
        ("", ""),
        ("system:serviceaccount:red:robot", "system:serviceaccount:red"),
        ("system:serviceaccount:red", "system:serviceaccount:red"),
        ("system:node:n1", "system:node:n1"),
    ],
)
def test_the_accounts_of_a_namespace_count_as_one(name: str, party: str) -> None:
    assert party == party_of(name)
