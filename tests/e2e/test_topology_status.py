"""The tree of ClusterNetworkTopology `default` and its status, on a real API server."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance import trees
from e2e.support import operator_health, waiting
from tools import controlplane
from tools.controlplane import access, nodes

pytestmark = pytest.mark.e2e

TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
DEFAULT = f"{TOPOLOGIES}/default"
SPINE, BLOCK = (f"network.topology.nvidia.com/{layer}" for layer in ("spine", "block"))
CASES = ["status-8-nodes", "status-doc-12-nodes", "tree-missing-labels"]


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    bare = controlplane.Options(kwok=False, controller_manager=False)
    with controlplane.start(bare) as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


class Tree:
    """The nodes of the cluster, and the topologies."""

    def __init__(self, cluster: controlplane.Cluster) -> None:
        self.cluster = cluster

    def clear(self) -> None:
        """Delete all nodes and topologies."""
        with access.Client(self.cluster.access) as client:
            for path in (TOPOLOGIES, "/api/v1/nodes"):
                client.request("DELETE", path).check()
        waiting.eventually([], lambda: self.cluster.request("GET", "/api/v1/nodes")["items"])

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Create a node."""
        self.cluster.request(
            "POST", "/api/v1/nodes", nodes.manifest(name, labels, nodes.DEFAULT_ALLOCATABLE)
        )

    def remove(self, name: str) -> None:
        """Delete a node."""
        self.cluster.request("DELETE", f"/api/v1/nodes/{name}")

    def label(self, name: str, key: str, value: str) -> None:
        """Change a label of a node; `-` after the key removes it, as in kubectl."""
        change = f"{key}={value}" if value else f"{key}-"
        self.cluster.kubectl("label", "node", name, change, "--overwrite")

    def spec(self, spec: list[dict[str, Any]], name: str = "default") -> None:
        """Create a topology, or give it another spec."""
        body = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": {"name": name},
            "spec": {"networkTopologySpec": spec},
        }
        with access.Client(self.cluster.access) as client:
            found = client.request("GET", f"{TOPOLOGIES}/{name}")
            if found.status == 404:
                client.request("POST", TOPOLOGIES, body).check()
            else:
                replaced = {**found.body, "spec": body["spec"]}
                client.request("PUT", f"{TOPOLOGIES}/{name}", replaced).check()

    def build(self, cluster: trees.Cluster) -> None:
        """Create the nodes and the topology of a worked case."""
        for name, labels in cluster.labels.items():
            self.add(name, labels)
        self.spec(cluster.spec)

    def status(self, name: str = "default") -> dict[str, Any]:
        """Return the status of a topology."""
        found: dict[str, Any] = self.cluster.request("GET", f"{TOPOLOGIES}/{name}")
        status: dict[str, Any] = found.get("status", {})
        return status

    def detail(self) -> Any:
        """Return the details of the default."""
        return self.status().get("detailStatus")

    def node_nums(self) -> dict[str, int]:
        """Return how many nodes each domain of the default has, by its name."""
        details = self.detail() or []
        return {each["topologyInfo"]["topologyName"]: each["nodeNum"] for each in details}

    def ready(self, name: str = "default") -> tuple[str, str]:
        """Return status and reason of the condition `Ready`."""
        return next(
            (
                (each["status"], each["reason"])
                for each in self.status(name).get("conditions", [])
                if each["type"] == "Ready"
            ),
            ("", ""),
        )

    def version(self) -> str:
        """Return the version of the default: it moves with every write."""
        return str(self.cluster.request("GET", DEFAULT)["metadata"]["resourceVersion"])

    def notes(self, reason: str) -> list[str]:
        """Return what the Events of a reason say of the default as it is now."""
        uid = self.cluster.request("GET", DEFAULT)["metadata"]["uid"]
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        found = self.cluster.request("GET", path)["items"]
        return [
            e["note"] for e in found if (e["regarding"].get("uid"), e["reason"]) == (uid, reason)
        ]


@pytest.fixture
def tree(
    plane: controlplane.ControlPlane, operator_process: controlplane.Scheduler
) -> Iterator[Tree]:
    with operator_health.is_unharmed(operator_process):
        made = Tree(plane)
        made.clear()
        yield made


@pytest.fixture
def eight(tree: Tree) -> Tree:
    """Build the cluster of eight nodes and wait for its status."""
    tree.build(trees.cluster("koord8"))
    waiting.eventually(("True", "InUse"), tree.ready)
    return tree


@pytest.mark.parametrize("case_id", CASES)
def test_a_worked_cluster_has_the_status_that_the_manual_shows(tree: Tree, case_id: str) -> None:
    case = trees.cases("topologyStatus")[case_id]
    excluded = case["expect"].get("excludedNodes", [])

    tree.build(trees.cluster(case["cluster"]))

    waiting.eventually(trees.expected_status(case), tree.detail)
    assert ("True", "ExcludedNodes" if excluded else "InUse") == tree.ready()
    notes = waiting.until(lambda: tree.notes("ExcludedNodes")) if excluded else [""]
    assert notes[0].endswith(", ".join(excluded))


def test_the_status_follows_the_labels_of_nodes(eight: Tree) -> None:
    eight.label("node-8", BLOCK, "b2")
    waiting.eventually(
        {"": 8, "s1": 4, "b1": 1, "b2": 3, "s2": 4, "b3": 2, "b4": 2}, eight.node_nums
    )

    eight.label("node-8", BLOCK, "")
    waiting.eventually(1, lambda: eight.node_nums().get("node-8", 0))
    assert ("True", "InUse") == eight.ready()

    eight.label("node-8", SPINE, "")
    waiting.eventually(("True", "ExcludedNodes"), eight.ready)
    assert 7 == eight.node_nums()[""]


def test_the_status_follows_nodes_that_come_and_go(eight: Tree) -> None:
    eight.add("node-9", {SPINE: "s3", BLOCK: "b5"})
    waiting.eventually(
        ("s3", 9),
        lambda: (eight.detail()[-2]["topologyInfo"]["topologyName"], eight.node_nums()[""]),
    )

    eight.remove("node-9")
    eight.remove("node-8")
    waiting.eventually(
        {"": 7, "s1": 3, "b1": 1, "b2": 2, "s2": 4, "b3": 2, "b4": 2}, eight.node_nums
    )


def test_nothing_is_written_while_nothing_changes(eight: Tree) -> None:
    before = eight.version()

    eight.label("node-8", "example.com/else", "x")
    eight.add("node-9", {SPINE: "s2", BLOCK: "b4"})
    waiting.eventually(9, lambda: eight.node_nums()[""])
    after = eight.version()
    eight.label("node-8", "example.com/else", "y")
    waiting.until(lambda: _settled(eight), 10)

    assert before != after
    assert after == eight.version()


def test_an_invalid_spec_is_reported_and_the_last_valid_tree_stays(eight: Tree) -> None:
    spec = trees.cluster("koord8").spec
    eight.spec([layer for layer in spec if layer["topologyLayer"] != "SpineLayer"])

    waiting.eventually(("False", "InvalidSpec"), eight.ready)
    (condition,) = eight.status()["conditions"]
    assert "SpineLayer" in condition["message"]
    assert condition["message"].endswith("stays in use")
    assert 2 == condition["observedGeneration"]
    assert [condition["message"]] == waiting.until(lambda: eight.notes("InvalidSpec"))
    eight.remove("node-8")
    waiting.eventually(7, lambda: eight.node_nums()[""])

    eight.spec(spec)
    waiting.eventually(("True", "InUse"), eight.ready)


def test_a_deleted_topology_leaves_nothing_behind(eight: Tree) -> None:
    spec = trees.cluster("koord8").spec
    eight.cluster.request("DELETE", DEFAULT)

    eight.spec(spec[:1])

    waiting.eventually(("False", "InvalidSpec"), eight.ready)
    assert eight.detail() is None
    eight.spec(spec)
    waiting.eventually(8, lambda: eight.node_nums().get("", 0))


def test_only_the_default_is_used(tree: Tree) -> None:
    tree.spec(trees.cluster("koord8").spec, name="other")

    waiting.eventually(("False", "NotDefault"), lambda: tree.ready("other"))


def _settled(tree: Tree) -> bool:
    """Wait for a write that comes after all that was done before: that of another topology."""
    tree.spec([], name="settled")
    waiting.eventually(("False", "NotDefault"), lambda: tree.ready("settled"))
    return True
