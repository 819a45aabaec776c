"""What a gang lacks that has started, since nodes have failed or its domain is full."""

from gang_scheduler.model.failures import NodeFailure
from gang_scheduler.model.topology import Domain
from support.builders import node, pod
from support.degraded_gang import KEY, LATER, NOW, SIZE, DegradedGang


def test_a_gang_on_healthy_nodes_is_not_degraded() -> None:
    assert DegradedGang().found() is None


def test_a_node_that_is_not_ready_for_a_moment_degrades_no_gang() -> None:
    made = DegradedGang()
    made.fails(1)

    assert made.found(NOW + 29) is None
    assert made.found(NOW + 30) is not None


def test_members_on_failed_nodes_are_named_with_the_nodes_and_the_domain() -> None:
    made = DegradedGang()
    made.fails(1, 2)

    found = made.found(LATER)

    assert found is not None
    assert (SIZE, 2, Domain("BlockLayer", ("s0", "b0"))) == (
        *(found.needed, found.lacking),
        found.domain,
    )
    assert ["n1", "n2"] == [each.name for each in found.nodes]
    assert ["a-1", "a-2"] == [each.name for each in found.on_failed]
    assert ((), 0, None) == (found.stuck, found.waiting, found.refused)


def test_a_gang_is_whole_again_when_its_nodes_are() -> None:
    made = DegradedGang()
    made.fails(1)
    assert made.found(LATER) is not None

    made.heals(1)

    assert made.found(LATER + 1) is None
    assert [] == list(made.cache.degraded.all(LATER + 1))


def test_pods_that_were_deleted_are_stuck_after_their_grace_period() -> None:
    made = DegradedGang()
    made.fails(1)
    made.deletes(1, gone_by=LATER)

    before, after = made.found(LATER - 1), made.found(LATER)

    assert before is not None
    assert after is not None
    assert ((), ["a-1"]) == (before.stuck, [each.name for each in after.stuck])
    assert ["a-1"] == [each.name for each in made.cache.degraded.stuck(LATER)]
    assert [] == [each.name for each in made.cache.degraded.stuck(LATER - 1)]


def test_a_node_that_is_gone_is_named_until_the_gang_is_whole() -> None:
    made = DegradedGang()
    made.cache.delete(made.cache.node_store, "uid-n1")
    made.gone(1)

    found = made.found(LATER)

    assert found is not None
    assert ["n1"] == [each.name for each in found.nodes]
    made.joins(1, "n4")
    assert made.found(LATER) is None


def test_a_node_that_was_gone_before_the_process_began_is_found() -> None:
    made = DegradedGang()
    made.cache.node_usage.delete_node("n1")
    made.cache.find_gone_nodes()

    found = made.found(LATER)

    assert found is not None
    (lost,) = found.nodes
    assert lost.failed is not None
    assert (NodeFailure.GONE, "n1") == (lost.failed.failure, lost.name)


def test_a_domain_without_room_degrades_a_gang_whatever_it_lost_members_by() -> None:
    made = DegradedGang(free=0)
    made.gone(1)
    made.cache.upsert_pod(pod("stranger", node="n1", cpu=4))
    made.waits(1)

    made.decide(LATER)
    found = made.found(LATER)

    assert found is not None
    assert (1, 1, ()) == (found.lacking, found.waiting, found.nodes)
    assert found.refused is not None
    (info, _), *_ = made.cache.degraded.all(LATER)
    assert LATER == info.losses.no_room_since


def test_what_was_found_is_forgotten_once_the_gang_is_whole() -> None:
    made = DegradedGang(free=0)
    made.lacks_room(1, LATER)
    made.joins(1, "n0")

    assert [] == list(made.cache.degraded.all(LATER))
    info = made.cache.gang_queue.infos[KEY]
    assert (frozenset(), None) == (info.losses.nodes, info.losses.no_room_since)


def test_a_gang_without_any_member_left_starts_anew() -> None:
    made = DegradedGang()
    made.fails(*range(SIZE))
    for number in range(SIZE):
        made.gone(number)
    made.waits(0)

    made.decide(LATER)

    assert made.found(LATER) is None


def test_a_single_pod_lacks_no_others() -> None:
    made = DegradedGang()
    alone = pod("alone", node="n4", phase="Running")
    made.cache.upsert_pod(alone)
    made.decide(NOW)
    made.fails(4)
    made.cache.settle_failed_nodes(LATER)

    assert made.cache.degraded.of(alone.gang, LATER) is None
    assert [] == list(made.cache.degraded.all(LATER))


def test_failed_nodes_are_in_the_snapshot() -> None:
    made = DegradedGang()
    made.fails(1)

    assert frozenset() == made.cache.snapshot(NOW).failed_nodes
    assert frozenset({"n1"}) == made.cache.snapshot(LATER).failed_nodes


def test_without_a_leader_nodes_and_gangs_that_are_gone_take_no_memory() -> None:
    made = DegradedGang()
    made.fails(1)
    made.cache.delete(made.cache.node_store, "uid-n2")
    for number in range(500):
        made.cache.upsert(made.cache.node_store, node(f"gone-{number}"))
        made.cache.upsert_pod(pod(f"p-{number}", node=f"gone-{number}"))
        made.cache.delete(made.cache.node_store, f"uid-gone-{number}")
        made.cache.delete_pod(f"uid-p-{number}")

    assert 102 >= len(made.cache.failed_nodes._gone)
    assert "n2" in made.cache.failed_nodes._gone
    # A single pod is a gang, and the last one is forgotten with the next.
    assert 2 == len(made.cache.degraded._concerned)
    found = made.found(LATER)
    assert found is not None
    assert ["n1", "n2"] == [each.name for each in found.nodes]
