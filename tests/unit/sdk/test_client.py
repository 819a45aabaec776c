"""The SDK as programs see it: light to import, and typed."""

import subprocess
import sys
from pathlib import Path

HEAVY = ("aiohttp", "httptools", "kopf", "kubernetes_asyncio", "numpy", "structlog", "uvloop")
PROGRAM = """
from gang_scheduler.sdk import Client, Resources, TrainingJob, Waits

job = TrainingJob(
    name="llama",
    image="pytorch",
    command=("torchrun", "train.py"),
    nodes=4,
    resources=Resources(gpu=8),
    queue="team-a",
    must="SpineLayer",
)
with Client() as client:
    run = client.submit(job)
    summary: str = run.explain().summary
    try:
        run.wait("Running", timeout="2h")
    except Waits as waits:
        print(waits.reason, waits.explanation.summary)
    for line in run.logs(follow=True):
        print(line.upper())
"""
WRONG = """
from gang_scheduler.sdk import Client, TrainingJob

with Client() as client:
    client.submit(TrainingJob(name="llama", nodes=None)).wait("Started")
"""


def test_importing_it_loads_neither_the_scheduler_nor_a_client() -> None:
    program = f"import sys, gang_scheduler.sdk; print(*sorted({{*{HEAVY}}} & {{*sys.modules}}))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert [] == done.stdout.split()


MOST_TIMES = 5.0
"""That is 300 ms of CPU where the others take 60 ms: a quiet machine needs less for them."""
MEASURES = """
from time import process_time as now
begun = now()
import asyncio, json, ssl
between = now()
import gang_scheduler.sdk
print((now() - between) / (between - begun))
"""


def test_importing_it_takes_a_few_times_as_long_as_what_every_client_imports() -> None:
    def ratio() -> float:
        done = subprocess.run(
            [sys.executable, "-c", MEASURES], capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    assert min(ratio() for _ in range(5)) < MOST_TIMES


def check(tmp_path: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Check the types of a program of a user's, which is none of ours."""
    (tmp_path / "program.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_is_checked_strictly(tmp_path: Path) -> None:
    done = check(tmp_path, PROGRAM)

    assert "Success: no issues found in 1 source file" in done.stdout, done.stdout

    wrong = check(tmp_path, WRONG).stdout
    assert 'Argument "nodes" to "TrainingJob" has incompatible type "None"' in wrong
    assert 'Argument 1 to "wait" of "Run" has incompatible type' in wrong
