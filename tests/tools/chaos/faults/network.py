"""What the network between the operator and the API server does, and what servers say at times."""

import random
import time

from e2e.support.fault_proxy import LOSE_ANSWER, LOSE_REQUEST, PASS, Choose
from e2e.support.fault_proxy import Fault as Outcome
from tools.chaos.faults.fault import PROXIES, Fault
from tools.chaos.proxy import WatchFault, is_of_lease, is_write


class Cut(Fault):
    """All connections of a replica are cut."""

    name = "connections cut"
    takes = frozenset({PROXIES})

    def begin(self) -> None:
        """Cut them."""
        proxy = self.site.leader_or_any(self.dice).proxy
        self.detail = proxy.replica
        proxy.cut()


class Stall(Fault):
    """Watches say nothing for a time, and then all at once."""

    name = "watches stalled"
    seconds = (3.0, 20.0)
    takes = frozenset({PROXIES})

    def begin(self) -> None:
        """Stop the flow."""
        self._proxy = self.site.leader_or_any(self.dice).proxy
        self.detail = self._proxy.replica
        self._proxy.flows.clear()

    def end(self) -> None:
        """Let it flow."""
        self._proxy.flows.set()


class Answers(Fault):
    """A share of all requests meets this fault, at all replicas."""

    seconds = (2.0, 8.0)
    takes = frozenset({PROXIES})
    outcomes: tuple[Outcome, ...]
    watches = False
    shares: tuple[float, ...] = (0.1, 0.3, 0.6)

    def begin(self) -> None:
        """Let requests meet it."""
        self._share, self._met = self.dice.choice(self.shares), 0
        for proxy in self.site.proxies:
            own = random.Random(self.dice.random())  # noqa: S311 - chaos keeps no secret.
            proxy.start_over(self._chooser(own))

    def end(self) -> None:
        """Let all requests through."""
        for proxy in self.site.proxies:
            proxy.start_over()
        self.struck = self._met > 0
        self.detail = f"{self._met} requests, {self._share:.0%}"

    def _chooser(self, own: random.Random) -> Choose:
        return lambda _, name: self._meet(own, name)

    def _meet(self, own: random.Random, name: str) -> Outcome | None:
        if not self.is_met(name) or own.random() >= self._share:
            return PASS
        self._met += 1
        return own.choice(self.outcomes)

    def is_met(self, name: str) -> bool:
        """Return whether a request of this name may meet it."""
        return self.watches or not name.startswith("WATCH ")


class Lost(Answers):
    """Requests are lost, or their answers are."""

    name = "requests or answers lost"
    outcomes = (LOSE_REQUEST, LOSE_ANSWER)


class Half(Answers):
    """Answers end in their middle."""

    name = "half an answer"
    outcomes = (Outcome(forward=True, half=True),)


class Conflict(Answers):
    """409 for writes."""

    name = "409"
    outcomes = (Outcome(status=409),)

    def is_met(self, name: str) -> bool:
        """Only writes conflict."""
        return is_write(name)


class Gone(Answers):
    """410 for lists and watches."""

    name = "410"
    outcomes = (Outcome(status=410),)
    watches = True

    def begin(self) -> None:
        """Have watches begin again, too: they meet it when they are opened."""
        super().begin()
        for proxy in self.site.proxies:
            proxy.cut()

    def is_met(self, name: str) -> bool:
        """Only what reads can be too late."""
        return not is_write(name) and not is_of_lease(name)


class TooMany(Answers):
    """429 with Retry-After."""

    name = "429"
    outcomes = (Outcome(status=429, headers={"Retry-After": "1"}),)
    watches = True


class ServerError(Answers):
    """500 before a request was done, and after."""

    name = "500"
    outcomes = (Outcome(status=500), Outcome(forward=True, status=500))


class Unavailable(Answers):
    """503, and 504 of requests that were done after all."""

    name = "503 and 504"
    outcomes = (Outcome(status=503), Outcome(forward=True, status=504))


class Slow(Answers):
    """Answers take up to three seconds, some of them longer than the operator waits."""

    name = "slow answers"
    outcomes = tuple(Outcome(slow_seconds=each) for each in (0.3, 1.0, 3.0))
    shares = (0.3, 0.6)


class Events(Fault):
    """Something befalls the events of watches, at all replicas."""

    seconds = (3.0, 15.0)
    takes = frozenset({PROXIES})
    fault: WatchFault

    def begin(self) -> None:
        """Let watches meet it."""
        for proxy in self.site.proxies:
            proxy.watch_fault = self.fault

    def end(self) -> None:
        """Let watches go on."""
        for proxy in self.site.proxies:
            proxy.watch_fault = WatchFault()


class Late(Events):
    """Events come late, and in their order."""

    name = "late events"
    fault = WatchFault(late=1.0)


class Twice(Events):
    """Events come twice."""

    name = "duplicated events"
    fault = WatchFault(twice=0.5)


class NoBookmarks(Events):
    """No bookmark comes, and then connections are cut: what was seen last is old."""

    name = "missing bookmarks"
    seconds = (10.0, 20.0)
    fault = WatchFault(no_bookmarks=True)

    def end(self) -> None:
        """Have watches begin again where they were."""
        super().end()
        for proxy in self.site.proxies:
            proxy.cut()


class Expired(Events):
    """Watches end with 410 in their stream."""

    name = "410 in a watch"
    seconds = (3.0, 6.0)

    def begin(self) -> None:
        """Let the watches that are there end so."""
        self.fault = WatchFault(gone=True, since=time.monotonic())
        super().begin()


class Torn(Events):
    """Watches end in the middle of an event."""

    name = "half an event"
    seconds = (3.0, 6.0)

    def begin(self) -> None:
        """Let the watches that are there end so."""
        self.fault = WatchFault(torn=True, since=time.monotonic())
        super().begin()


FAULTS = (
    *(Cut, Stall, Lost, Half, Conflict, Gone, TooMany, ServerError, Unavailable, Slow),
    *(Late, Twice, NoBookmarks, Expired, Torn),
)
