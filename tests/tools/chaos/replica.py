"""One replica of the operator: of any version, behind its own proxy, with its own wall clock."""

import os
import signal
import sys
from pathlib import Path

from tools.chaos import stepped_clock
from tools.chaos.proxy import ChaosProxy
from tools.controlplane.cluster import Cluster
from tools.controlplane.scheduler import Scheduler

OPERATOR = Path(__file__).parents[3] / "operator"


class Replica(Scheduler):
    """A replica that something else starts again when it has ended, as a kubelet does.

    `source` is the directory of its version's code; what is changed there counts at the next start.
    """

    def __init__(self, cluster: Cluster, proxy: ChaosProxy, name: str, *flags: str) -> None:
        super().__init__(cluster, *flags, name=name, kubeconfig=proxy.kubeconfig)
        self.proxy = proxy
        self.source = OPERATOR
        self.starts = 0
        self.clock = cluster.directory / f"clock-{name}"
        stepped_clock.step(self.clock, 0.0)
        proxy.kill = self.kill_at_once

    @property
    def command(self) -> list[str]:
        """What starts it. The variables are its own: it runs in a directory of its own."""
        _python, _m, _module, *arguments = super().command
        return [
            *("env", f"PYTHONPATH={self.source}", sys.executable),
            *(str(Path(stepped_clock.__file__)), str(self.clock), *arguments),
        ]

    @property
    def is_running(self) -> bool:
        """Whether it should run and does."""
        processes = self.cluster.processes
        return self.name in processes.running() and processes.exit_code(self.name) is None

    def begin(self) -> None:
        """Start it, or start it again, and wait for nothing."""
        if self.name in self.cluster.processes.running():
            self.cluster.processes.stop(self.name, 0.0)
        self.cluster.processes.start(self.name, self.command)
        self.starts += 1

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.is_running:
            os.kill(self.cluster.processes.pid(self.name), number)

    def kill_at_once(self) -> None:
        """Kill -9, without a word to anything that looks after it."""
        self.signal(signal.SIGKILL)
