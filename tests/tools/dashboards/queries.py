"""Every query of dashboards and alerts, and the metrics that it names."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import promql_parser
import yaml

from tools.chart import CHART

ALERTS: Final = CHART / "files" / "alerts.yaml"
DASHBOARDS: Final = CHART / "files" / "dashboards"
VARIABLES: Final = {
    "$__rate_interval": "2m",
    "$__range": "6h",
    "$queue": ".*",
}
"""What Grafana puts in their places."""
SUFFIXES: Final = re.compile(r"_(bucket|sum|count)$")


class Query(NamedTuple):
    """An expression with nothing left to put in its place, and where it stands."""

    where: str  # the title of a panel or the name of an alert
    expression: str

    @property
    def metrics(self) -> set[str]:
        """The names of series that it asks for. Raises ValueError where it is no PromQL."""
        return set(_selected(promql_parser.parse(self.expression)))


def of_dashboard(name: str) -> Iterator[Query]:
    """Yield the queries of a dashboard, panel by panel."""
    for panel in json.loads((DASHBOARDS / f"{name}.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield Query(panel["title"], _filled(target["expr"]))


def of_dashboards() -> Iterator[Query]:
    """Yield the queries of all dashboards."""
    for path in sorted(DASHBOARDS.glob("*.json")):
        yield from of_dashboard(path.stem)


def alerts() -> list[dict[str, Any]]:
    """Return the rules of the alerts."""
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def of_alerts() -> Iterator[Query]:
    """Yield the queries of all alerts."""
    for rule in alerts():
        yield Query(rule["alert"], rule["expr"])


def base(name: str) -> str:
    """Return what a histogram is called of which this may be a series."""
    return SUFFIXES.sub("", name)


def _filled(expression: str) -> str:
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression


def _selected(node: Any) -> Iterator[str]:
    """Yield the names of all selectors below a node of the tree of an expression."""
    match node:
        case promql_parser.VectorSelector():
            yield str(node.name)
        case promql_parser.MatrixSelector():
            yield str(node.vector_selector.name)
        case promql_parser.BinaryExpr():
            yield from _selected(node.lhs)
            yield from _selected(node.rhs)
        case promql_parser.Call():
            for each in node.args:
                yield from _selected(each)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            return
        case _:
            yield from _selected(node.expr)
