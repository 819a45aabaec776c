"""A short storm of faults of every family, with a fixed seed: nothing is broken, and all settles.

`make chaos` is the long one.
"""

from pathlib import Path

import pytest

from tools.chaos import faults
from tools.chaos.run import Plan, run

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(1500)]

SECONDS, SEED = 45.0, 1
PACE = 6.0


def test_a_storm_breaks_nothing_and_all_settles(tmp_path: Path) -> None:
    plan = Plan(SECONDS, SEED, faults.ALL, pace=PACE)

    seen = run(plan, print, keep=tmp_path)

    assert [] == [each.words for each in seen.violations]
    assert [] == seen.unsettled
    assert seen.bound > 0
    assert sum(each.times for each in seen.rows) > 0
