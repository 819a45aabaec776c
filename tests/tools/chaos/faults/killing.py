"""Replicas end without a word, at any time and at any write, or when they are asked to."""

import signal
import threading

from e2e.support.fault_proxy import LOSE_ANSWER, LOSE_REQUEST, PASS, Choose
from e2e.support.fault_proxy import Fault as Outcome
from tools.chaos.faults.fault import PROXIES, REPLICAS, Fault
from tools.chaos.proxy import ChaosProxy, is_of_lease, is_write

LATEST_WRITE = 40
REST_SECONDS = 12.0
"""About as long as it takes until there is a leader again, which does some work."""


class Kill(Fault):
    """Kill -9 of one replica."""

    name = "kill -9"
    rest_seconds = REST_SECONDS
    takes = frozenset({REPLICAS})

    def begin(self) -> None:
        """Kill it."""
        victim = self.site.leader_or_any(self.dice)
        self.struck, self.detail = victim.is_running, victim.name
        victim.kill_at_once()


class KillAtWrite(Fault):
    """Kill -9 of a replica at one of its next writes: the request is lost, or its answer is."""

    name = "kill -9 at a write"
    seconds = (4.0, 12.0)
    rest_seconds = REST_SECONDS
    takes = frozenset({REPLICAS, PROXIES})
    weight = 8
    words, outcome = "before", LOSE_REQUEST

    def begin(self) -> None:
        """Lie in wait at all replicas for the write of this number."""
        self.struck = False
        self._left = self.dice.randint(1, LATEST_WRITE)
        self._turn = threading.Lock()
        for proxy in self.site.proxies:
            proxy.start_over(self._chooser(proxy))

    def end(self) -> None:
        """Wait no longer."""
        for proxy in self.site.proxies:
            proxy.start_over()

    def _chooser(self, proxy: ChaosProxy) -> Choose:
        return lambda _, name: self._meet(proxy, name)

    def _meet(self, proxy: ChaosProxy, name: str) -> Outcome | None:
        if not is_write(name) or is_of_lease(name):
            return PASS
        with self._turn:
            self._left -= 1
            if self._left != 0:
                return PASS
            proxy.kill()
            self.struck, self.detail = True, f"{proxy.replica}, {self.words} {name}"
            return self.outcome


class KillAfterWrite(KillAtWrite):
    """The same, and the write is done: only its answer is lost."""

    name = "kill -9 after a write"
    words, outcome = "after", LOSE_ANSWER


class Terminate(Fault):
    """SIGTERM, as when a pod is deleted."""

    name = "SIGTERM"
    takes = frozenset({REPLICAS})
    weight = 1

    def begin(self) -> None:
        """Ask it to end."""
        victim = self.site.leader_or_any(self.dice)
        self.struck, self.detail = victim.is_running, victim.name
        victim.signal(signal.SIGTERM)


class KillAll(Fault):
    """Kill -9 of all replicas at once."""

    name = "kill -9 of all replicas"
    rest_seconds = REST_SECONDS
    takes = frozenset({REPLICAS})
    weight = 1

    def begin(self) -> None:
        """Kill them."""
        for each in self.site.replicas:
            each.kill_at_once()


FAULTS = (Kill, KillAtWrite, KillAfterWrite, Terminate, KillAll)
