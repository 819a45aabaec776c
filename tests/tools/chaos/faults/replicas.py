"""Replicas that stand still for longer than their Lease lasts, or that lead with an old view."""

import signal

from tools.chaos.faults.fault import PROXIES, REPLICAS, Fault


class Stop(Fault):
    """SIGSTOP of the leader, beyond its Lease: another takes over, then the first goes on."""

    name = "SIGSTOP beyond the Lease"
    seconds = (11.0, 18.0)
    takes = frozenset({REPLICAS})
    weight = 3

    def begin(self) -> None:
        """Stop it."""
        self._victim = self.site.leader_or_any(self.dice)
        self.struck, self.detail = self._victim.is_running, self._victim.name
        self._victim.signal(signal.SIGSTOP)

    def end(self) -> None:
        """Let it go on."""
        self._victim.signal(signal.SIGCONT)


class StopShortly(Stop):
    """SIGSTOP of the leader for less than its Lease lasts."""

    name = "SIGSTOP within the Lease"
    seconds = (1.0, 5.0)
    weight = 2


class StopAny(Stop):
    """SIGSTOP of any replica, for shorter or much longer than anything that it waits for lasts."""

    name = "SIGSTOP for 5 to 60 s"
    seconds = (5.0, 60.0)

    def begin(self) -> None:
        """Stop it."""
        self._victim = self.dice.choice(self.site.replicas)
        self.struck, self.detail = self._victim.is_running, self._victim.name
        self._victim.signal(signal.SIGSTOP)


class SucceedBlindly(Fault):
    """The watches of one replica stall, and the others are killed: it leads with an old view."""

    name = "successor with an old view"
    seconds = (14.0, 20.0)
    rest_seconds = 5.0
    takes = frozenset({REPLICAS, PROXIES})
    weight = 1

    def begin(self) -> None:
        """Stall the watches of one, and kill the others."""
        leader = self.site.leader()
        others = [each for each in self.site.replicas if each is not leader]
        self._blind = self.dice.choice(others or self.site.replicas)
        self.detail = self._blind.name
        self._blind.proxy.flows.clear()
        for each in self.site.replicas:
            if each is not self._blind:
                each.kill_at_once()

    def end(self) -> None:
        """Let events flow."""
        self._blind.proxy.flows.set()


FAULTS = (Stop, StopShortly, StopAny, SucceedBlindly)
