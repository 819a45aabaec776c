"""`python -m tools.bench.explain`: how long it takes to explain one gang of a large cluster.

No API server: the cluster of `support.large_cluster`, of which the cache is filled. The gang is the
last one in line, so the whole cycle is made before its turn; and each change that is tried costs a
cycle more.
"""

import argparse
import resource
import time
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.explaining import text
from gang_scheduler.inspection.explaining.answers import answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.gangs.gang_info import GangInfo
from support.large_cluster import CASES, LargeCluster, Scale
from tools.bench import collector

SCALE: Final = Scale(gangs=200)
KIBI: Final = 1024


class Timing(NamedTuple):
    """How long an explanation took, in seconds, how many lines it has, and the peak in MB."""

    seconds: float
    lines: int
    peak: float


def measure(case: str, scale: Scale) -> Timing:
    """Explain the last gang in line of a case."""
    large = LargeCluster(case, scale)
    waiting = [key for key, info in large.cache.gang_queue.infos.items() if _waits(info)]
    cluster = Cluster(large.cache, Policy(), large.now, Source.FILES)
    collector.settle()
    begun = time.perf_counter()
    answer = answer_for(waiting[-1].name, waiting[-1].namespace, Question(cluster))
    assert answer.document is not None
    printed = text.render(answer.document, View(), "")
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIBI
    return Timing(seconds, len(printed.splitlines()), peak)


def _waits(info: GangInfo) -> bool:
    return any(not pod.node for pod in info.observed.living)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=SCALE.nodes)
    parser.add_argument("--gangs", type=int, default=SCALE.gangs)
    parser.add_argument("--running", type=int, default=SCALE.running)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=["full", "priority", "racks"])
    given = parser.parse_args()
    table = Table(box=None)
    for column in ("case", "seconds", "lines", "peak MB"):
        table.add_column(column, justify="right")
    for case in given.cases:
        found = measure(case, Scale(given.nodes, given.gangs, given.running))
        table.add_row(case, f"{found.seconds:.2f}", str(found.lines), f"{found.peak:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
