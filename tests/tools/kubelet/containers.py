"""The process of a pod, from its start to its end."""

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.controlplane import errors
from tools.controlplane.processes import Processes
from tools.kubelet import variables
from tools.kubelet.variables import Pod
from tools.kubelet.volumes import Volumes

PROGRAMS = f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin"
"""Where a container finds programs: the Python without what is installed for the tests."""


def name_of(pod: Pod) -> str:
    """Return the name of the process of a pod, and of its log."""
    metadata = pod["metadata"]
    return f"{metadata['namespace']}-{metadata['name']}-{metadata['uid'][:8]}"


class Container:
    """The one container of a pod."""

    def __init__(self, pod: Pod, volumes: Volumes, processes: Processes) -> None:
        self.name = name_of(pod)
        self.volumes = volumes
        self.reported = False
        self._processes = processes
        self._kill_at: float | None = None

    def start(self, pod: Pod, given: Mapping[str, str]) -> None:
        """Start the process; `given` are the variables that each container has."""
        known = variables.variables(pod, {"PATH": PROGRAMS, **given})
        known = {name: variables.on_this_machine(pod, value) for name, value in known.items()}
        real = {name: self.volumes.real(value) for name, value in known.items()}
        words = [self.volumes.real(each) for each in variables.command(pod, known)]
        assignments = [f"{name}={value}" for name, value in real.items()]
        self._processes.start(self.name, ["env", "-i", *assignments, *words])

    def exit_code(self) -> int | None:
        """Return how it ended, as a container engine says it; None while it runs."""
        code = self._processes.exit_code(self.name)
        return code if code is None or code >= 0 else 128 - code

    def end(self, grace_seconds: float) -> None:
        """Send SIGTERM, and SIGKILL once the grace period is over; called again and again."""
        pid = self._processes.pid(self.name)
        # It may end by itself at any time.
        with contextlib.suppress(ProcessLookupError):
            if self._kill_at is None:
                self._kill_at = time.monotonic() + grace_seconds
                os.kill(pid, signal.SIGTERM)
            elif time.monotonic() >= self._kill_at:
                self.kill()

    def kill(self) -> None:
        """Kill the process, and the sessions that it has started: they do not end with it."""
        with contextlib.suppress(errors.ControlPlaneError, KeyError):
            for pid in [self._processes.pid(self.name), *_below(self._processes.pid(self.name))]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def forget(self) -> None:
        """Kill what runs, and remove its files; its log stays."""
        self.kill()
        self._processes.stop(self.name, 0.0)
        shutil.rmtree(self.volumes.directory)


def _below(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, and those that these have (Linux)."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for each in children.read_text().split():
                yield int(each)
                yield from _below(int(each))
