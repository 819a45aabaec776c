"""How many members fit, before and after some have gone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.model.reasons import Problem
from gang_scheduler.scheduler.placement.placement_units import units_of
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit
from gang_scheduler.scheduler.preemption.preemptor import (
    COLUMNS_A_LOOK,
    MOST,
    PORTS_A_LOOK,
    Preemptor,
    Slots,
)
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import bound_pod, bound_pods, gang, group, node, pod_class, snapshot
from support.selector_builders import app

X = bound_pod("x", "n1", cpu=3)
Y = bound_pod("y", "n2", cpu=4)


def slots(
    *,
    cpu: int = 2,
    opened: tuple[bool, bool] = (True, True),
    pods: int = 1,
    held: Sequence[BoundPod] = (X, Y),
) -> Slots:
    """Return the slots of two nodes of four CPUs, with x and y on them."""
    nodes = [node("n1", cpu=4), node("n2", cpu=4)]
    trial = Trial(snapshot(nodes, bound_pods=bound_pods(*held)))
    return Slots(pod_class(cpu=cpu, pods=pods), np.array(opened), trial)


def those(*victims: BoundPod) -> list[EvictionUnit]:
    return [EvictionUnit([each], now=0) for each in victims]


def used_by_x(found: Slots) -> IntArray:
    return EvictionUnit([X], now=0).usage(found.nodes).on_row[0]


def test_what_is_free_makes_slots() -> None:
    assert 0 == slots().total
    assert [1, 0] == slots(cpu=1).slots.tolist()


def test_victims_open_slots() -> None:
    found = slots()

    assert (2, 4) == (found.gain(those(X)), found.gain(those(X, Y)))
    assert 0 == found.total


def test_an_evicted_pod_leaves_its_slots() -> None:
    found = slots()
    found.evict(those(X))

    assert [2, 0] == found.slots.tolist()
    assert (2, 0) == (found.total, found.total_with(those(X)))


def test_a_restored_pod_takes_its_slots_again() -> None:
    found = slots()
    found.evict(those(X, Y))
    found.restore(those(X))

    assert [0, 2] == found.slots.tolist()


def test_room_that_would_be_left_makes_slots() -> None:
    found = slots()
    leaving = [Share(X.pod.pod_class, np.array([0]), np.array([1]))]

    assert ([2, 0], 0) == (found.without(leaving).tolist(), found.total)


def test_two_that_leave_one_node_leave_it_together() -> None:
    pair = [bound_pod(f"x-{i}", "n1", cpu=2) for i in range(2)]
    found = slots(cpu=4, held=pair)

    assert (0, 1) == (found.gain(those(pair[0])), found.gain(those(*pair)))


def test_on_closed_nodes_there_are_no_slots() -> None:
    found = slots(opened=(False, True))
    found.evict(those(X, Y))

    assert [0, 2] == found.slots.tolist()


def test_a_slot_is_cleared_with_enough_of_it() -> None:
    found = slots()

    assert found.clears(0, used_by_x(found))
    assert not slots(cpu=5).clears(0, used_by_x(found))


def test_a_pod_that_is_on_an_unknown_node_frees_nothing() -> None:
    found = slots()
    found.evict(those(bound_pod("z", "gone", cpu=4)))

    assert 0 == found.total


def test_pods_that_ask_for_nothing_fit_without_end() -> None:
    assert [MOST, MOST] == slots(cpu=0, pods=0).slots.tolist()


def test_to_free_pods_that_others_select_is_work_by_class_and_selector() -> None:
    asking, shot = group(gang("a")), snapshot([node("n1", cpu=4)])
    units = units_of(asking, shot)
    assert not isinstance(units, Problem)
    preemptor = Preemptor(units, Trial(shot), PROFILES["binpack"])
    seldom = pod_class(cpu=1)
    often = replace(seldom, selected_by=frozenset(map(app, "abcdefgh")))

    def spent(asked: PodClass, number: int) -> int:
        before = preemptor.trial.effort.spent
        preemptor.free([Share(asked, np.array([0]), np.array([1]))] * number)
        return preemptor.trial.effort.spent - before

    assert (0, 10 * 8 // COLUMNS_A_LOOK) == (spent(seldom, 10), spent(often, 10))


def test_to_free_pods_with_host_ports_is_work_by_port_and_node() -> None:
    asking, shot = group(gang("a")), snapshot([node(f"n{i}", cpu=4) for i in range(100)])
    units = units_of(asking, shot)
    assert not isinstance(units, Problem)
    preemptor = Preemptor(units, Trial(shot), PROFILES["binpack"])
    many = pod_class(cpu=1, ports=[HostPort(number) for number in range(20)])

    preemptor.free([Share(many, np.arange(100), np.ones(100, dtype=np.int64))])

    assert 100 * 20 // PORTS_A_LOOK == preemptor.trial.effort.spent
