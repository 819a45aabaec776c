"""Nodes whose kubelet has lately refused a pod with the same requests."""

from dataclasses import replace

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.scheduler.filters import refused_shapes
from support.builders import node, pod_class

LARGE, SMALL = pod_class(cpu=4), pod_class(cpu=1)
NODES = NodeTable([node("n1"), replace(node("n2"), refused=((LARGE.requests, "OutOfcpu"),))])


def test_only_pods_with_the_same_requests_are_kept_away() -> None:
    assert [True, False] == refused_shapes.passes(LARGE, NODES).tolist()
    assert [True, True] == refused_shapes.passes(SMALL, NODES).tolist()


def test_it_says_why_the_kubelet_has_refused_them() -> None:
    rejected = ~refused_shapes.passes(LARGE, NODES)

    expected = {"node(s) whose kubelet refused such a pod (OutOfcpu)": 1}
    assert expected == refused_shapes.reasons(LARGE, NODES, rejected)
