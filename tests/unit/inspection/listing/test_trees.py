"""Trees for people: short, without colours, and with what domains offer gangs that wait."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES
from gang_scheduler.decode import topology
from gang_scheduler.inspection.listing import trees
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Misfit, Offers, Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.topology import Domain, build
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.simulation.run import asked_for
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.nodes import NodeUsage
from support import builders, cache_feeding
from support.builders import GPU, gang, node, pod, snapshot


def tree_spec(*layers: str) -> TreeSpec:
    """Return a tree whose layers are labels in lower case."""
    named = [Layer(name, label_keys=(name.lower(),)) for name in layers]
    return TreeSpec("tree t", (*named, Layer(NODE_LAYER)))


SPINES = tree_spec("Spine", "Block")

NODES = {
    "n1": {"spine": "s1", "block": "b1"},
    "n2": {"spine": "s1", "block": "b1"},
    "n3": {"spine": "s1", "block": "b2"},
    "n4": {"spine": "s2", "block": "b1"},
    "n5": {},
}

DRAWN = """\
tree t (used/all)
DOMAIN                NODES   CPU  default/a
ClusterTopologyLayer    2/4  5/32
  Spine/s1              1/3  4/24  2 of 3
    Block/b1            1/2  4/16
      n1                1/1   4/8
      n2                0/1   0/8
    Block/b2            0/1   0/8
      n3                0/1   0/8
  Spine/s2              1/1   1/8  0 of 3
    Block/b1            1/1   1/8
      n4                1/1   1/8
outside, for lack of a label: n5
"""


def nodes_of(labels: Mapping[str, Mapping[str, str]]) -> list[Node]:
    return [node(name, labels=each) for name, each in labels.items()]


def many(spines: int, blocks: int, nodes: int) -> list[Node]:
    """Return so many spines of so many blocks of so many nodes."""
    return nodes_of(
        {
            f"n-{s}-{b}-{n}": {"spine": f"s{s}", "block": f"b{b}"}
            for s in range(spines)
            for b in range(blocks)
            for n in range(nodes)
        }
    )


def waiting(name: str, slots: Mapping[Domain, int], needs: int) -> Refused:
    """Return a gang that waits for so much room in one domain, and what there is."""
    waits = gang(name, pods=needs)
    misfit = Misfit(1, 0, needs, (), Offers(tuple(slots.items())))
    return Refused(waits, Reason.UNSCHEDULABLE, waits.pending, misfit)


def drawn(
    nodes: Iterable[Node],
    used: Mapping[str, int] | None = None,
    refused: Sequence[Refused] = (),
    layers: TreeSpec = SPINES,
) -> str:
    """Return the tree as text. `used` are CPUs by node."""
    usage = NodeUsage()
    for each in nodes:
        usage.upsert_node(each)
    for name, cpu in (used or {}).items():
        usage.add(pod(f"on-{name}", cpu=cpu), name)
    lines = trees.draw(build(layers, usage.table()), usage, refused, ["cpu"], Page())
    return "".join(f"{line}\n" for line in lines)


def test_a_small_tree_is_drawn_down_to_its_nodes() -> None:
    spines = {Domain("Spine", ("s1",)): 2, Domain("Spine", ("s2",)): 0}

    found = drawn(nodes_of(NODES), {"n1": 4, "n4": 1}, [waiting("a", spines, 3)])

    assert DRAWN == found


def test_a_large_tree_is_drawn_as_far_down_as_there_are_lines() -> None:
    lines = drawn(many(3, 10, 20)).splitlines()

    assert 2 + 1 + 3 + 30 == len(lines)
    assert ["Block/b9", "0/20", "0/160"] == lines[-1].split()


def test_domains_that_were_offered_are_drawn_in_any_case() -> None:
    blocks = {Domain("Block", ("s1", "b7")): 1, Domain("Block", ("s3", "b2")): 1}

    lines = drawn(many(4, 20, 1), refused=[waiting("a", blocks, 2)]).splitlines()

    expected = ["Spine/s0", "Spine/s1", "Block/b7", "Spine/s2", "Spine/s3", "Block/b2"]
    assert expected == [line.split()[0] for line in lines[3:-1]]
    assert "not shown: 78 of Block" == lines[-1]


def test_of_too_many_spines_the_first_are_drawn() -> None:
    lines = drawn(many(100, 1, 2)).splitlines()

    assert 2 + 1 + trees.MOST_LINES + 1 == len(lines)
    assert "not shown: 60 of Spine, 100 of Block" == lines[-1]


def test_five_thousand_nodes_and_three_waiting_gangs_fit_on_a_page() -> None:
    offered = [
        waiting(f"g{i}", {Domain("Block", ("s1", f"b{i * 10 + j}")): 1 for j in range(10)}, 2)
        for i in range(5)
    ]

    lines = drawn(many(10, 50, 10), refused=offered).splitlines()

    assert len(lines) < 50
    assert ["default/g0", "default/g1", "default/g2"] == lines[1].split()[-3:]
    assert max(map(len, lines)) <= 80


def test_offers_of_another_tree_are_not_drawn() -> None:
    found = drawn(nodes_of(NODES), refused=[waiting("a", {Domain("Rack", ("r1",)): 1}, 2)])

    assert "default/a" not in found


def test_a_tree_without_nodes_says_which_pods_are_outside() -> None:
    nodes = nodes_of({f"n{i}": {} for i in range(12)})

    expected = (
        "tree t (used/all)\n"
        "outside, for lack of a label: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more\n"
    )
    assert expected == drawn(nodes)


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        ({}, ["cpu"]),
        ({"gpu": 1}, [GPU]),
        ({"extra": {"z/z": 1, "y/y": 1}, "gpu": 1}, [GPU, "y/y"]),
    ],
)
def test_devices_that_pods_ask_for_matter_more_than_cpu(
    asks: dict[str, Any], expected: list[str]
) -> None:
    assert expected == trees.resources_that_matter([pod("a"), pod("b", **asks)])


def cache_of(*topologies: list[str]) -> Cache:
    """Return a cache with nodes, and topologies of these labels from the top down."""
    cache = Cache([builders.SCHEDULER], Changes())
    for each in nodes_of(NODES):
        cache.upsert(cache.node_store, each)
    for number, labels in enumerate(topologies):
        levels = [{"nodeLabel": label} for label in labels]
        body = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "metadata": {"name": f"t{number}", "uid": f"uid-{number}"},
            "spec": {"levels": levels},
        }
        cache_feeding.upsert(cache, CLUSTER_NETWORK_TOPOLOGIES, topology.read_kueue_topology(body))
    return cache


def test_the_tree_that_a_gang_asks_for_is_drawn() -> None:
    cache = cache_of(["rack"], ["spine"])
    topology_request = TopologyRequest(must=(LayerRef("spine", by_label=True),))
    asking = builders.group(gang("a"), gang("b"), topology_request=topology_request)
    tree_specs = cache.topologies.tree_specs()

    asked = asked_for(snapshot(nodes_of(NODES), [asking, gang("c")], tree_specs=tree_specs))

    assert ["a", "b"] == [key.name for key in asked]
    assert ["Topology t1"] == [tree.tree_spec.name for tree in trees.to_draw(asked, cache)]


@pytest.mark.parametrize(
    ("topologies", "expected"),
    [([["rack"], ["spine"]], ["Topology t0"]), ([["kubernetes.io/hostname"]], []), ([], [])],
)
def test_where_no_gang_asks_the_first_that_is_more_than_nodes_is_drawn(
    topologies: list[list[str]], expected: list[str]
) -> None:
    found = trees.to_draw({}, cache_of(*topologies))

    assert expected == [tree.tree_spec.name for tree in found]
