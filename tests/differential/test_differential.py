"""A short comparison with kube-scheduler: half a minute. `make differential` is the long one."""

import pytest

from differential import faults, run
from differential.features import EVERY

pytestmark = pytest.mark.e2e

SEEDS = range(len(EVERY))
"""Every feature comes first in one case."""


def test_our_filters_allow_what_those_of_kube_scheduler_allow() -> None:
    report = run.compare(SEEDS, print)

    print("\n".join(report.lines()))
    assert set(EVERY) == report.features.keys() - {"none"}
    assert [] == list(faults.told(report.faults))
