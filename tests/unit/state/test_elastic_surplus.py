"""How elastic gangs shrink: whole steps, the highest ranks first, none within a cooldown."""

from dataclasses import replace

import pytest

from gang_scheduler.model.pods import Elastic
from gang_scheduler.state.elastic_surplus import is_cooling
from gang_scheduler.state.gangs.gang_info import GangInfo
from support.builders import gang_key, gang_spec, pod
from support.elastic_cluster import ElasticCluster, pace

MOST = 8


def full(pods: int = 8, least: int = 2, **policy: int) -> ElasticCluster:
    """Return a cluster that an elastic gang fills, of a size that has lasted."""
    cluster = ElasticCluster(cpu=pods)
    cluster.elastic("a", least, MOST, pods=pods, **pace(**{"up": 7200, **policy}))
    cluster.settle()
    if pods < MOST:
        # More members are waited for that could start with these.
        cluster.settle(later=2)
    return cluster


def preempt(cluster: ElasticCluster, pods: int, later: int, name: str = "high") -> list[str]:
    """Let a gang of a higher priority come; return what is left of the elastic one."""
    cluster.gang(name, pods)
    for i in range(pods):
        cluster.change(f"{name}-{i}", spec={"priority": 10})
    cluster.settle(later)
    return cluster.running("a")


def first(number: int) -> list[str]:
    return [f"a-{i}" for i in range(number)]


@pytest.mark.parametrize(("asked", "left"), [(1, 6), (2, 6), (3, 4), (4, 4), (5, 2), (6, 2)])
def test_whole_steps_go_and_the_highest_ranks_first(asked: int, left: int) -> None:
    cluster = full(down_step=2)

    assert first(left) == preempt(cluster, asked, later=1)
    assert len(cluster.running("high")) == asked


def test_where_its_surplus_is_too_little_the_gang_goes_whole() -> None:
    cluster = full(pods=7, down_step=2)

    # Four of five go by whole steps: with five a step is missing.
    assert preempt(cluster, 5, later=1) in ([], first(2))
    assert len(cluster.running("high")) == 5


def test_surplus_goes_one_by_one_unless_there_are_steps() -> None:
    assert first(5) == preempt(full(), 3, later=1)


def test_within_the_cooldown_its_surplus_stays() -> None:
    cluster = full(down=60, down_step=2)

    assert first(8) == preempt(cluster, 3, later=59)
    cluster.room(8)
    assert preempt(cluster, 1, later=1, name="higher")[:4] == first(4)
    assert first(4) == cluster.running("a")


def test_the_longest_time_that_gangs_are_let_run_ends_the_cooldown() -> None:
    cluster = full(down=7200)

    assert first(8) == preempt(cluster, 3, later=3599)
    assert first(5) == preempt(cluster, 0, later=61, name="nobody")


def test_a_gang_that_has_shrunk_does_not_grow_at_once() -> None:
    cluster = full(up=60, down_step=2, up_step=2)
    assert first(4) == preempt(cluster, 3, later=60)
    # One CPU is free, and two more are when the others have ended.
    for i in range(3):
        cluster.gone(f"high-{i}")
    cluster.room(8)

    cluster.settle(later=1)
    assert first(4) == cluster.running("a")
    cluster.settle(later=59)
    assert first(8) == cluster.running("a")


def test_others_go_while_a_gang_cools_down() -> None:
    cluster = full(pods=4, down=60)
    cluster.room(6)
    cluster.gang("low", 2)
    cluster.settle(later=1)

    assert first(4) == preempt(cluster, 2, later=1)
    assert [] == cluster.running("low")


def test_many_gangs_shrink_by_whole_steps_too() -> None:
    # So many choices that victims are found set by set.
    cluster = ElasticCluster(cpu=48)
    names = [f"g{i}" for i in range(6)]
    for name in names:
        cluster.elastic(name, 2, 8, pods=8, **pace(up=60, down_step=3))
    cluster.settle()

    preempt(cluster, 20, later=1)

    assert len(cluster.running("high")) == 20
    sizes = [len(cluster.running(name)) for name in names]
    assert {2, 5, 8}.issuperset(sizes)
    assert 48 - 20 - sum(sizes) < 3
    for name, size in zip(names, sizes, strict=True):
        assert [f"{name}-{i}" for i in range(size)] == cluster.running(name)


def test_a_gang_that_grows_again_and_again_is_protected_an_hour_of_two() -> None:
    info = GangInfo(gang_key("a"))
    elastic = Elastic(1, 1000, down_cooldown=1800)
    info.observed.upsert_spec(replace(gang_spec("a", 1), elastic=elastic))
    info.observed.upsert_member(pod("a-0", gang="a", node="n"))
    info.scaling.grow(["uid-a-0"], 0)
    protected = 0
    for minute in range(0, 8 * 60, 10):
        uid = f"a-{minute + 1}"
        info.observed.upsert_member(pod(uid, gang="a"))
        info.scaling.grow([f"uid-{uid}"], minute * 60)
        info.observed.upsert_member(pod(uid, gang="a", node="n"))
        protected += is_cooling(info, elastic, minute * 60 + 300, most=3600)

    assert 8 * 6 // 2 == protected
