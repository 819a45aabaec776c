"""A clock that another process can set."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.chaos import stepped_clock


def test_a_clock_is_off_by_what_is_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "clock"
    stepped_clock.step(path, 0.0)
    clock = stepped_clock.stepped(path)
    assert clock() == pytest.approx(time.time(), abs=60)

    stepped_clock.step(path, -3600.0)
    assert clock() == pytest.approx(time.time() - 3600, abs=60)

    stepped_clock.step(path, 0.0)
    assert clock() == pytest.approx(time.time(), abs=60)


def test_the_operator_runs_with_it(tmp_path: Path) -> None:
    path = tmp_path / "clock"
    stepped_clock.step(path, 10.0)

    done = subprocess.run(
        [sys.executable, stepped_clock.__file__, path, "run", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "--leader-elect" in done.stdout
