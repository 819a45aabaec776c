"""`cluster` on the command line: domains with their nodes, and a node with its pods."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.listed_clusters import GPU, Body, asked, document, gang, node, pod

TREE: Body = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
            {
                "topologyLayer": "NodeTopologyLayer",
                "parentTopologyLayer": "SpineLayer",
                "labelKey": ["kubernetes.io/hostname"],
            },
        ]
    },
}


_IN_RACK = {"parentTopologyLayer": "RackLayer"}


def in_spine(number: int, spine: str) -> Body:
    name = f"node-{number}"
    return node(name, labels={"spine": spine, "kubernetes.io/hostname": name})


NODES = [in_spine(0, "s0"), in_spine(1, "s0"), in_spine(2, "s1"), in_spine(3, "s1")]
NODES[3]["spec"] = {"unschedulable": True}
CLUSTER = [
    TREE,
    *NODES,
    *gang("runs", 1, gpus=4, nodes=["node-0"]),
    *gang("waits", 5),
    pod("other", gpus=1, node="node-0", scheduler="default-scheduler"),
]


def test_colour_tells_nodes_that_are_not_ready_and_what_is_full(tmp_path: Path) -> None:
    full = [
        *CLUSTER,
        *gang("fills", 1, gpus=8, nodes=["node-2"]),
        *gang("too", 1, gpus=8, nodes=["node-3"]),
    ]
    full[1] = {
        **full[1],
        "status": {**full[1]["status"], "conditions": [{"type": "Ready", "status": "False"}]},
    }
    colored = asked("cluster", tmp_path, full, "--color", "always").stdout

    assert "\x1b[33m1/2\x1b[0m" in colored
    assert "\x1b[31m16/16\x1b[0m" in colored
    plain = asked("cluster", tmp_path, full).stdout
    assert "\x1b" not in plain
    assert plain == re.sub("\x1b\\[[0-9;]*m", "", colored)


def domain(found: Body, *path: str) -> dict[str, Any]:
    (tree,) = found["trees"]
    return next(each for each in tree["domains"] if each["path"] == [*path])


def test_each_domain_has_its_nodes_and_the_largest_gang(tmp_path: Path) -> None:
    lines = asked("cluster", tmp_path, CLUSTER).stdout.splitlines()

    assert [
        "DOMAIN           READY  CORDONED  WHOLE  nvidia.com/gpu  LARGEST nvidia.com/gpu=8",
        "cluster            4/4         1      2            5/32                         2",
        "  SpineLayer/s0    2/2         0      1            5/16                         1",
        "  SpineLayer/s1    2/2         1      1            0/16                         1",
        "cordoned: node-3",
        "computed from 4 nodes and 7 pods, as of 12:00:01 UTC",
    ] == lines


def test_the_depth_says_how_far_down(tmp_path: Path) -> None:
    assert 1 == len(document("cluster", tmp_path, CLUSTER, "--depth", "0")["trees"][0]["domains"])
    assert 7 == len(document("cluster", tmp_path, CLUSTER, "--depth", "9")["trees"][0]["domains"])


def test_several_shapes_may_be_asked_for(tmp_path: Path) -> None:
    found = document("cluster", tmp_path, CLUSTER, "--shape", f"{GPU}=1", "--shape", "cpu=32")

    assert [
        {"shape": {GPU: "1"}, "members": 19},
        {"shape": {"cpu": "32"}, "members": 6},
    ] == domain(found)["largestGangs"]


@pytest.mark.parametrize("shape", ["gpu", "=1", "cpu=lots", ""])
def test_a_shape_that_is_none_is_bad_input(tmp_path: Path, shape: str) -> None:
    result = asked("cluster", tmp_path, CLUSTER, "--shape", shape)

    assert (2, True) == (result.exit_code, result.stderr.startswith("--shape: "))


def test_nodes_outside_are_named(tmp_path: Path) -> None:
    layers = TREE["spec"]["networkTopologySpec"]
    rack = {"topologyLayer": "RackLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["r"]}
    tree = TREE | {"spec": {"networkTopologySpec": [layers[0], rack, {**layers[1], **_IN_RACK}]}}
    found = asked("cluster", tmp_path, [tree, node("lost")])

    assert "outside of ClusterNetworkTopology default, for lack of a label: lost" in found.stdout


def test_without_a_tree_it_is_the_cluster(tmp_path: Path) -> None:
    found = document("cluster", tmp_path, [node("a"), node("b")])

    assert 2 == domain(found)["nodes"]["ready"]
    assert [] == domain(found)["largestGangs"]


def test_without_nodes_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert [] == document("cluster", tmp_path, gang("waits", 1))["trees"][0]["domains"]


def test_a_node_shows_which_pods_and_gangs_are_on_it(tmp_path: Path) -> None:
    lines = asked("cluster", tmp_path, CLUSTER, "node-0").stdout.splitlines()

    assert "node-0: ready, 5/8 nvidia.com/gpu, in NodeTopologyLayer/s0/node-0" == lines[0]
    assert lines[1].startswith("POD          GANG       PRI  PHASE    TIME")
    assert any(line.startswith("team/runs-0  team/runs") for line in lines)
    assert any(line.startswith("team/other   -") for line in lines)


def test_a_node_as_a_document(tmp_path: Path) -> None:
    found = document("cluster", tmp_path, CLUSTER, "node-3")

    assert (True, True, []) == (found["ready"], found["cordoned"], found["pods"])
    pods = document("cluster", tmp_path, CLUSTER, "node-0")["pods"]
    assert [None, "team/runs"] == [each["gang"] for each in pods]


def test_a_node_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    result = asked("cluster", tmp_path, CLUSTER, "elsewhere")

    there_are = "; there are node-0, node-1, node-2, node-3"
    assert (3, f'Error from server (NotFound): nodes "elsewhere" not found{there_are}') == (
        result.exit_code,
        result.stderr.splitlines()[-1],
    )


INFRA = [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]


def test_cordons_and_taints_are_shown_with_the_nodes(tmp_path: Path) -> None:
    tainted = [in_spine(4, "s1"), in_spine(5, "s1")]
    for each in tainted:
        each["spec"] = {"taints": INFRA}
    lines = asked("cluster", tmp_path, [*CLUSTER, *tainted]).stdout.splitlines()

    assert "DOMAIN           READY  CORDONED  TAINTED  WHOLE" in lines[0]
    assert "  SpineLayer/s1    4/4         1        2" in lines[3]
    assert ["cordoned: node-3", "taint dedicated=infra:NoSchedule: node-4, node-5"] == lines[4:6]
    found = document("cluster", tmp_path, [*CLUSTER, *tainted])
    assert (["node-3"], []) == (found["nodes"]["cordoned"], found["nodes"]["notReady"])
    assert [{**INFRA[0], "nodes": ["node-4", "node-5"]}] == found["nodes"]["taints"]


def test_a_node_shows_its_taints(tmp_path: Path) -> None:
    tainted = in_spine(4, "s1")
    tainted["spec"] = {"taints": INFRA}

    first, *_ = asked("cluster", tmp_path, [*CLUSTER, tainted], "node-4").stdout.splitlines()

    assert "node-4: ready, taint dedicated=infra:NoSchedule, " in first
    assert INFRA == document("cluster", tmp_path, [*CLUSTER, tainted], "node-4")["taints"]


def test_a_node_that_is_not_there_may_be_misspelt(tmp_path: Path) -> None:
    result = asked("cluster", tmp_path, CLUSTER, "nod-3")

    assert 3 == result.exit_code
    assert 'nodes "nod-3" not found; did you mean node-3' in result.stderr
