"""The worked cases of trees, read from `job-cases.yaml`."""

from pathlib import Path
from typing import Any, NamedTuple

from gang_scheduler.model.layers import Layer
from gang_scheduler.model.nodes import Node, NodeTable
from support import yaml_texts

DATA: dict[str, Any] = yaml_texts.read((Path(__file__).parent / "job-cases.yaml").read_text())


class Cluster(NamedTuple):
    """A cluster of the data: the spec of its topology as written, and labels by node."""

    spec: list[dict[str, Any]]
    labels: dict[str, dict[str, str]]

    def table(self) -> NodeTable:
        """Return its nodes."""
        return NodeTable(Node(name, labels=labels) for name, labels in self.labels.items())

    def layers(self) -> list[Layer]:
        """Return the layers of its spec in the order they are written in."""
        return layers(self.spec)


def cluster(name: str) -> Cluster:
    """Return a cluster by name."""
    found = DATA["clusters"][name]
    return Cluster(
        found["topology"], {each["name"]: each.get("labels", {}) for each in found["nodes"]}
    )


def layers(spec: list[dict[str, Any]]) -> list[Layer]:
    """Return the layers of a spec as written."""
    return [
        Layer(
            each["topologyLayer"],
            each.get("parentTopologyLayer", ""),
            tuple(each.get("labelKey", ())),
        )
        for each in spec
    ]


def cases(kind: str) -> dict[str, dict[str, Any]]:
    """Return the cases of a kind by id."""
    return {case["id"]: case for case in DATA["cases"] if case["kind"] == kind}


def invalid_specs() -> list[list[dict[str, Any]]]:
    """Return the specs that must be refused."""
    tables = (case["expect"]["table"] for case in cases("topologyInvalid").values())
    return [row["spec"] for table in tables for row in table]


def expected_status(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the detailStatus that a case expects, as it stands in the object."""
    return [_detail(short) for short in case["expect"]["detailStatus"]]


def _detail(short: dict[str, Any]) -> dict[str, Any]:
    detail = {"topologyInfo": _info(f"{short['layer']}/{short['name']}")}
    if "parent" in short:
        detail["parentTopologyInfo"] = _info(short["parent"])
    detail["childTopologyLayer"] = short["childLayer"]
    if "children" in short:
        detail["childTopologyNames"] = short["children"]
    return {**detail, "nodeNum": short["nodeNum"]}


def _info(path: str) -> dict[str, str]:
    layer, _, name = path.partition("/")
    return {"topologyLayer": layer, "topologyName": name}
