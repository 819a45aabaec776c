"""What a request means on the trees there are."""

import pytest

from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology_request import HOSTNAME, LayerRef, Slices, TopologyRequest
from gang_scheduler.model.topology_scope import TopologyScope, resolve, sizes_of
from gang_scheduler.report.words.text import text_of
from support import topology_builders
from support.builders import node
from support.topology_builders import BLOCK, SPINE, TREE_SPEC

NODES = NodeTable([node("n1", labels={**topology_builders.labels_of("s/b"), "zone": "z"})])
RACKS = TreeSpec("Topology racks", (Layer("rack", label_keys=("rack",)), Layer(NODE_LAYER, "rack")))


def named(*layers: str) -> tuple[LayerRef, ...]:
    return tuple(LayerRef(layer) for layer in layers)


def labelled(*keys: str) -> tuple[LayerRef, ...]:
    return tuple(LayerRef(key, by_label=True) for key in keys)


def ground(topology_request: TopologyRequest, *tree_specs: TreeSpec) -> TopologyScope:
    found = resolve(topology_request, tree_specs or (TREE_SPEC,), NODES)
    assert isinstance(found, TopologyScope), found
    return found


def problem(topology_request: TopologyRequest, *tree_specs: TreeSpec) -> Problem:
    found = resolve(topology_request, tree_specs, NODES)
    assert isinstance(found, Problem), found
    return found


def test_the_lowest_layer_to_gather_in_counts() -> None:
    assert 2 == ground(TopologyRequest(must=named(BLOCK, SPINE))).must


def test_a_label_key_names_the_layer_that_has_it() -> None:
    assert 1 == ground(TopologyRequest(must=labelled(topology_builders.SPINE_KEY))).must


def test_the_host_name_is_the_layer_of_the_nodes_in_every_tree() -> None:
    assert 3 == ground(TopologyRequest(must=labelled(HOSTNAME))).must
    assert 2 == ground(TopologyRequest(must=labelled(HOSTNAME)), RACKS).must


def test_preferring_upward_prefers_every_layer_above() -> None:
    asked = TopologyRequest(prefer=labelled(topology_builders.BLOCK_KEY), upward=True)

    assert (1, 2) == ground(asked).prefer


def test_a_later_tree_is_taken_where_the_first_has_not_all_layers() -> None:
    asked = TopologyRequest(must=labelled("rack"))

    assert RACKS == ground(asked, TREE_SPEC, RACKS).tree.tree_spec


def test_a_label_that_no_tree_has_makes_a_tree() -> None:
    found = ground(TopologyRequest(must=labelled("zone")), TREE_SPEC)

    assert ("zone", NODE_LAYER) == tuple(layer.name for layer in found.tree.layers)
    assert ("z",) == found.tree.levels[1].names


def test_without_any_tree_there_are_nodes() -> None:
    found = resolve(TopologyRequest(must=labelled(HOSTNAME)), (), NODES)

    assert isinstance(found, TopologyScope)
    assert 1 == found.must


def test_one_request_cannot_ask_for_two_trees() -> None:
    both = TopologyRequest(must=labelled("rack", topology_builders.SPINE_KEY))

    assert Reason.INVALID_SPEC is problem(both, TREE_SPEC, RACKS).reason


def test_a_misspelt_layer_is_met_with_a_guess() -> None:
    found = problem(TopologyRequest(must=named("spineLayer")), TREE_SPEC)

    assert Reason.UNKNOWN_LAYER is found.reason
    assert (
        'layer "spineLayer" is unknown: the layers are SpineLayer, BlockLayer, NodeTopologyLayer; '
        "did you mean SpineLayer?"
    ) == text_of(found.cause)


def test_a_layer_like_nothing_known_is_met_without_one() -> None:
    found = problem(TopologyRequest(must=named("Zebra")), TREE_SPEC)

    assert "did you mean" not in text_of(found.cause)


def test_without_a_tree_every_layer_is_unknown() -> None:
    found = problem(TopologyRequest(must=named(SPINE)))

    assert 'layer "SpineLayer" is unknown: there is no topology' == text_of(found.cause)


def test_an_unknown_layer_that_is_only_preferred_is_reported_and_left_out() -> None:
    found = ground(TopologyRequest(prefer=named(SPINE, "Zebra")))

    assert (1,) == found.prefer
    assert found.unknown is not None
    assert "Zebra" in text_of(found.unknown.cause)


@pytest.mark.parametrize(
    ("slices", "sizes"),
    [
        ([], (1, 1, 1, 1)),
        ([(SPINE, 4)], (4, 4, 1, 1)),
        ([(SPINE, 8), (BLOCK, 4), (NODE_LAYER, 2)], (8, 8, 4, 2)),
        # What is a multiple of 4 in every block, and of 6 in every spine, is one of 12 there.
        ([(SPINE, 6), (BLOCK, 4)], (12, 12, 4, 1)),
    ],
)
def test_sizes_by_depth(slices: list[tuple[str, int]], sizes: tuple[int, ...]) -> None:
    asked = [Slices(LayerRef(layer), size, whole=True) for layer, size in slices]

    assert sizes == sizes_of(asked, ground(TopologyRequest()))


def test_runs_of_ranks_cannot_be_in_a_layer_above_the_one_to_gather_in() -> None:
    where = ground(TopologyRequest(must=named(BLOCK)))

    found = sizes_of([Slices(LayerRef(SPINE), 2)], where)

    assert isinstance(found, Problem)
    assert 'the slice layer "SpineLayer" is above' in text_of(found.cause)


def test_runs_of_ranks_go_from_coarse_to_fine() -> None:
    found = sizes_of(
        [Slices(LayerRef(BLOCK), 4), Slices(LayerRef(SPINE), 2)], ground(TopologyRequest())
    )

    assert isinstance(found, Problem)
    assert "must be below the layer of the slices before it" in text_of(found.cause)
