"""What a storm was, as a table by kind of fault."""

import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.chaos import stopwatch
from tools.chaos.storm import Struck
from tools.chaos.witness import Violation

AFTERMATH_SECONDS = 30.0
"""So long after its end a fault is still taken as a possible cause."""
HEADER = ("fault", "times", "met nothing", "next binding after, median", "at most", "violations")


@dataclass(frozen=True)
class Row:
    """One kind of fault. Seconds are from the end of the fault to the next binding."""

    name: str
    times: int
    missed: int
    median_seconds: float | None
    most_seconds: float | None
    violations: int


def rows(
    struck: Sequence[Struck], bindings: Sequence[float], violations: Sequence[Violation]
) -> list[Row]:
    """Return a row a kind. A violation counts for every fault that may have caused it."""
    by_name: dict[str, list[Struck]] = defaultdict(list)
    for each in struck:
        by_name[each.name].append(each)
    return [_row(name, found, bindings, violations) for name, found in sorted(by_name.items())]


def _row(
    name: str,
    found: Sequence[Struck],
    bindings: Sequence[float],
    violations: Sequence[Violation],
) -> Row:
    met = [each for each in found if each.struck]
    delays = [delay for each in met if (delay := _delay(each, bindings)) is not None]
    blamed = [v for v in violations if any(_may_cause(each, v) for each in met)]
    return Row(
        name,
        len(met),
        len(found) - len(met),
        statistics.median(delays) if delays else None,
        max(delays) if delays else None,
        len(blamed),
    )


def _delay(fault: Struck, bindings: Sequence[float]) -> float | None:
    index = bisect_left(bindings, fault.ended_at)
    return bindings[index] - fault.ended_at if index < len(bindings) else None


def _may_cause(fault: Struck, violation: Violation) -> bool:
    return fault.began_at <= violation.at <= fault.ended_at + AFTERMATH_SECONDS


def table(found: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(HEADER)} |"
    yield "|---|---:|---:|---:|---:|---:|"
    for each in found:
        cells = (
            each.name,
            str(each.times),
            str(each.missed),
            _seconds(each.median_seconds),
            _seconds(each.most_seconds),
            str(each.violations),
        )
        yield f"| {' | '.join(cells)} |"


def table_of_times(found: Sequence[stopwatch.Row]) -> Iterator[str]:
    """Yield the lines of a table of how long the event loop was busy; shares are of CPU time."""
    yield f"| {' | '.join(stopwatch.HEADER)} |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for each in found:
        figures = (*each.shares, each.longest, each.longest_cpu)
        cells = (each.name, f"{each.number:,}", *(f"{figure:.1f}" for figure in figures))
        yield f"| {' | '.join(cells)} |"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} s"
