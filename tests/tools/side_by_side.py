"""Runs Python commands side by side, for tests that leave half of the machine idle.

    python -m tools.side_by_side "-m pytest tests/unit" "-m pytest tests/integration"
    python -m tools.side_by_side --at-once 2 "-m pytest tests/unit" "-m search" "-m fuzz"

Each argument is what follows `python`. Of more commands than are to run at once the next begins
when one ends, so the longest is best named first. The output of the first command is seen as it
comes, and that of the others in one piece after it. The exit code is 1 if any of them fails. What
still runs when this process ends is terminated.
"""

import argparse
import contextlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import IO

STOP_SECONDS = 60.0
POLL_SECONDS = 0.1


def run(commands: Sequence[str], at_once: int | None = None) -> int:
    """Run all of them, so many at once (all without a number), and return 0 if none fails."""
    with contextlib.ExitStack() as stack:
        outputs: list[IO[bytes] | None] = [None]
        outputs += [stack.enter_context(tempfile.TemporaryFile()) for _ in commands[1:]]
        started: list[subprocess.Popen[bytes]] = []
        for command, output in zip(commands, outputs, strict=True):
            _wait_for_room(started, at_once or len(commands))
            started.append(stack.enter_context(_running(command, output)))
        exit_codes = []
        for process, output in zip(started, outputs, strict=True):
            exit_codes.append(process.wait())
            _show(output)
    for command, exit_code in zip(commands, exit_codes, strict=True):
        print(f"exit code {exit_code}: python {command}", flush=True)
    return int(any(exit_codes))


def _wait_for_room(started: Sequence[subprocess.Popen[bytes]], at_once: int) -> None:
    """Return when fewer run than may run at once."""
    while sum(each.poll() is None for each in started) >= at_once:
        time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def _running(command: str, output: IO[bytes] | None) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, *shlex.split(command)]
    with subprocess.Popen(argv, stdout=output, stderr=output and subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # As after Ctrl-C, so that pytest ends what its fixtures have started.
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _show(output: IO[bytes] | None) -> None:
    if output is not None:
        output.seek(0)
        sys.stdout.buffer.write(output.read())
        sys.stdout.flush()


def main() -> int:
    """Run the commands that the arguments are."""
    parser = argparse.ArgumentParser(prog="python -m tools.side_by_side", description=__doc__)
    parser.add_argument("--at-once", type=int, help="how many; all without it")
    parser.add_argument("commands", nargs="+", help="what follows `python`")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # In the background of a shell SIGINT is ignored, which the commands would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments = parser.parse_args()
    return run(arguments.commands, arguments.at_once)


if __name__ == "__main__":
    sys.exit(main())
