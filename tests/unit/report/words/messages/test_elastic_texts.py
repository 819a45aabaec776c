"""What users read of an elastic gang: its status, and Events when its size changes."""

from dataclasses import replace

from gang_scheduler.model.gangs import ElasticSize
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Elastic
from gang_scheduler.report.words import messages
from gang_scheduler.state.gangs.gang_info import GangInfo
from support.builders import gang, gang_key, gang_spec, pod

ELASTIC = Elastic(2, 8, up_cooldown=60)


def info_of(bound: int, elastic: Elastic | None = ELASTIC) -> GangInfo:
    info = GangInfo(gang_key("a"))
    info.observed.upsert_spec(replace(gang_spec("a", 2), elastic=elastic))
    uids = [f"uid-a-{i}" for i in range(bound)]
    for i in range(bound):
        info.observed.upsert_member(pod(f"a-{i}", gang="a"))
    info.scaling.grow(uids, 60)
    for i in range(bound):
        info.observed.upsert_member(pod(f"a-{i}", gang="a", node="n"))
    return info


def up(size: ElasticSize | None, *names: str) -> str:
    binds = [Bind(pod(name), "n") for name in names]
    return messages.scaled_up(replace(gang("a"), elastic_size=size), binds)


def test_the_status_has_the_workers_and_the_last_change() -> None:
    expected = {
        "min": 2,
        "now": 3,
        "max": 8,
        "lastScaleTime": "1970-01-01T00:01:00Z",
        "lastScale": 3,
        "reason": "Started",
        "nextAllowed": "1970-01-01T00:02:00Z",
    }

    assert expected == messages.status_of(info_of(3))


def test_the_status_of_a_gang_that_has_not_started_has_no_change() -> None:
    found = messages.status_of(info_of(0))

    assert found is not None
    assert {"min": 2, "now": 0, "max": 8} == {key: n for key, n in found.items() if n is not None}


def test_other_gangs_have_no_such_status() -> None:
    assert messages.status_of(info_of(3, elastic=None)) is None


def test_without_a_cooldown_the_next_change_is_not_reported() -> None:
    found = messages.status_of(info_of(3, Elastic(2, 8)))

    assert found is not None
    assert found["nextAllowed"] is None


def test_growth_is_reported_and_neither_a_start_nor_a_replacement() -> None:
    assert up(ElasticSize(ELASTIC, 4, 4, 0), "x", "y") == "From 4 to 6 workers of at most 8"
    assert up(ElasticSize(ELASTIC, 3, 4, 0), "x") == ""
    assert up(ElasticSize(ELASTIC), "x", "y") == ""
    assert up(None, "x") == ""


def test_the_message_of_a_gang_that_shrinks_names_the_other_gang() -> None:
    info = info_of(6)
    lost = [pod("a-4"), pod("a-5")]
    info.scaling.shrink([each.uid for each in lost], 90)

    assert "From 6 to 4 workers of at least 2, for ns/b" == messages.scaled_down(info, lost, "ns/b")


def test_a_gang_that_goes_whole_has_not_shrunk() -> None:
    info = info_of(3)
    lost = [pod(f"a-{i}") for i in range(3)]
    info.scaling.shrink([each.uid for each in lost], 90)

    assert messages.scaled_down(info, lost, "b") == ""
    assert messages.scaled_down(info_of(3, elastic=None), lost, "b") == ""
