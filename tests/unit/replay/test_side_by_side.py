"""The same input gives the same document, whatever the number of cores and the seed of hashes."""

import json
import os
import subprocess
import sys
from pathlib import Path

from gang_scheduler.replay import document, side_by_side
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given
from support.replays import trace

ROWS = [
    f"j{number},{number * 20},{100 + number * 37 % 200},{1 + number % 2},{4 + number % 3 * 2},"
    f"q{number % 3}"
    for number in range(25)
]
HEADER = "name,submit,duration,pods,gpu,queue"
POLICIES = ("as-is", "strict-fifo", "pod-by-pod")


def compared(cores: int) -> str:
    """Return the document of three policies."""
    jobs = trace(*ROWS, header=HEADER)
    made = Clusters(Given(nodes="2x8", policies=POLICIES)).scenarios(jobs)
    done = side_by_side.compare(jobs, made, Rules(), cores, lambda _: None)
    return json.dumps(document.of_replay(jobs, made, [each.document for each in done], Rules()))


def test_the_number_of_cores_changes_nothing() -> None:
    assert compared(1) == compared(3)


def test_the_seed_of_hashes_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([HEADER, *ROWS]))
    command = [sys.executable, "-m", "gang_scheduler", "replay", str(path), "--nodes", "2x8"]
    found = [
        subprocess.run(
            [*command, "-o", "json"],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]

    assert found[0] == found[1]
