"""Since when a gang stands in the line: a PodGroup that was made long ago is no seat in it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.evictions import Evictions
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod, Slot, VirtualPods
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.run_attempt import QuorumAge
from support.builders import SCHEDULER, gang_spec, pod
from support.gang_queue_builders import KEY, NOW, gang_info

OURS = frozenset({SCHEDULER})
MADE = 5
"""When the PodGroups were created."""


def members(*times: int, name: str = "a", node: str = "") -> list[Pod]:
    return [
        pod(f"{name}-{i}", gang="a", node=node, created_at=time) for i, time in enumerate(times)
    ]


def waiting(spec: GangSpec, pods: Sequence[Pod]) -> GangInfo:
    info = gang_info(spec.key, pods, [spec])
    info.settle(NOW)
    return info


def since(info: GangInfo) -> float:
    info.settle(NOW)
    return info.as_gang(OURS).created_at


def replace_all(info: GangInfo, pods: Sequence[Pod]) -> None:
    for uid in list(info.observed.members):
        info.observed.delete_member(uid)
    info.settle(NOW)
    for each in pods:
        info.observed.upsert_member(each)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((80, 70), 80),
        ((70, 80, 90, 99), 80),
        ((1, 2), MADE),
        ((90,), MADE),
        ((), MADE),
        ((0, 0), MADE),
        ((90, 0), 90),
    ],
)
def test_rows_a_gang_is_as_old_as_its_quorum_and_no_older_than_its_pod_group(
    times: tuple[int, ...], expected: int
) -> None:
    assert expected == since(waiting(gang_spec("a", 2), members(*times)))


@pytest.mark.parametrize("times", [(70, 80), (80, 70, 90)])
def test_a_gang_without_an_object_is_as_old_as_its_quorum(times: tuple[int, ...]) -> None:
    marks = {
        "gang.scheduling.koordinator.sh/name": "d",
        "gang.scheduling.koordinator.sh/min-available": "2",
    }
    pods = [pod(f"d-{i}", created_at=time, annotations=marks) for i, time in enumerate(times)]

    assert 80 == since(gang_info(pods[0].gang, pods))


def test_a_quorum_of_roles_is_complete_with_its_last_role() -> None:
    spec = replace(gang_spec("a", 3), roles=(Role("head", 1), Role("worker", 2)))
    roles = ((60, "worker"), (10, "worker"), (50, "head"), (90, "head"))
    pods = [replace(each, role=role) for time, role in roles for each in members(time, name=role)]
    pods = [replace(each, uid=f"uid-{i}") for i, each in enumerate(pods)]

    assert 60 == since(waiting(spec, pods))


def test_the_members_of_a_workload_stand_where_it_stands() -> None:
    key = GangKey("Job", "default", "a")
    spec = GangSpec(key, "uid-job", created_at=MADE, min_member=2)

    assert MADE == since(gang_info(key, members(70, 80), [spec]))


def test_no_manifest_without_a_time_makes_a_gang_younger() -> None:
    pods = [replace(each, has_creation_time=False) for each in members(70, 80)]

    assert MADE == since(waiting(gang_spec("a", 2), pods))


def test_a_member_that_is_replaced_costs_no_place() -> None:
    info = waiting(gang_spec("a", 2), members(70, 80))
    info.observed.delete_member("uid-a-1")
    info.settle(NOW)
    info.observed.upsert_member(pod("new", gang="a", created_at=500))

    assert 80 == since(info)


def test_members_that_are_all_other_ones_have_a_place_of_their_own() -> None:
    info = waiting(gang_spec("a", 2), members(70, 80))

    replace_all(info, members(500, 501, name="new"))

    assert 501 == since(info)


def test_a_gang_that_asks_for_more_members_has_a_new_place() -> None:
    info = waiting(gang_spec("a", 1), members(70, 80, 90))
    assert 70 == since(info)

    info.observed.upsert_spec(gang_spec("a", 3))

    assert 90 == since(info)


def test_another_pod_group_of_the_name_has_a_place_of_its_own() -> None:
    info = waiting(gang_spec("a", 2), members(70, 80))
    info.observed.delete_spec("uid-a")
    info.observed.upsert_spec(gang_spec("a", 2, uid="uid-b", created_at=600))

    assert 600 == since(info)


def test_a_gang_that_was_evicted_keeps_its_place_until_it_has_nodes_again() -> None:
    info = waiting(gang_spec("a", 2), members(70, 80, node="n"))
    info.preempted.begin("default/high")

    replace_all(info, members(500, 501, name="new"))
    assert 80 == since(info)

    replace_all(info, members(500, 501, name="new", node="n"))
    assert (80, "") == (since(info), info.preempted.by)

    replace_all(info, members(900, 901, name="third"))
    assert 901 == since(info)


def test_after_a_restart_a_gang_that_was_evicted_stands_where_that_was() -> None:
    spec = replace(gang_spec("a", 2), evictions=Evictions(count=1, last=400))
    info = waiting(spec, members(500, 501))
    assert 400 == since(info)
    info.observed.delete_member("uid-a-0")
    info.observed.upsert_member(pod("new", gang="a", created_at=700))
    assert 400 == since(info)

    replace_all(info, members(800, 801, name="runs", node="n"))
    assert 400 == since(info)
    replace_all(info, members(900, 901, name="third"))
    assert 901 == since(info)


def test_a_workload_that_was_started_for_it_keeps_its_place_for_its_pods() -> None:
    info = gang_info(KEY, (), [gang_spec("a", 2)])
    prototype = replace(pod("job", gang="a", created_at=50), virtual=True)
    slots = (Slot(0, "-0"), Slot(0, "-1"))
    info.observed.set_virtual(VirtualPods("uid-job", "job", (prototype,), slots))
    assert 50 == since(info)

    info.observed.set_virtual(None)
    for each in members(500, 501):
        info.observed.upsert_member(each)

    assert 50 == since(info)


def test_a_large_gang_is_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts: list[int] = []
    work_out = QuorumAge._last_of_quorum

    def counted(self: QuorumAge, living: Sequence[Pod]) -> float:
        sorts.append(len(living))
        return work_out(self, living)

    monkeypatch.setattr(QuorumAge, "_last_of_quorum", counted)
    info = gang_info(KEY, (), [gang_spec("a", 50)])
    for i in range(200):
        info.observed.upsert_member(pod(f"a-{i}", gang="a", created_at=100 + i))
        info.settle(NOW)

    assert ([50], 149) == (sorts, since(info))
