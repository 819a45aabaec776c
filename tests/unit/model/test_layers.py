"""Layers are put in the order of the tree, or refused with the field and value that is wrong."""

import itertools

import pytest

from conformance import trees
from gang_scheduler.model.layers import CLUSTER_LAYER, NODE_LAYER, InvalidLayers, Layer, in_order

SPINE = Layer("Spine", "", ("spine",))
BLOCK = Layer("Block", "Spine", ("block",))
NODE = Layer(NODE_LAYER, "Block")


@pytest.mark.parametrize("written", list(itertools.permutations([SPINE, BLOCK, NODE])))
def test_the_order_they_are_written_in_means_nothing(written: tuple[Layer, ...]) -> None:
    assert (SPINE, BLOCK, NODE) == in_order(written)


def test_nodes_alone_are_layers_enough() -> None:
    assert (Layer(NODE_LAYER),) == in_order([Layer(NODE_LAYER)])


def test_the_top_layer_may_name_the_cluster_as_its_parent() -> None:
    top = Layer("Spine", CLUSTER_LAYER, ("spine",))

    assert (top, BLOCK, NODE) == in_order([NODE, BLOCK, top])


MISSING = 'topologyLayer "NodeTopologyLayer" is missing: it must be listed as the lowest layer'
BRANCH = 'is the parent of "Block", too: the layers must not branch'
CYCLE = "leads round in a cycle, and not to the cluster"
ROOT = "is the whole cluster, which is above all layers and not listed"
LOWEST = "is the lowest layer: nothing can be below it"
GOOD = [SPINE, BLOCK, NODE]


def layer(name: str, parent: str = "") -> Layer:
    return Layer(name, parent, ("x",))


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        ([], MISSING),
        ([SPINE, BLOCK], MISSING),
        ([*GOOD, NODE], 'topologyLayer "NodeTopologyLayer" is listed twice'),
        ([*GOOD, BLOCK], 'topologyLayer "Block" is listed twice'),
        ([BLOCK, NODE], 'parentTopologyLayer "Spine" of layer "Block" is no layer of the spec'),
        (
            [*GOOD, layer("Orphan")],
            'parentTopologyLayer "" of layer "Orphan" makes it a second top layer beside "Spine"',
        ),
        (
            [*GOOD, layer("Rack", "Spine")],
            f'parentTopologyLayer "Spine" of layer "Rack" {BRANCH}',
        ),
        (
            [*GOOD, layer("Gpu", NODE_LAYER)],
            f'parentTopologyLayer "NodeTopologyLayer" of layer "Gpu" {LOWEST}',
        ),
        (
            [*GOOD, layer("A", "B"), layer("B", "A")],
            f'parentTopologyLayer "B" of layer "A" {CYCLE}',
        ),
        (
            [layer("Spine", "Spine"), Layer(NODE_LAYER)],
            f'parentTopologyLayer "Spine" of layer "Spine" {CYCLE}',
        ),
        (
            [Layer("Spine"), Layer(NODE_LAYER, "Spine")],
            'labelKey "" of layer "Spine" must name a label of the nodes',
        ),
        (
            [layer(CLUSTER_LAYER), Layer(NODE_LAYER, CLUSTER_LAYER)],
            f'topologyLayer "ClusterTopologyLayer" {ROOT}',
        ),
    ],
)
def test_what_is_no_line_is_refused(written: list[Layer], cause: str) -> None:
    with pytest.raises(InvalidLayers) as refused:
        in_order(written)

    assert cause == str(refused.value)


@pytest.mark.parametrize("spec", trees.invalid_specs())
def test_what_others_refuse_is_refused(spec: list[dict[str, object]]) -> None:
    with pytest.raises(InvalidLayers):
        in_order(trees.layers(spec))
