"""The demo does what it says, with all of its examples on one cluster."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]


def test_the_demo_ends_well() -> None:
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [sys.executable, "-m", "tools.demo", "run"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=where,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr), ran.stdout
    assert "done; `make up` starts the same cluster" in ran.stdout
