"""Cordoned nodes and nodes that are not ready are refused, with kube-scheduler's exceptions."""

import numpy as np
import pytest

from gang_scheduler.model.nodes import NodeTable, Toleration
from gang_scheduler.scheduler.filters import readiness, unschedulable
from support.builders import node, pod_class

NODES = NodeTable([node("n1"), node("n2", ready=False), node("n3", unschedulable=True)])
NOT_READY = "node.kubernetes.io/not-ready"
CORDONED = "node.kubernetes.io/unschedulable"


def test_a_cordoned_node_is_refused() -> None:
    assert [True, True, False] == unschedulable.passes(pod_class(), NODES).tolist()


def test_a_node_that_is_not_ready_is_refused() -> None:
    assert [True, False, True] == readiness.passes(pod_class(), NODES).tolist()


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(CORDONED, "Exists"),
        Toleration(CORDONED, "Exists", "", "NoSchedule"),
        Toleration(CORDONED),
        Toleration("", "Exists"),
    ],
)
def test_a_pod_that_tolerates_cordoning_goes_to_a_cordoned_node(toleration: Toleration) -> None:
    asked = pod_class(tolerations=[toleration])

    assert [True, True, True] == unschedulable.passes(asked, NODES).tolist()


def test_a_pod_that_tolerates_not_ready_goes_to_a_node_that_is_not() -> None:
    asked = pod_class(tolerations=[Toleration(NOT_READY, "Exists")])

    assert [True, True, True] == readiness.passes(asked, NODES).tolist()


def test_the_toleration_that_admission_gives_every_pod_is_not_enough() -> None:
    asked = pod_class(tolerations=[Toleration(NOT_READY, "Exists", "", "NoExecute")])

    assert [True, False, True] == readiness.passes(asked, NODES).tolist()


def test_a_toleration_of_the_one_does_not_help_against_the_other() -> None:
    asked = pod_class(tolerations=[Toleration(NOT_READY, "Exists")])

    assert [True, True, False] == unschedulable.passes(asked, NODES).tolist()


def test_the_reasons_are_in_words() -> None:
    both = np.array([False, True, True])

    assert {"node(s) were unschedulable": 2} == unschedulable.reasons(pod_class(), NODES, both)
    assert {"node(s) were not ready": 2} == readiness.reasons(pod_class(), NODES, both)
