"""Bound pods that go together."""

from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY, EvictionUnit, usage_of
from support.builders import bound_pod, node, snapshot

NODES = snapshot([node("n1"), node("n2")]).nodes
PAIR = [bound_pod(f"g-{i}", "n1", gang="g", cpu=2, priority=i) for i in range(2)]
THIRD = bound_pod("g-2", "n2", gang="g", cpu=1)


def cpus(*units: EvictionUnit) -> dict[int, int]:
    """Return the CPUs that losses leave, by node row."""
    rows, used = usage_of(units, NODES)
    cores = used[:, NODES.axis["cpu"]] // 1000
    return dict(zip(rows.tolist(), cores.tolist(), strict=True))


def test_a_loss_sums_up_its_bound_pods() -> None:
    late = bound_pod(
        "g-2", "n1", gang="g", priority=7, started_at=90, unprotected=True, budgets=["b", "c"]
    )
    unit = EvictionUnit([*PAIR, late], now=100)

    assert (3, 3, 7, 10) == (len(unit), unit.going, unit.highest_priority, unit.lost_work)
    assert 1 == unit.unprotected
    assert {} == unit.covered
    assert [("b", "c")] == [each.budgets for each in unit.overlapping]


def test_a_pod_that_is_marked_counts_for_nothing_but_its_room() -> None:
    marked = bound_pod(
        "x", "n1", marked_as_victim=True, started_at=1, budgets=["b"], unprotected=True
    )
    unit = EvictionUnit([marked], now=100)

    assert (1, 0, NO_PRIORITY, 0) == (len(unit), unit.going, unit.highest_priority, unit.lost_work)
    assert 0 == unit.unprotected
    assert ({}, [0]) == (unit.covered, unit.usage(NODES).rows.tolist())


def test_what_is_left_on_a_node_is_added_up() -> None:
    assert {0: 4, 1: 1} == cpus(EvictionUnit([THIRD, *PAIR], now=0))
    assert {0: 4, 1: 1} == cpus(
        EvictionUnit(PAIR[:1], 0), EvictionUnit([THIRD], 0), EvictionUnit(PAIR[1:], 0)
    )


def test_nodes_that_do_not_exist_leave_nothing() -> None:
    assert {} == cpus(EvictionUnit([bound_pod("x", "gone")], now=0))
    assert {} == cpus()
