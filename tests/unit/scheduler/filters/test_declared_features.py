"""What a pod needs of a kubelet."""

from gang_scheduler.model.nodes import Node, NodeTable
from gang_scheduler.scheduler.filters import declared_features
from support.builders import node, pod_class

NODES = NodeTable(
    [
        node("n1"),
        Node("n2", features=frozenset({"Restarts"})),
        Node("n3", features=frozenset({"Restarts", "Users"})),
    ]
)


def test_a_pod_that_needs_nothing_may_go_anywhere() -> None:
    assert [True, True, True] == declared_features.passes(pod_class(), NODES).tolist()


def test_a_node_must_declare_all_that_a_pod_needs() -> None:
    needs = pod_class(features=["Restarts", "Users"])

    assert [False, False, True] == declared_features.passes(needs, NODES).tolist()


def test_it_says_so_in_the_words_of_kube_scheduler() -> None:
    needs = pod_class(features=["Restarts"])
    rejected = ~declared_features.passes(needs, NODES)

    expected = {"node(s) didn't match Pod's required features": 1}
    assert expected == declared_features.reasons(needs, NODES, rejected)
