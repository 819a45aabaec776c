"""Queries of dashboards and alerts, beside the table of metrics: what one names, both have."""

import re
from pathlib import Path
from typing import Final

import pytest

from gang_scheduler.telemetry.metrics import TABLE
from tools.dashboards import queries
from tools.dashboards.queries import Query

DOCS: Final = [*(Path(__file__).parents[3] / "docs").glob("*.md")]
IN_PROSE: Final = re.compile(r"\b((?:pgs|training)_[a-z_]+)(\*?)(?:\{([^}`]*)\})?")
"""A metric, a `*` behind what several begin with, and labels."""
QUERIES: Final = [*queries.of_dashboards(), *queries.of_alerts()]
NAMED: Final = {queries.base(name) for each in QUERIES for name in each.metrics}
OF_THE_PROCESS: Final = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
"""What the client library of Prometheus shows of every process."""
OF_A_SCRAPE: Final = {"namespace", "job", "instance", "le"}
ASKED_FOR_BY_NONE: Final = {
    "pgs_device_search_steps": "what a long search costs shows in the time of a cycle",
    "pgs_claims_withdrawn_total": "gangs whose claims are withdrawn are tried again, and say why",
    "pgs_handover_seconds": "once an update, and Events on the Lease tell it too",
    "pgs_slices_skipped": "only a newer version of the scheduler helps; docs/metrics.md says so",
    "pgs_recorded_bytes_total": "how full the volume is, its own metrics tell",
    "pgs_recording_errors_total": "the alert asks whether recording fails, and the log says why",
}
"""Metrics that are in no panel and no alert, each with the reason."""


OF_THE_AUDITOR: Final = {"pgs_audit_findings_total": {"rule"}}
"""It is a process of its own."""


@pytest.mark.parametrize("query", QUERIES, ids=lambda each: each.where)
def test_every_query_is_of_metrics_of_the_table(query: Query) -> None:
    assert {queries.base(each) for each in query.metrics} <= {
        *(metric.name for metric in TABLE),
        *OF_THE_PROCESS,
    }


def test_every_metric_of_the_table_is_in_a_panel_or_an_alert() -> None:
    left_out = {metric.name for metric in TABLE} - NAMED

    assert set(ASKED_FOR_BY_NONE) == left_out


@pytest.mark.parametrize("query", QUERIES, ids=lambda each: each.where)
def test_labels_in_a_query_are_those_of_its_metrics(query: Query) -> None:
    declared = {metric.name: {*metric.label_names} for metric in TABLE}
    has = set().union(*(declared.get(queries.base(each), set()) for each in query.metrics))
    grouped = re.findall(r"(?:by|on) \(([^)]*)\)", query.expression)
    chosen = re.findall(r"(\w+)(?:=~|!~|!=|=)\"", query.expression)

    assert {label for each in grouped for label in each.split(", ")} <= has | OF_A_SCRAPE
    assert set(chosen) <= has


@pytest.mark.parametrize("page", DOCS, ids=lambda each: each.stem)
def test_every_metric_in_the_documentation_is_there_with_its_labels(page: Path) -> None:
    declared = {metric.name: {*metric.label_names} for metric in TABLE} | OF_THE_AUDITOR
    for name, more, labels in IN_PROSE.findall(page.read_text()):
        if more:
            assert any(each.startswith(name) for each in declared), name
            continue
        assert queries.base(name) in declared, name
        named = {re.split("[=!]", each)[0].strip() for each in labels.split(",") if each}
        assert named <= declared[queries.base(name)] | {"le"}, name
