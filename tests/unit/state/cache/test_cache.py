"""The cluster as last seen, and as it will be when our binds have happened."""

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.decode import cluster
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support import decoded as pod_decode
from support.api_objects import node_body, pod_body, pod_group_body
from support.builders import NAMESPACE, SCHEDULER, gang_key, gang_spec, node, pod
from support.plan_reading import gangs_placed, nodes_of
from support.two_member_gang import due, free_cpu, new_cache, record_members


def test_a_snapshot_shows_nodes_room_ports_and_gangs() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("x", node="n1", cpu=3, scheduler="default-scheduler"))
    cache.upsert_pod(pod("a-0", gang="a"))

    shot = cache.snapshot(7)

    assert (7, ["n1"], [[5000, 109]]) == (
        shot.taken_at,
        [each.name for each in shot.nodes.nodes],
        shot.free.tolist(),
    )
    assert [gang_key("a")] == [each.key for group in shot.groups for each in group.gangs]


def test_what_the_api_server_sends_can_be_scheduled() -> None:
    cache = Cache([SCHEDULER], Changes())
    cache.upsert(
        cache.node_store, cluster.read_node(node_body("n1", allocatable={"cpu": "2", "pods": "9"}))
    )
    spec = pod_groups.pod_group(pod_group_body("a", min_member=2))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, spec.uid, [spec])
    for i in range(2):
        cache.upsert_pod(pod_decode.pod(pod_body(f"a-{i}", gang="a")))

    plan = schedule(cache.snapshot(0), PROFILES["binpack"])

    assert (["a"], {"a-0": "n1", "a-1": "n1"}) == (gangs_placed(plan), nodes_of(plan))


def test_a_pod_may_change_its_gang() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("p", gang="a"))

    cache.upsert_pod(pod("p", gang="b"))

    assert ([], ["uid-p"]) == (record_members(cache, "a"), record_members(cache, "b"))


def test_a_pod_may_leave_its_gang_and_be_one_alone() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("p", gang="a"))

    cache.upsert_pod(pod("p"))

    assert [] == record_members(cache)
    assert [GangKey("Pod", NAMESPACE, "p")] == [each.key for each in due(cache)]


def test_an_ended_pod_frees_its_room_and_stays_a_member() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("a-0", gang="a", cpu=3, node="n1", phase="Running"))

    cache.upsert_pod(pod("a-0", gang="a", cpu=3, node="n1", phase="Succeeded"))

    assert (8000, ["uid-a-0"]) == (free_cpu(cache), record_members(cache))


def test_a_pod_being_deleted_uses_its_room_until_it_is_gone() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("a-0", gang="a", cpu=3, node="n1", deleting=True))
    before = free_cpu(cache)

    cache.delete_pod("uid-a-0")

    assert (5000, 8000) == (before, free_cpu(cache))


def test_pods_of_other_schedulers_count_but_are_no_members() -> None:
    cache = new_cache()

    cache.upsert_pod(pod("x", gang="a", cpu=3, node="n1", scheduler="default-scheduler"))
    cache.upsert_pod(pod("y", gang="a", cpu=3, scheduler="default-scheduler"))

    assert (5000, [], []) == (free_cpu(cache), record_members(cache), due(cache))


def test_a_pod_resized_in_place_counts_anew() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("x", cpu=3, node="n1"))

    cache.upsert_pod(pod("x", cpu=5, node="n1"))

    assert 3000 == free_cpu(cache)


def test_nothing_changes_when_a_pod_is_seen_again_unchanged() -> None:
    changes = Changes()
    cache = new_cache(changes)
    cache.upsert_pod(pod("a-0", gang="a"))
    due(cache)
    changes.cycle.clear()

    cache.upsert_pod(pod("a-0", gang="a"))

    assert (False, []) == (changes.cycle.is_set(), due(cache))


def test_a_gang_short_of_room_is_tried_again_when_room_is_freed() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("x", cpu=8, node="n1"))
    cache.upsert_pod(pod("alone", cpu=1))
    (refused,) = schedule(cache.snapshot(0), PROFILES["binpack"]).refused
    cache.decisions.refused(refused, 0)
    before = due(cache)

    cache.delete_pod("uid-x")

    assert ([], ["alone"]) == (before, [each.key.name for each in due(cache)])


def test_a_gang_short_of_room_is_tried_again_when_a_node_comes() -> None:
    changes = Changes()
    cache = new_cache(changes)
    cache.upsert_pod(pod("alone", cpu=9))
    (refused,) = schedule(cache.snapshot(0), PROFILES["binpack"]).refused
    cache.decisions.refused(refused, 0)
    changes.cycle.clear()

    cache.upsert(cache.node_store, node("n2", cpu=9))

    assert changes.cycle.is_set()
    assert ["alone"] == [each.key.name for each in due(cache)]


def test_a_pod_group_that_comes_late_or_goes_makes_its_gang_worth_a_try() -> None:
    cache = new_cache()
    cache.upsert_pod(pod("b-0", gang="b"))
    without = due(cache)[0].problem

    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, "uid-b", [gang_spec("b")])
    with_it = due(cache)[0].problem
    cache_feeding.delete_gang_specs(cache, POD_GROUPS.group, "uid-b")

    assert (True, None) == (without is not None, with_it)
    assert without == due(cache)[0].problem
