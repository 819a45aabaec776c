"""How much dearer victims are where nothing exact is promised: a part of `make gap`.

Up to sixteen losses a domain the search is exact; above that closures and reprieve choose alone.
How well they do is measured where the truth is known: the same random clusters are decided with and
without the exact search, and the costs compared criterion by criterion. Figures only.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from gang_scheduler.model.plan import Preemption
from gang_scheduler.scheduler.preemption.search import cheapest
from property.full_clusters import KINDS, Contest, Kind

CRITERIA = (
    *("over budget", "highest priority", "gangs broken", "gangs touched", "unprotected"),
    *("lost work", "pods"),
)


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(prog="python -m property.preemption_gap", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    cases = parser.parse_args().cases
    table = Table(title=f"greedy victims dearer than the cheapest, of {cases:,} cases a kind")
    for title in ("victims", "preemptions", "dearer", "share", "first by"):
        table.add_column(title, justify="left" if title in ("victims", "first by") else "right")
    for kind in KINDS:
        found = Counter(_compared(kind, cases))
        total = sum(found.values())
        dearer = total - found[""]
        first = ", ".join(f"{name} {found[name]}" for name in CRITERIA if found[name])
        share = f"{dearer / total:.2%}" if total else ""
        table.add_row(kind.__name__, f"{total:,}", f"{dearer:,}", share, first)
    Console(width=100).print(table)
    return 0


def _compared(kind: Kind, cases: int) -> Iterator[str]:
    """Yield the first criterion by which greedy victims are dearer; "" where they are not."""
    for seed in range(cases):
        contest = kind(Random(seed))  # noqa: S311 - the same cases every time.
        exact = contest.made
        with patch.object(cheapest, "MOST_LOSSES", 0):
            greedy = replace(contest).made
        if exact is not None and greedy is not None and exact.victims:
            yield _difference(contest, exact, greedy)


def _difference(contest: Contest, exact: Preemption, greedy: Preemption) -> str:
    costs = (contest.judge.cost(each.victims) for each in (exact, greedy))
    pairs = zip(CRITERIA, *costs, strict=True)
    return next((name for name, least, cost in pairs if cost != least), "")


if __name__ == "__main__":
    sys.exit(main())
