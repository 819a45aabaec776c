"""py-gang-scheduler as one more component: started, killed and measured like the others."""

import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from tools.controlplane import components, errors
from tools.controlplane.cluster import Cluster

NAME = "py-gang-scheduler"
START_SECONDS = 60.0
GRACE_SECONDS = 20.0


class Scheduler:
    """The operator as a process beside a cluster. A context manager: leaving it stops it.

    `flags` are those of `py-gang-scheduler run`, and its environment is ours: PGS_SOURCE=reflector
    before `pytest` runs all tests with another source. Leader election is off unless a flag says
    otherwise, so that a restart after a kill need not wait for the Lease of the dead.
    """

    def __init__(
        self,
        cluster: Cluster,
        *flags: str,
        name: str = NAME,
        kubeconfig: Path | None = None,
    ) -> None:
        self.cluster = cluster
        self.name = name
        self.port = components.free_port()
        elected = "--leader-elect" in flags
        self._argv = [
            *(sys.executable, "-m", "gang_scheduler", "run"),
            f"--kubeconfig={kubeconfig or cluster.kubeconfig}",
            "--http-host=127.0.0.1",
            f"--http-port={self.port}",
            *flags,
            *(() if elected else ("--no-leader-elect",)),
        ]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.name in self.cluster.processes.running():
            self.stop()

    @property
    def command(self) -> list[str]:
        """What starts it."""
        return self._argv

    @property
    def log(self) -> Path:
        """What it wrote to stderr; spans restarts."""
        return self.cluster.processes.log(self.name)

    def start(self) -> None:
        """Start it and wait until its cache is complete."""
        self.cluster.processes.start(self.name, self.command)
        deadline = time.monotonic() + START_SECONDS
        while self.get("/readyz") is None:
            self.cluster.processes.check()
            if time.monotonic() > deadline:
                raise errors.ControlPlaneError(f"{self.name} is not ready: see {self.log}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill -9."""
        self.cluster.processes.stop(self.name, 0.0)

    def stop(self) -> None:
        """Ask it to end, as the kubelet does."""
        self.cluster.processes.stop(self.name, GRACE_SECONDS)

    def get(self, path: str) -> str | None:
        """Return the body of a successful answer of its HTTP port, else None."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return None

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels; 0 while it is not there."""
        lines = (self.get("/metrics") or "").splitlines()
        named = (line for line in lines if line.partition(" ")[0].partition("{")[0] == name)
        return sum(float(line.rpartition(" ")[2]) for line in named)
