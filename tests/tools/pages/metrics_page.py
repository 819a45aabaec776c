"""docs/metrics.md, made of the table of metrics."""

from collections.abc import Iterator
from typing import Final

from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import (
    MOST_LABEL_SETS,
    MOST_OF_HISTOGRAM,
    Closed,
    Label,
    MetricOf,
)
from gang_scheduler.workloads import table

HEAD: Final = f"""# Metrics

`/metrics` on port 8080 has the format of Prometheus. This page is generated from the table of
metrics in the scheduler: `make pages` writes it again.

Each label has a bound, so no user can create an unlimited number of series. If the table of labels
says "and others", only that many values have series of their own. Further values are counted
under `_other` (for PriorityClasses, under `other`). A metric has at most {MOST_LABEL_SETS:,} label
sets, a histogram at most {MOST_OF_HISTOGRAM}. If a metric needs more,
`pgs_metrics_folded_total` grows. The setting `metricsQueues` says how many queues have series of
their own. The series of a queue disappear when the queue is gone. No label names a pod, a gang, a
node or a user.

Metrics of type "leader" describe the cluster. Only the replica that schedules shows them, so a sum
over all replicas is correct.

## Metrics of the scheduler

| metric | type | what it says |
|---|---|---|
"""
LABELS: Final = """
## Labels

| label | of | values |
|---|---|---|
"""
BUCKETS: Final = """
## Buckets

| histogram | upper bounds |
|---|---|
"""

CLOSED: Final = {metrics.JOB_TYPE.name: table.JOB_TYPES}
"""Labels that are set from a table, so that they have no other values."""


def text() -> str:
    """Return the page as it should be."""
    parts = (HEAD, *map(_row, metrics.TABLE), LABELS, *_labels(), BUCKETS, *_buckets())
    return "".join(parts)


def signature(metric: MetricOf) -> str:
    """Return the name of a metric with those of its labels."""
    labels = ",".join(metric.label_names)
    return f"{metric.name}{{{labels}}}" if labels else metric.name


def _row(metric: MetricOf) -> str:
    leader = ", leader" if metric.of_leader else ""
    said = f"{metric.about} {metric.note}".strip()
    return f"| `{signature(metric)}` | {metric.type}{leader} | {said} |\n"


def _labels() -> Iterator[str]:
    seen: dict[tuple[str, str], list[str]] = {}
    for metric in metrics.TABLE:
        for label in metric.labels_declared:
            seen.setdefault((label.name, _values(label)), []).append(f"`{metric.name}`")
    for (name, values), of in seen.items():
        yield f"| `{name}` | {', '.join(of)} | {values} |\n"


def _values(label: Label) -> str:
    closed = label.bound.values if isinstance(label.bound, Closed) else CLOSED.get(label.name)
    if closed:
        return ", ".join(f"`{each}`" for each in closed)
    return f"{label.bound.most:,}, and others as `{label.bound.other}`"


def _buckets() -> Iterator[str]:
    for metric in metrics.TABLE:
        if metric.buckets:
            bounds = ", ".join(
                f"{each:g}" if each < 10_000 else str(each) for each in metric.buckets
            )
            yield f"| `{metric.name}` | {bounds} |\n"
