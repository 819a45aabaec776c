"""One run: a control plane, kube-scheduler beside it, and case after case."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from differential import cases, faults, oracle
from differential.features import EVERY
from differential.judge import Judge
from differential.report import Report
from differential.stage import Stage
from tools import controlplane

HEARTBEAT_SECONDS: Final = 5.0
Say = Callable[[str], None]


def compare(seeds: Sequence[int], say: Say, features: Sequence[str] = tuple(EVERY)) -> Report:
    """Return what both schedulers say of the cases of these seeds; every fault is said at once."""
    report = Report()
    with (
        controlplane.start(oracle.OPTIONS) as plane,
        oracle.running(plane) as theirs,
        Stage(plane) as stage,
    ):
        judge = Judge(stage, theirs, report)
        started = said = time.monotonic()
        for seed in seeds:
            known = len(report.faults)
            judge.judge(cases.draw(seed, features))
            report.seconds = time.monotonic() - started
            for line in faults.told(report.faults[known:]):
                say(line)
            if time.monotonic() - said > HEARTBEAT_SECONDS:
                said = time.monotonic()
                say(f"  {report.cases} of {len(seeds)} cases, {report.verdicts:,} verdicts")
    return report
