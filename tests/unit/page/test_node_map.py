"""The map: nodes in the order of the network, what uses them, and which ones are selected."""

import json
from pathlib import Path

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.page import node_map, view
from gang_scheduler.page.node_map import OUTSIDE, NodeMap, State, Wanted
from gang_scheduler.page.view import Reading, View
from gang_scheduler.settings.policy import Policy
from support.listed_clusters import GPU, Body, gang, hold, node, pod, written
from support.pages import opened, source_of

TREE: Body = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
            {
                "topologyLayer": "RackLayer",
                "parentTopologyLayer": "SpineLayer",
                "labelKey": ["rack"],
            },
            {
                "topologyLayer": "NodeTopologyLayer",
                "parentTopologyLayer": "RackLayer",
                "labelKey": ["kubernetes.io/hostname"],
            },
        ]
    },
}
BOTH = ["runs", "half"]


def racked(name: str, spine: str, rack: str) -> Body:
    """Return a node in a rack."""
    labels = {"spine": spine, "rack": rack, "kubernetes.io/hostname": name}
    return node(name, labels=labels)


def nodes() -> list[Body]:
    """Return two spines with three racks, and a node outside of them."""
    found = [
        *(racked("n-0", "b", "r0"), racked("n-1", "a", "r0"), racked("n-2", "a", "r1")),
        *(racked("n-3", "a", "r0"), node("n-4")),
    ]
    found[2]["spec"] = {"unschedulable": True}
    found[3]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return found


CLUSTER = [
    *(TREE, *nodes()),
    *gang("runs", 2, nodes=["n-0", "n-2"]),
    *gang("half", 1, gpus=4, nodes=["n-1"], namespace="other"),
    pod("foreign", gpus=1, node="n-1", scheduler="default-scheduler"),
    *gang("waits", 9),
]


def seen(directory: Path, bodies: list[Body], namespace: str = "") -> View:
    """Return the view of a cluster of these objects."""
    cluster = files.read([written(directory, bodies)], Policy())
    return view.of_reading(Reading(cluster, namespace))


def map_of(directory: Path, bodies: list[Body] = CLUSTER, namespace: str = "") -> NodeMap:
    """Return the map of a cluster of these objects."""
    found = seen(directory, bodies, namespace).node_map()
    assert found is not None
    return found


def test_nodes_are_in_the_order_of_the_network_those_outside_last(tmp_path: Path) -> None:
    found = map_of(tmp_path)

    assert ("n-1", "n-3", "n-2", "n-0", "n-4") == found.names
    assert [(("a", "r0"), 0, 2), (("a", "r1"), 2, 1), (("b", "r0"), 3, 1), (None, 4, 1)] == [
        tuple(each) for each in found.places
    ]
    assert ("SpineLayer", "RackLayer") == found.layers
    ready, bad, cordoned = State.READY, State.NOT_READY, State.CORDONED
    assert (ready, bad, cordoned, ready, ready) == found.states


def test_a_node_says_which_gangs_use_it_and_what_other_pods_do(tmp_path: Path) -> None:
    found = map_of(tmp_path)
    used = {each.name: each.gangs for each in node_map.lines(found, range(5))}

    def named(name: str) -> list[tuple[str, int]]:
        return [(str(key), amount) for key, amount in used[name]]

    assert [("other/half", 4), ("None", 1)] == named("n-1")
    assert [("team/runs", 8)] == named("n-0")
    assert [] == named("n-4")
    assert (5, 0, 8, 8, 0) == found.used


def test_gangs_of_other_namespaces_are_other_pods(tmp_path: Path) -> None:
    found = map_of(tmp_path, namespace="team")

    assert ["team/runs"] == [str(each) for each in found.gangs]
    assert ((node_map.OTHERS, 5),) == found.uses[0]


def test_without_gpus_the_map_is_of_cpus(tmp_path: Path) -> None:
    bare = node("bare")
    bare["status"]["allocatable"].pop(GPU)
    found = map_of(tmp_path, [bare])

    assert ("CPUs", ("cpu",), (64_000,)) == (found.unit, found.resources, found.offered)
    assert "64" == found.shown(found.offered[0])
    assert [()] == [each.path for each in found.places]


def test_an_empty_cluster_has_an_empty_map(tmp_path: Path) -> None:
    found = map_of(tmp_path, [*gang("waits", 1)])

    assert ((), ()) == (found.names, found.places)
    assert [] == node_map.lines(found, node_map.selected(found, Wanted()))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Wanted(), ["n-1", "n-3", "n-2", "n-0", "n-4"]),
        (Wanted(domain="a"), ["n-1", "n-3", "n-2"]),
        (Wanted(domain="a/r1"), ["n-2"]),
        (Wanted(domain="r1"), []),
        (Wanted(domain=OUTSIDE), ["n-4"]),
        (Wanted(gang="team/runs"), ["n-2", "n-0"]),
        (Wanted(gang="team/none"), []),
        (Wanted(state="free"), ["n-1", "n-4"]),
        (Wanted(state="full"), ["n-3", "n-2", "n-0"]),
        (Wanted(state="cordoned"), ["n-2"]),
        (Wanted(state="notReady"), ["n-3"]),
        (Wanted(text="N-3"), ["n-3"]),
    ],
)
def test_nodes_are_selected(wanted: Wanted, names: list[str], tmp_path: Path) -> None:
    found = map_of(tmp_path)

    assert names == [found.names[each] for each in node_map.selected(found, wanted)]


def test_a_domain_knows_those_one_layer_below(tmp_path: Path) -> None:
    found = map_of(tmp_path)

    assert ["a", "b", OUTSIDE] == node_map.domains_below(found, "")
    assert ["a/r0", "a/r1"] == node_map.domains_below(found, "a")
    assert [] == node_map.domains_below(found, "a/r0")


async def test_the_document_is_as_its_schema_says_and_has_what_is_asked_for(
    tmp_path: Path,
) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        whole = json.loads((await browser.get("/api/v1/nodes")).text)
        part = json.loads((await browser.get("/api/v1/nodes?in=a&gang=team/runs")).text)

    hold(whole)
    hold(part)
    assert [8, 8, 8, 8, 8] == whole["nodes"]["all"]
    assert [[0, 4, -1, 1], [], [1, 8], [1, 8], []] == sorted_by_gang(whole)
    assert 11 == whole["idleWhileWaiting"]
    assert ["n-2"] == part["nodes"]["names"]
    assert [{"path": ["a", "r1"], "nodes": 1}] == part["domains"]
    assert [{"name": "team/runs", "address": "/gangs/team/runs"}] == part["gangs"]
    assert [[0, 8]] == part["nodes"]["gangs"]


def sorted_by_gang(found: Body) -> list[list[int]]:
    """Return what uses the nodes, with gangs numbered by name."""
    names = sorted(each["name"] for each in found["gangs"])
    numbers = {place: names.index(each["name"]) for place, each in enumerate(found["gangs"])}
    return [
        [numbers.get(each, each) if place % 2 == 0 else each for place, each in enumerate(flat)]
        for flat in found["nodes"]["gangs"]
    ]


async def test_the_screen_of_nodes_is_whole_without_the_map(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        whole = (await browser.get("/nodes")).text
        lit = (await browser.get("/nodes?gang=team/runs")).text
        inside = (await browser.get("/nodes?in=a")).text

    assert 5 == whole.count('<tr data-key="')
    assert 'href="/nodes/n-3"' in whole
    assert 'href="/gangs/team/runs"' in whole
    assert 'href="/nodes?in=a"' in whole
    assert "not ready" in whole
    assert 2 == lit.count('<tr data-key="')
    assert 'nodes of <a class="name" href="/gangs/team/runs">' in lit
    assert 3 == inside.count('<tr data-key="')
    assert '<a href="/nodes">cluster</a> / <b>a</b>' in inside


async def test_a_node_leads_to_its_gangs_and_a_gang_to_its_nodes(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        of_node = (await browser.get("/nodes/n-0")).text
        of_gang = (await browser.get("/gangs/team/runs")).text
        document = json.loads((await browser.get("/api/v1/nodes/n-0")).text)

    hold(document)
    assert 'href="/gangs/team/runs"' in of_node
    assert 'href="/nodes?gang=team%2Fruns"' in of_node
    assert 'href="/nodes?node=n-0"' in of_node
    assert 'href="/nodes?gang=team%2Fruns"' in of_gang


async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        missing = await browser.get("/nodes/n-9")
        of_json = await browser.get("/api/v1/nodes?topology=other")
        screen = await browser.get("/nodes?topology=other")

    assert (404, 404, 404) == (missing.status, of_json.status, screen.status)
    assert "no node has this name; did you mean" in missing.text
    assert "topology: other: no topology has this name" in json.loads(of_json.text)["error"]


async def test_a_namespace_hides_pods_of_others_on_a_node(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER, "team")) as browser:
        for path in ("/nodes", "/nodes/n-1", "/api/v1/nodes", "/api/v1/nodes/n-1"):
            found = await browser.get(path)
            assert 200 == found.status, path
            assert "half" not in found.text, path


def test_without_names_the_map_keeps_domains_that_may_be_named(tmp_path: Path) -> None:
    found = map_of(tmp_path)
    hidden = node_map.without_names(found, lambda name: name != "r0")

    assert not hidden.is_named
    assert found.used == hidden.used
    paths = [each.path for each in hidden.places]
    assert [("a", "?"), ("a", "r1"), ("b", "?"), None] == paths
    assert [] == node_map.selected(hidden, Wanted(domain="a/r0"))
    assert [] == node_map.selected(hidden, Wanted(text="n-0"))


async def test_the_screen_of_a_node_says_in_which_domains_it_is(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        assert "<span>in a / r1</span>" in (await browser.get("/nodes/n-2")).text
        assert "<span>in" not in (await browser.get("/nodes/n-4")).text
