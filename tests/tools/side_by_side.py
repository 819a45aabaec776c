"""Runs Python commands side by side, for tests that leave half of the machine idle.

    python -m tools.side_by_side "-m pytest tests/unit" "-m pytest tests/integration"

Each argument is what follows `python`. The output of the first command is seen as it comes, and
that of the others in one piece after it. The exit code is 1 if any of them fails. What still runs
when this process ends is terminated.
"""

import contextlib
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

STOP_SECONDS = 60.0


def run(commands: Sequence[str]) -> int:
    """Run all of them, and return 0 if none fails."""
    with contextlib.ExitStack() as stack:
        outputs: list[IO[bytes] | None] = [None]
        outputs += [stack.enter_context(tempfile.TemporaryFile()) for _ in commands[1:]]
        exit_codes = []
        started = [
            stack.enter_context(_running(command, output))
            for command, output in zip(commands, outputs, strict=True)
        ]
        for process, output in zip(started, outputs, strict=True):
            exit_codes.append(process.wait())
            _show(output)
    for command, exit_code in zip(commands, exit_codes, strict=True):
        print(f"exit code {exit_code}: python {command}", flush=True)
    return int(any(exit_codes))


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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # In the background of a shell SIGINT is ignored, which the commands would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
