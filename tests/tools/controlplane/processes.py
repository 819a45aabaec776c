"""The owner's side of the supervisor: start, stop and measure components by name."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.controlplane import errors

SUPERVISE = Path(__file__).with_name("supervise.py")
CLOSE_TIMEOUT_SECONDS = 20.0


class Processes:
    """The components of one control plane: all end when this process does, however it ends."""

    def __init__(self, directory: Path, lock_descriptor: int) -> None:
        self.directory = directory
        self._pids: dict[str, int] = {}
        self._turn = threading.Lock()
        # A session of its own: Ctrl-C is the owner's to handle. It inherits the lock of the
        # directory, which is thereby held for as long as either process lives.
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISE), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(lock_descriptor,),
        )
        os.close(lock_descriptor)

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Start a component; its output goes to its log."""
        answer = self._ask(do="start", name=name, argv=list(argv), log=str(self.log(name)))
        self._pids[name] = answer["pid"]

    def stop(self, name: str, grace_seconds: float) -> None:
        """End a component: kill -9 at once, or SIGTERM and kill -9 after the grace period."""
        if self._pids.pop(name, None) is None:
            raise errors.ControlPlaneError(f"{name} is not running")
        self._ask(do="stop", name=name, grace_seconds=grace_seconds)

    @contextlib.contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Have a component do nothing until the block ends, without an end of its own."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def check(self) -> None:
        """Raise ComponentDied when a component that should run does not."""
        for name in self._pids:
            exit_code = self.exit_code(name)
            if exit_code is not None:
                raise errors.ComponentDied(name, exit_code, self.log(name))

    def exit_code(self, name: str) -> int | None:
        """Return how a component ended by itself; None while it runs. A signal is negative."""
        code: int | None = self._ask(do="poll", name=name)["exit_code"]
        return code

    def close(self) -> None:
        """End all components and remove the directory."""
        self._pids.clear()
        if self._supervisor.stdin and self._supervisor.stdout:
            self._supervisor.stdin.close()
            self._supervisor.stdout.close()
        try:
            self._supervisor.wait(CLOSE_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()

    def running(self) -> tuple[str, ...]:
        """Name the components that should run now."""
        return tuple(self._pids)

    def pid(self, name: str) -> int:
        """Return the process id of a running component."""
        return self._pids[name]

    def log(self, name: str) -> Path:
        """Return the log file of a component; it spans restarts."""
        return self.directory / f"{name}.log"

    def cpu_seconds(self, name: str) -> float:
        """Return user and system time of the running process; a restart begins at zero (Linux)."""
        stat = Path(f"/proc/{self.pid(name)}/stat").read_text()
        # The second field is the name in brackets and may hold spaces: count from behind it.
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_memory_bytes(self, name: str) -> int:
        """Return the largest resident size of the running process so far (Linux)."""
        status = Path(f"/proc/{self.pid(name)}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024

    def _ask(self, **request: object) -> dict[str, Any]:
        stdin, stdout = self._supervisor.stdin, self._supervisor.stdout
        if stdin is None or stdout is None or stdin.closed:
            raise errors.ControlPlaneError("the control plane is stopped")
        with self._turn:
            try:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
                answer: dict[str, Any] = json.loads(stdout.readline())
            except (BrokenPipeError, ValueError) as error:
                raise errors.ControlPlaneError("the supervisor process is gone") from error
        return answer
