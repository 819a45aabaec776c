"""The tree of network domains: every domain is one slice of the nodes in tree order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import trees
from gang_scheduler.model.layers import CLUSTER_LAYER, NODE_LAYER, Layer, TreeSpec, in_order
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.refs import natural_key
from gang_scheduler.model.topology import Topology, build
from support.builders import node

LAYERS = in_order(
    [
        Layer("Spine", "", ("spine", "old-spine")),
        Layer("Block", "Spine", ("block",)),
        Layer(NODE_LAYER, "Block"),
    ]
)


def tree_of(**labels: dict[str, str]) -> Topology:
    return build(
        TreeSpec("t", LAYERS), NodeTable(node(name, labels=each) for name, each in labels.items())
    )


def paths(tree: Topology) -> dict[str, str]:
    """Return for each node in the tree the names of its domains, in tree order."""
    found = {}
    for place, name in enumerate(tree.levels[-1].names):
        path = [name]
        for above, level in zip(tree.levels[-2::-1], tree.levels[:0:-1], strict=True):
            place = int(level.parents[place])  # noqa: PLW2901 - climbs from the node to the root
            path.append(above.names[place])
        found[name] = "/".join(reversed(path[1:]))
    return found


def at(spine: str, block: str) -> dict[str, str]:
    return {"spine": spine, "block": block}


def test_nodes_are_in_depth_first_order_by_natural_names() -> None:
    tree = tree_of(n10=at("s10", "b"), n9=at("s9", "b2"), n2=at("s9", "b10"), n1=at("s9", "b2"))

    assert {"n1": "/s9/b2", "n9": "/s9/b2", "n2": "/s9/b10", "n10": "/s10/b"} == paths(tree)
    assert ["n1", "n9", "n2", "n10"] == list(paths(tree))
    assert ["n1", "n9", "n2", "n10"] == [tree.nodes.nodes[row].name for row in tree.rows]


def test_blocks_of_one_name_under_two_spines_are_two() -> None:
    tree = tree_of(n1=at("s1", "b"), n2=at("s2", "b"))

    assert ("b", "b") == tree.levels[2].names
    assert [0, 1] == tree.levels[2].parents.tolist()


def test_the_first_label_with_a_value_counts() -> None:
    tree = tree_of(
        n1={"spine": "new", "old-spine": "old", "block": "b"},
        n2={"spine": "", "old-spine": "old", "block": "b"},
        n3={"old-spine": "new", "block": "b"},
    )

    assert {"n1": "/new/b", "n3": "/new/b", "n2": "/old/b"} == paths(tree)


def test_a_node_that_lacks_only_the_label_right_above_the_nodes_is_a_domain_of_its_own() -> None:
    tree = tree_of(n1=at("s1", "b"), n2={"spine": "s1"}, n3={"spine": "s1", "block": ""})

    assert {"n1": "/s1/b", "n2": "/s1/n2", "n3": "/s1/n3"} == paths(tree)
    assert [] == tree.outside_names


def test_it_shares_no_domain_that_happens_to_be_called_like_it() -> None:
    tree = tree_of(n1=at("s1", "n2"), n2={"spine": "s1"}, n3=at("s1", "n2"))

    assert ("n2", "n2") == tree.levels[2].names
    assert [2, 1] == tree.levels[2].sizes.tolist()
    assert ("n1", "n3", "n2") == tree.levels[3].names


def test_a_node_that_lacks_a_label_higher_up_is_outside() -> None:
    tree = tree_of(n10={"block": "b"}, n9={}, n1=at("s1", "b"), n2={"spine": "", "block": "b"})

    assert ["n2", "n9", "n10"] == tree.outside_names
    assert ["n1"] == list(paths(tree))


def test_a_tree_without_nodes_is_its_root() -> None:
    tree = tree_of(n1={})

    assert [1, 0, 0, 0] == [len(level) for level in tree.levels]
    assert [0] == tree.levels[0].sizes.tolist()


def test_nodes_alone_are_a_tree() -> None:
    tree = build(TreeSpec("t", in_order([Layer(NODE_LAYER)])), NodeTable([node("n10"), node("n9")]))

    assert [CLUSTER_LAYER, NODE_LAYER] == [level.layer for level in tree.levels]
    assert ("n9", "n10") == tree.levels[1].names


def test_offsets_cannot_be_written() -> None:
    tree = tree_of(n1=at("s1", "b"))

    assert not tree.rows.flags.writeable
    assert not any(level.starts.flags.writeable for level in tree.levels)


@pytest.mark.parametrize("case", trees.cases("topologyStatus").values(), ids=lambda c: c["id"])
def test_the_worked_cases_exclude_the_same_nodes(case: dict[str, dict[str, list[str]]]) -> None:
    cluster = trees.cluster(str(case["cluster"]))

    tree = build(TreeSpec("t", in_order(cluster.layers())), cluster.table())

    assert case["expect"].get("excludedNodes", []) == tree.outside_names


KEYS = ("spine", "old-spine", "block")
VALUES = st.sampled_from(["", "a", "b2", "b10", "n1", "n3"])
LABELS = st.dictionaries(st.sampled_from(KEYS), VALUES)


@given(st.lists(LABELS, max_size=12))
def test_the_slices_are_the_domains(labels: list[dict[str, str]]) -> None:
    table = NodeTable(node(f"n{i}", labels=each) for i, each in enumerate(labels))

    tree = build(TreeSpec("t", LAYERS), table)

    assert sorted([*tree.rows.tolist(), *tree.outside.tolist()]) == list(range(len(table)))
    assert {name: _path(name, labels) for name in paths(tree)} == paths(tree)
    assert list(paths(tree)) == sorted(paths(tree), key=lambda n: _order(n, labels))
    for above, level in zip(tree.levels, tree.levels[1:], strict=False):
        # Each level covers all nodes of the tree without a gap, and each domain its children.
        assert level.sizes.sum() == len(tree.rows)
        assert [*level.starts.tolist(), len(tree.rows)] == np.cumsum([0, *level.sizes]).tolist()
        children = np.bincount(level.parents, weights=level.sizes, minlength=len(above))
        assert above.sizes.tolist() == children.tolist()
    for level in tree.levels[1:] if len(tree.rows) else ():
        ones = np.ones(len(table), dtype=np.int64)
        assert level.sizes.tolist() == np.add.reduceat(ones[tree.rows], level.starts).tolist()


def _path(name: str, labels: list[dict[str, str]]) -> str:
    own = labels[int(name[1:])]
    return f"/{own.get('spine') or own.get('old-spine')}/{own.get('block') or name}"


def _order(name: str, labels: list[dict[str, str]]) -> tuple[object, ...]:
    """Sort as a person would: by path, then labelled domains before lone nodes, then by name."""
    lone = not labels[int(name[1:])].get("block")
    return (*map(natural_key, _path(name, labels).split("/")), lone, natural_key(name))
