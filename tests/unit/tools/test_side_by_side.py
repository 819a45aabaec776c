"""Commands that run side by side: nothing of what they say is lost, nor that one fails."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools import side_by_side

TESTS = Path(__file__).parents[2]


def test_the_output_of_all_is_seen_in_their_order(capfd: pytest.CaptureFixture[str]) -> None:
    assert 0 == side_by_side.run(["-c 'print(1)'", "-c 'print(2)'", "-c 'print(3)'"])

    said = capfd.readouterr().out.splitlines()
    assert ["1", "2", "3"] == [line for line in said if len(line) == 1]


@pytest.mark.parametrize("failing", [0, 1])
def test_one_that_fails_fails_all(failing: int, capfd: pytest.CaptureFixture[str]) -> None:
    commands = ["-c pass", "-c pass"]
    commands[failing] = "-c 'exit(\"broken\")'"

    assert 1 == side_by_side.run(commands)

    said = "".join(capfd.readouterr())
    assert "broken" in said
    assert f"exit code 1: python {commands[failing]}" in said


def test_they_run_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    # Either opens its end only while the other one is there.
    assert 0 == side_by_side.run([f'-c \'open("{path}", "w")\'', f"-c 'open(\"{path}\")'"])


def test_no_more_run_than_may_run_at_once(tmp_path: Path) -> None:
    here = str(tmp_path / "here")
    alone = f"import os; os.mkdir({here!r}); import asyncio; os.rmdir({here!r})"

    assert 0 == side_by_side.run([shlex.join(["-c", alone])] * 4, at_once=1)


WAITS = """
import sys, time
try:
    print("waits", flush=True)
    time.sleep(60)
finally:
    open(sys.argv[1], "w")
"""


@pytest.mark.parametrize("background", [False, True])
def test_all_end_with_the_process_that_started_them(tmp_path: Path, *, background: bool) -> None:
    path = tmp_path / "ended"
    waits = shlex.join(["-c", WAITS, str(path)])
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    argv = [sys.executable, "-m", "tools.side_by_side", waits]
    if background:  # SIGINT is ignored there.
        argv = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *argv]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.wait(20)

    assert path.exists()
