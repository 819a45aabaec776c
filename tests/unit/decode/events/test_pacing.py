"""Changes of an object that is dear to read are taken in now and then, and each last one is."""

import asyncio

import pytest

from fuzz import attacks
from gang_scheduler.decode.events import DEAR_SECONDS, PAUSES, Pacing
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.workloads import virtual_pods
from support import builders, cache_feeding
from support.call_counts import calls_of

DEAR = 2 * DEAR_SECONDS
PAUSE = PAUSES * DEAR


class Watch:
    """Changes of objects, each of which takes so much CPU to read."""

    def __init__(self, cost: float = DEAR) -> None:
        self.now = self.cpu = 0.0
        self.cost = cost
        self.taken: list[str] = []
        self.pacing = Pacing(lambda: self.now, lambda: self.cpu)

    async def passes(self, seconds: float) -> None:
        """Let time pass, and what is due then be done."""
        self.now += seconds
        await asyncio.sleep(seconds)

    def change(
        self, name: str, uid: str = "u", namespace: str = "ns", *, late: bool = True
    ) -> None:
        """Let a change come."""

        def take() -> None:
            self.cpu += self.cost
            self.taken.append(name)

        self.pacing.handle(uid, namespace, take, may_wait=late)


async def test_of_an_object_that_was_dear_twice_the_last_change_is_taken_after_a_pause() -> None:
    watch = Watch()

    for name in "abcdef":
        watch.change(name)

    assert [*"ab"] == watch.taken
    await watch.passes(2 * PAUSE)
    assert [*"abf"] == watch.taken


async def test_changes_without_an_end_take_a_part_of_the_time() -> None:
    watch = Watch()
    for _ in range(50):
        watch.change("x")
        watch.now += PAUSE / 10

    assert 5 <= len(watch.taken) <= 2 + 5


async def test_other_dear_objects_of_a_namespace_wait_and_those_of_others_do_not() -> None:
    watch = Watch()
    for uid, namespace in (("u", "ns"), ("v", "ns"), ("w", "other")):
        for _ in range(2):
            watch.change(uid, uid, namespace)

    watch.taken.clear()
    for uid, namespace in (("u", "ns"), ("v", "ns"), ("w", "third")):
        watch.change(uid, uid, namespace)

    assert ["w"] == watch.taken
    for _ in range(4):
        await watch.passes(PAUSE)
    assert {"u", "v", "w"} == {*watch.taken}


async def test_a_list_a_deletion_and_what_is_new_are_never_late() -> None:
    watch = Watch()
    for name in "abc":
        watch.change(name)

    watch.change("listed", late=False)
    watch.change("new", "v")
    watch.pacing.forget("u")
    watch.change("again")
    await watch.passes(2 * PAUSE)

    assert ["a", "b", "listed", "new", "again"] == watch.taken


async def test_objects_that_cost_little_are_never_late() -> None:
    watch = Watch(cost=DEAR_SECONDS / 2)

    for _ in range(100):
        watch.change("x")

    assert 100 == len(watch.taken)


def test_without_an_event_loop_nothing_is_late() -> None:
    taken: list[int] = []
    cpu = iter(range(1000))
    pacing = Pacing(lambda: 0.0, lambda: next(cpu))

    for number in range(5):
        pacing.handle("u", "ns", lambda number=number: taken.append(number), may_wait=True)  # type: ignore[misc]

    assert [*range(5)] == taken


async def test_a_workload_of_thousands_that_is_patched_all_the_time_is_read_a_few_times() -> None:
    rules = Rules(workloads=WorkloadRules(manage_jobs=(ManagedKind.JOB,)))
    cache = Cache([builders.SCHEDULER], Changes(), rules)
    handlers = cache_feeding.event_handlers(cache)
    body = attacks.workload("Job", "batch/v1", attacks.job_spec(virtual_pods.MOST_MEMBERS))
    cache_feeding.tell(handlers, "ADDED", body)

    def patched() -> None:
        for number in range(1, 30):
            body["metadata"]["resourceVersion"] = str(number)
            cache_feeding.tell(handlers, "MODIFIED", {**body})

    calls = calls_of(patched)

    assert 1 <= calls["virtual_pods.gangs_of"] <= 5


@pytest.mark.parametrize(
    "name",
    [
        "a_job_of_2_to_the_31_pods",
        "a_job_of_a_hundred_thousand_pods",
        "a_job_set_of_a_hundred_million_pods",
        "a_job_set_of_jobs_without_pods",
    ],
)
def test_a_workload_that_is_too_large_is_refused_before_any_member_is_made(name: str) -> None:
    cache = Cache([builders.SCHEDULER], Changes())
    handlers = cache_feeding.event_handlers(cache)
    (body,) = attacks.ATTACKS[name]()

    assert calls_of(lambda: cache_feeding.tell(handlers, "ADDED", body)).total() < 20_000
