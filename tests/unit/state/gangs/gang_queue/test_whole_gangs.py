"""When a gang holds back the others of its group no more, they are tried, however that was seen."""

import json

import pytest

from gang_scheduler.model.plan import Bind
from gang_scheduler.model.refs import GangKey
from support.in_memory_cluster import InMemoryCluster


def held() -> tuple[InMemoryCluster, GangKey]:
    """Return a cluster in which `a` has room and waits for claims, and `b-1` for `a`.

    `a` names `b`, which had ended well before and is run once more.
    """
    cluster = InMemoryCluster()
    cluster.gang("b", 1)
    cluster.cycle()
    cluster.end("b-0", "Succeeded")
    cluster.gang("a", 1, groups=json.dumps(["default/b"]))
    (group,) = cluster.cache.snapshot(cluster.now).groups
    (gang,) = group.gangs
    cluster.cache.decisions.placed(gang.key)
    cluster.cache.assume(Bind(gang.pending[0], "n1"))
    cluster.cache.decisions.hold(gang.key)
    cluster.pod("b-1", "b")
    assert set() == cluster.bound()
    return cluster, gang.key


def see_bound(cluster: InMemoryCluster) -> None:
    cluster.change("a-0", spec={"nodeName": "n1"})


@pytest.mark.parametrize("is_seen_first", [False, True])
def test_a_binding_wakes_the_group_whether_the_watch_shows_it_before_or_after(
    *,
    is_seen_first: bool,
) -> None:
    cluster, key = held()
    cluster.cache.decisions.let_go(key)
    if is_seen_first:
        see_bound(cluster)
        found = cluster.bound()
        cluster.cache.decisions.bound(key)
    else:
        cluster.cache.decisions.bound(key)
        see_bound(cluster)
        found = cluster.bound()

    assert {"b-1"} == found | cluster.bound()


def test_a_gang_that_ended_well_unseen_wakes_the_group() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1, pods=0, groups=json.dumps(["default/b"]))
    cluster.gang("b", 1)
    before = cluster.bound()

    # One list shows it that comes after a break of the watch.
    cluster.pod("a-0", "a", spec={"nodeName": "n1"}, status={"phase": "Succeeded"})

    assert (set(), {"b-0"}) == (before, cluster.bound() | cluster.bound())
