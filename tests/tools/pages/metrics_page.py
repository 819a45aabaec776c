"""docs/metrics.md, made of the table of metrics."""

from collections.abc import Iterator
from typing import Final

from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import MOST_LABEL_SETS, MOST_OF_HISTOGRAM, Metric
from gang_scheduler.telemetry.labels import Closed, Label

HEAD: Final = f"""# Metrics

`/metrics` on port 8080 is in the format of Prometheus. This page is made from the one table that
the scheduler itself has of them: `make pages` writes it again.

Each label has a bound, so that no user can make series without end: where it says "and others" the
first so many values have series of their own, and what comes beyond them is counted under `_other`
(`other` of a PriorityClass). A metric has at most {MOST_LABEL_SETS:,} label sets,
a histogram {MOST_OF_HISTOGRAM};
`pgs_metrics_folded_total` grows when that was too few. `metricsQueues` says how many queues have
series of their own; those of a queue that is gone disappear. No label names a pod, a gang, a node
or a user.

"Leader" are metrics that say how the cluster is: only the replica that schedules shows them, so
that a sum over all replicas is right.

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


def text() -> str:
    """Return the page as it should be."""
    parts = (HEAD, *map(_row, metrics.TABLE), LABELS, *_labels(), BUCKETS, *_buckets())
    return "".join(parts)


def signature(metric: Metric) -> str:
    """Return the name of a metric with those of its labels."""
    labels = ",".join(metric.label_names)
    return f"{metric.name}{{{labels}}}" if labels else metric.name


def _row(metric: Metric) -> str:
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
    if isinstance(label.bound, Closed):
        return ", ".join(f"`{each}`" for each in label.bound.values)
    return f"{label.bound.most:,}, and others as `{label.bound.other}`"


def _buckets() -> Iterator[str]:
    for metric in metrics.TABLE:
        if metric.buckets:
            bounds = ", ".join(
                f"{each:g}" if each < 10_000 else str(each) for each in metric.buckets
            )
            yield f"| `{metric.name}` | {bounds} |\n"
