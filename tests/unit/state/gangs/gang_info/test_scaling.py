"""When an elastic gang last changed its size, by what happens to its members."""

from dataclasses import replace

import pytest

from gang_scheduler.api.pod_group import ScaleReason
from gang_scheduler.model.gangs import ElasticSize
from gang_scheduler.model.pods import Elastic
from gang_scheduler.state.gangs.gang_info import GangInfo, Scaling
from support.builders import gang_key, gang_spec, pod

NOW = 1000
ELASTIC = Elastic(2, 8, up_cooldown=60)


def info_of(pods: int, bound: int = 0, elastic: Elastic | None = ELASTIC) -> GangInfo:
    info = GangInfo(gang_key("a"))
    info.observed.upsert_spec(replace(gang_spec("a", 2), elastic=elastic))
    for i in range(pods):
        info.observed.upsert_member(pod(f"a-{i}", gang="a", node="n" if i < bound else ""))
    return info


def run(info: GangInfo, *numbers: int) -> None:
    for i in numbers:
        info.observed.upsert_member(pod(f"a-{i}", gang="a", node="n"))


def uids(*numbers: int) -> list[str]:
    return [f"uid-a-{i}" for i in numbers]


def told(scaling: Scaling) -> tuple[int, int, int | None, ScaleReason | None]:
    return scaling.size, scaling.by, scaling.changed_at, scaling.reason


def test_a_gang_that_does_not_say_how_it_grows_has_no_pace() -> None:
    info = info_of(3, elastic=None)

    assert info.scaling.grow(uids(0, 1), NOW) == 0
    info.scaling.begin_or_end(NOW)
    assert info.scaling.elastic_size is None
    assert info.scaling.most_at_start is None


def test_a_start_is_a_change_and_so_is_growth() -> None:
    info = info_of(8)
    assert info.scaling.grow(uids(0, 1, 2), NOW) == 3
    assert (3, 3, NOW, ScaleReason.STARTED) == told(info.scaling)
    run(info, 0, 1, 2)

    assert info.scaling.grow(uids(3), NOW + 60) == 1

    assert (4, 1, NOW + 60, ScaleReason.ROOM_FREE) == told(info.scaling)
    assert ElasticSize(ELASTIC, 3, 4, NOW + 60) == info.scaling.elastic_size


def test_what_was_lost_is_replaced_without_a_change() -> None:
    info = info_of(8)
    info.scaling.grow(uids(0, 1, 2), NOW)
    run(info, 0, 1, 2)
    info.observed.delete_member("uid-a-1")
    number = info.version.number

    assert info.scaling.grow(uids(3), NOW + 10) == 0

    assert (3, 3, NOW, ScaleReason.STARTED) == told(info.scaling)
    assert number == info.version.number


def test_an_eviction_is_a_change_even_of_what_grew_at_once() -> None:
    info = info_of(8)
    info.scaling.grow(uids(*range(8)), NOW)
    run(info, *range(8))

    assert info.scaling.shrink(uids(6, 7), NOW + 1) == 2
    assert (6, -2, NOW + 1, ScaleReason.PREEMPTED) == told(info.scaling)
    # Victims that are not gone yet are not counted twice.
    assert info.scaling.shrink(uids(5, 6), NOW + 2) == 1
    assert (5, -1, NOW + 2, ScaleReason.PREEMPTED) == told(info.scaling)
    assert info.scaling.shrink(uids(6), NOW + 3) == 0


def test_a_gang_without_members_on_nodes_starts_anew() -> None:
    info = info_of(2)
    info.scaling.grow(uids(0, 1), NOW)
    run(info, 0, 1)
    info.settle(NOW)
    for uid in uids(0, 1):
        info.observed.delete_member(uid)
    info.observed.upsert_member(pod("a-2", gang="a"))

    info.settle(NOW + 5)

    assert (0, 0, None, None) == told(info.scaling)


def test_a_gang_that_is_found_running_waits_one_cooldown_anew() -> None:
    info = info_of(8, bound=4)

    info.settle(NOW)

    assert (4, 0, NOW, None) == told(info.scaling)
    info.settle(NOW + 5)
    assert NOW == info.scaling.changed_at


def test_a_gang_whose_status_tells_goes_on_from_there() -> None:
    info = info_of(8, bound=4)
    info.scaling.take_over(replace(gang_spec("a"), scaled=(900, 5, 2, "RoomFree")))

    info.settle(NOW)

    assert (5, 2, 900, ScaleReason.ROOM_FREE) == told(info.scaling)
    info.scaling.take_over(replace(gang_spec("a"), scaled=(950, 6, 1, "Other")))
    assert info.scaling.changed_at == 900


def test_only_workers_count() -> None:
    info = info_of(0, elastic=ELASTIC._replace(role="worker"))
    for i, role in enumerate(("master", "worker", "worker")):
        info.observed.upsert_member(replace(pod(f"a-{i}", gang="a"), role=role))

    assert info.scaling.grow(uids(0, 1, 2), NOW) == 2
    assert info.scaling.size == 2


def test_members_that_come_soon_are_waited_for_where_the_pace_would_hold_them_back() -> None:
    assert info_of(2).scaling.most_at_start == 8
    assert info_of(2, elastic=Elastic(2, 8, up_step=2)).scaling.most_at_start == 8
    assert info_of(2, elastic=Elastic(2, 8)).scaling.most_at_start is None


@pytest.mark.parametrize("written", ["scheduled_at", "started_at"])
@pytest.mark.parametrize(
    ("times", "changed_at"), [((100, 900), 900), ((0, 0), NOW), ((5, 2000), NOW)]
)
def test_one_that_is_found_running_last_grew_with_its_youngest_worker(
    written: str, times: tuple[int, int], changed_at: int
) -> None:
    info = info_of(0)
    for i, at in enumerate(times):
        member = pod(f"a-{i}", gang="a", node="n")
        scheduled = written == "scheduled_at"
        member = replace(member, scheduled_at=at if scheduled else 0, started_at=at)
        info.observed.upsert_member(member)

    info.scaling.begin_or_end(NOW)

    assert (2, 0, changed_at, None) == told(info.scaling)
