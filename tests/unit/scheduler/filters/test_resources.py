"""Requests must fit what is free."""

import numpy as np

from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.filters import resources
from gang_scheduler.scheduler.trial import Trial
from support.builders import GPU, node, pod, pod_class, snapshot


def slots(asked: PodClass, trial: Trial) -> list[int]:
    found: list[int] = resources.slots(asked, trial).tolist()
    return found


def test_the_scarcest_resource_limits_the_slots() -> None:
    trial = Trial(snapshot([node("n1", cpu=8, memory="4Gi"), node("n2", cpu=3, memory="64Gi")]))

    assert [2, 3] == slots(pod_class(cpu=1, memory="2Gi"), trial)


def test_a_slot_is_whole_or_none() -> None:
    trial = Trial(snapshot([node("n1", cpu="2999m"), node("n2", cpu=3)]))

    assert [1, 2] == slots(pod_class(cpu="1500m"), trial)


def test_pods_are_a_resource() -> None:
    trial = Trial(snapshot([node("n1", pods=2), node("n2", pods=0)]))

    assert [2, 0] == slots(pod_class(cpu="1m"), trial)


def test_what_a_node_does_not_offer_it_has_none_of() -> None:
    trial = Trial(snapshot([node("n1", gpu=8), node("n2")]))

    assert [8, 0] == slots(pod_class(gpu=1), trial)


def test_what_no_node_offers_fits_nowhere() -> None:
    trial = Trial(snapshot([node("n1"), node("n2")]))

    assert [0, 0] == slots(pod_class(gpu=1), trial)


def test_what_is_used_is_not_free() -> None:
    trial = Trial(snapshot([node("n1", cpu=8)], bound=[pod("x", node="n1", cpu=3)]))

    assert [5] == slots(pod_class(cpu=1), trial)


def test_an_over_committed_node_has_no_slots() -> None:
    trial = Trial(snapshot([node("n1", cpu=8)], bound=[pod("x", node="n1", cpu=9)]))

    assert [0] == slots(pod_class(cpu=1), trial)


def test_a_resource_that_is_not_asked_for_is_not_looked_at() -> None:
    trial = Trial(snapshot([node("n1", memory=10)], bound=[pod("x", node="n1", memory=11)]))

    assert [7] == slots(pod_class(cpu=1), trial)


def test_an_amount_of_zero_asks_for_nothing() -> None:
    trial = Trial(snapshot([node("n1", cpu=2)]))

    asked = PodClass(requests=(("cpu", 1000), (GPU, 0), ("pods", 1)))

    assert [2] == slots(asked, trial)


def test_a_node_that_lacks_two_resources_counts_for_both() -> None:
    trial = Trial(
        snapshot([node("n1", cpu=1, gpu=0), node("n2", cpu=8, gpu=1), node("n3", pods=0)])
    )
    rejected = np.array([True, True, True])

    found = resources.reasons(pod_class(cpu=2, gpu=2), trial, rejected)

    assert {"Insufficient cpu": 1, f"Insufficient {GPU}": 3, "Too many pods": 1} == found


def test_nodes_that_were_not_rejected_are_not_counted() -> None:
    trial = Trial(snapshot([node("n1", cpu=1), node("n2", cpu=1)]))

    found = resources.reasons(pod_class(cpu=2), trial, np.array([False, True]))

    assert {"Insufficient cpu": 1} == found
