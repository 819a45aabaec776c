"""What is told of a gang whose members may never come."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import EVENTS, JOB_SETS, NATIVE_POD_GROUPS, POD_GROUPS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model import refs
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.missing_members import (
    NAMED_BY_NO_POD,
    PATIENCE_SECONDS,
    REMEMBERED_SECONDS,
    MissingMembers,
)
from gang_scheduler.state import pruning
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, cache_feeding, cpu, parts

BEGAN = 1000
LATE = BEGAN + PATIENCE_SECONDS
NATIVE = GangKey(refs.NATIVE.name, builders.NAMESPACE, "a")
IN_ORDER = "If its podManagementPolicy is OrderedReady"

Told = list[tuple[str, str, str, str]]
"""Type, kind and name of the object, note."""


class Desk:
    """The gang `a` of three, of which some pods are seen."""

    def __init__(self, *pods: Pod, **fields: Any) -> None:
        self.api = FakeApi()
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.events = parts.events(self.api, lambda: 0)
        self.missing_members = MissingMembers(self.cache, self.events)
        spec = replace(builders.gang_spec("a", 3), gvr=POD_GROUPS, created_at=BEGAN, **fields)
        self.key = spec.key
        self.say(spec)
        for each in pods:
            self.cache.upsert_pod(each)

    def say(self, spec: GangSpec) -> None:
        """Take in a PodGroup."""
        cache_feeding.upsert_gang_specs(self.cache, "group", spec.uid, [spec])

    def look(self, now: int = LATE) -> int | None:
        """Look at the gang; return when to look again."""
        return self.missing_members.look(self.cache.gang_queue.infos[self.key], now)

    async def told(self, now: int = LATE) -> Told:
        """Return all that was told by now."""
        self.look(now)
        while len(self.events._queue):
            await self.events._send(self.events.take())
        return [
            (each["type"], each["regarding"]["kind"], each["regarding"]["name"], each["note"])
            for each in self.api.cluster.all(EVENTS)
        ]


def member(name: str, *, stateful_set: str = "", **fields: Any) -> Pod:
    made = builders.pod(name, gang="a", created_at=BEGAN, **fields)
    return replace(made, stateful_set=stateful_set)


def foreign(name: str) -> Pod:
    return member(name, scheduler="default-scheduler", node="n1")


async def test_pods_of_another_scheduler_are_named_with_its_name_and_ours() -> None:
    desk = Desk(foreign("a-0"), foreign("a-1"))

    ((kind, *about, note),) = await desk.told()

    assert ("Warning", ["PodGroup", "a"]) == (kind, about)
    assert "(2 with schedulerName default-scheduler)" in note
    assert note.endswith(f"members need {builders.SCHEDULER}")


async def test_missing_members_of_the_gang_of_a_job_set_are_reported_to_the_job_set() -> None:
    key = GangKey(refs.JOB_SET.name, builders.NAMESPACE, "set/workers")
    desk = Desk(replace(foreign("a-0"), gang=key), key=key)
    desk.say(replace(builders.gang_spec("a", 3), key=key, gvr=JOB_SETS))

    ((_, *about, _),) = await desk.told()

    assert ["JobSet", "set"] == about


async def test_it_is_reported_once_and_not_before_it_lasts() -> None:
    desk = Desk(foreign("a-0"))

    assert LATE == desk.look(LATE - 1)
    assert [] == await desk.told(LATE - 1)
    assert 1 == len(await desk.told(LATE))
    assert 1 == len(await desk.told(LATE + 10_000))


def test_a_pod_of_another_scheduler_that_comes_late_is_looked_at() -> None:
    desk = Desk()
    desk.cache.gang_queue.changed.clear()

    desk.cache.upsert_pod(foreign("a-0"))

    assert {desk.key} == desk.cache.gang_queue.changed


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Scheduling"},
        {"phase": "Pending", "members": 1},
        {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]},
    ],
)
async def test_a_gang_of_another_scheduler_is_its_own_affair(status: dict[str, Any]) -> None:
    assert [] == await Desk(foreign("a-0"), status=status).told()
    assert 1 == len(await Desk(foreign("a-0"), member("a-1"), status=status).told())
    assert 1 == len(await Desk(foreign("a-0"), status={"phase": "Pending", "members": 0}).told())


async def test_one_waiting_pod_of_a_stateful_set_may_be_created_in_order() -> None:
    desk = Desk(member("s-0", stateful_set="s"))

    ((kind, *about, note),) = await desk.told()

    assert ("Warning", ["PodGroup", "a"]) == (kind, about)
    assert note.startswith("of StatefulSet s only pod s-0 waits, and the gang needs 3 members")
    assert IN_ORDER in note


@pytest.mark.parametrize(
    "pods",
    [
        [member("s-0", stateful_set="s"), member("s-1", stateful_set="s")],
        [member("s-0", stateful_set="s"), member("x")],
        [member("s-0", stateful_set="s", node="n1")],
        [member(f"s-{i}", stateful_set="s") for i in range(3)],
        [],
    ],
    ids=["two wait", "another owner", "none waits", "complete", "none"],
)
async def test_otherwise_nothing_is_guessed(pods: list[Pod]) -> None:
    assert [] == await Desk(*pods).told()


async def test_the_event_of_a_native_pod_group_that_no_pod_names_says_why_that_may_be() -> None:
    desk = Desk(key=NATIVE)
    desk.say(replace(builders.gang_spec("a", 3), key=NATIVE, gvr=NATIVE_POD_GROUPS[0]))

    ((kind, *about, note),) = await desk.told()

    assert ("Normal", ["PodGroup", "a"]) == (kind, about)
    assert note == NAMED_BY_NO_POD


async def test_a_native_pod_group_that_has_started_once_is_left_alone() -> None:
    assert [] == await Desk(key=NATIVE, was_scheduled=True).told()


async def test_a_gang_that_is_complete_is_forgotten() -> None:
    desk = Desk(foreign("a-0"))
    desk.look()
    for i in (1, 2, 3):
        desk.cache.upsert_pod(member(f"a-{i}"))

    assert desk.look() is None
    assert 0 == len(desk.missing_members._reported)


def misspelt(name: str, **fields: Any) -> Pod:
    return replace(
        builders.pod(name, gang="A", created_at=fields.pop("created_at", BEGAN)), **fields
    )


async def test_pods_that_misspell_the_name_are_named() -> None:
    desk = Desk(misspelt("p-0"))

    ((kind, *about, note),) = await desk.told()

    assert ("Warning", ["PodGroup", "a"]) == (kind, about)
    assert 'pod p-0 names PodGroup "A", which does not exist: is this one meant?' == note


async def test_pods_that_misspell_the_name_later_cause_an_event_of_the_pod_group() -> None:
    desk = Desk()
    assert [] == await desk.told()
    pod = misspelt("p-0", created_at=LATE)
    desk.cache.upsert_pod(pod)

    again = desk.missing_members.look(desk.cache.gang_queue.infos[pod.gang], LATE)
    assert LATE + PATIENCE_SECONDS == again
    desk.missing_members.look(desk.cache.gang_queue.infos[pod.gang], again)

    assert [("Warning", "PodGroup", "a")] == [each[:3] for each in await desk.told(again)]


async def test_a_pod_group_that_was_deleted_since_names_were_listed_is_not_the_one_meant() -> None:
    desk = Desk()
    desk.look(LATE)
    for pod in (member("a-0"), wrong := misspelt("p-0")):
        desk.cache.upsert_pod(pod)
    cache_feeding.delete_gang_specs(desk.cache, "group", f"uid-{desk.key.name}")

    desk.missing_members.look(desk.cache.gang_queue.infos[wrong.gang], LATE + 1)

    assert [] == await desk.told(LATE + 1)


async def test_gangs_that_are_gone_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MOST_GONE", 0)
    desk = Desk(foreign("a-0"))
    writer = parts.status_writer(desk.api, desk.cache, clock=lambda: LATE)
    writer._missing_members = desk.missing_members

    await writer.flush()
    assert 1 == len(desk.missing_members._reported)
    cache_feeding.delete_gang_specs(desk.cache, "group", f"uid-{desk.key.name}")
    await writer.flush()

    assert 0 == len(desk.missing_members._reported)


async def test_many_names_that_are_nearly_right_cost_what_few_do() -> None:
    """A tenant has hundreds of PodGroups without pods, and of pods that name missing ones."""
    cache = Cache([builders.SCHEDULER], Changes())
    missing_members = MissingMembers(cache, parts.events(FakeApi(), lambda: 0))
    long = "ab" * 29
    for number in range(300):
        spec = replace(builders.gang_spec(f"{long}-{number:03}a", 3), created_at=BEGAN)
        cache_feeding.upsert_gang_specs(cache, "group", spec.uid, [spec])
        cache.upsert_pod(builders.pod(f"p-{number}", gang=f"{long}-{number:03}b", created_at=BEGAN))

    def look_at_all() -> None:
        for info in [*cache.gang_queue.infos.values()]:
            missing_members.look(info, LATE)

    cpu.at_most(1000, look_at_all)


async def test_a_name_is_looked_up_again_after_a_minute_whatever_is_touched() -> None:
    desk = Desk()
    desk.look(LATE)
    desk.cache.upsert_pod(builders.pod("p", gang="b", created_at=BEGAN))
    desk.say(replace(builders.gang_spec("aaaa", 3), gvr=POD_GROUPS, created_at=BEGAN))

    looked = [desk.missing_members._meant.get(desk.key)]
    for moment in (LATE + 1, LATE + REMEMBERED_SECONDS - 1, LATE + REMEMBERED_SECONDS):
        desk.look(moment)
        looked.append(desk.missing_members._meant.get(desk.key))

    assert [LATE, LATE, LATE, LATE + REMEMBERED_SECONDS] == [each.at for each in looked if each]
