"""How full a node is, in thousandths of what the pod asks for."""

import numpy as np

from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import scoring
from gang_scheduler.scheduler.trial import Trial
from support.builders import node, pod, pod_class, snapshot

ROWS = np.array([0, 1])


def test_use_is_counted_with_the_pod_on_the_node() -> None:
    bound = [pod("x", node="n2", cpu=4)]
    trial = Trial(snapshot([node("n1", cpu=8), node("n2", cpu=8)], bound=bound))

    assert [125, 625] == scoring.use_with(1, pod_class(cpu=1), ROWS, trial).tolist()


def test_uses_of_all_resources_asked_for_are_added() -> None:
    trial = Trial(snapshot([node("n1", cpu=8, gpu=8), node("n2", cpu=16, gpu=8)]))

    assert [375, 312] == scoring.use_with(1, pod_class(cpu=1, gpu=2), ROWS, trial).tolist()


def test_a_resource_that_is_not_asked_for_does_not_count() -> None:
    bound = [pod("x", node="n2", cpu=0, memory="32Gi")]
    trial = Trial(snapshot([node("n1"), node("n2")], bound=bound))

    assert [125, 125] == scoring.use_with(1, pod_class(cpu=1), ROWS, trial).tolist()


def test_the_number_of_pods_counts_only_where_nothing_else_is_asked_for() -> None:
    trial = Trial(snapshot([node("n1", cpu=8, pods=10), node("n2", cpu=8, pods=100)]))

    assert [125, 125] == scoring.use_with(1, pod_class(cpu=1), ROWS, trial).tolist()
    assert [100, 10] == scoring.use_with(1, pod_class(cpu=0), ROWS, trial).tolist()


def test_a_pod_that_asks_for_nothing_finds_all_nodes_alike() -> None:
    trial = Trial(snapshot([node("n1"), node("n2")]))

    assert [0, 0] == scoring.use_with(1, PodClass(), ROWS, trial).tolist()


def test_use_is_counted_with_more_pods_exactly() -> None:
    trial = Trial(snapshot([node("n1", cpu=8), node("n2", cpu=3)]))

    assert [125, 333] == scoring.use_with(1, pod_class(cpu=1), ROWS, trial).tolist()
    assert [250, 666] == scoring.use_with(2, pod_class(cpu=1), ROWS, trial).tolist()
    assert [375, 1000] == scoring.use_with(3, pod_class(cpu=1), ROWS, trial).tolist()
