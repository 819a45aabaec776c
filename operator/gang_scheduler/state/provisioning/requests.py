"""All requests by gang: those that the API server has shown, and those that are decided on.

One that is decided on counts at once, so that no cycle decides on a second one.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.decode.provisioning import NO_GANG
from gang_scheduler.model.provisioning import Asking, Came, ProvisioningRequest
from gang_scheduler.model.refs import GangKey

Name = tuple[str, str]
"""Namespace and name."""
NEWS: Final = ("came", "message", "deleting")
MOST_NEWS: Final = 1000
"""More than a writer leaves behind: where none writes, none are taken."""


@dataclass(slots=True, eq=False)
class Decided:
    """A request that is to be created. `sent`: it may have been, whatever the answer was."""

    asking: Asking
    request: ProvisioningRequest
    sent: bool = False


class Requests:
    """Requests by name; of each gang in the order in which they came."""

    def __init__(self) -> None:
        self.decided: dict[Name, Decided] = {}
        """Those that the API server has not shown, and has not refused."""
        self._known: dict[Name, ProvisioningRequest] = {}
        self._names: dict[str, Name] = {}
        self._by_gang: dict[GangKey, dict[Name, None]] = {}
        self._foreign: set[str] = set()
        self.news: list[ProvisioningRequest] = []

    def of(self, key: GangKey) -> tuple[ProvisioningRequest, ...]:
        """Return the requests of a gang."""
        return tuple(self._known[name] for name in self._by_gang.get(key, ()))

    def all(self) -> Iterator[ProvisioningRequest]:
        """Yield all requests of ours."""
        yield from self._known.values()

    def gangs(self) -> Collection[GangKey]:
        """Return the gangs that have requests."""
        return self._by_gang.keys()

    def uids(self) -> Collection[str]:
        """Return the uids of all requests that the API server has shown, ours or not."""
        return {*self._names, *self._foreign}

    def upsert(self, request: ProvisioningRequest) -> bool:
        """Take in a request as the API server shows it; return whether that is news of a gang."""
        if request.gang == NO_GANG:
            forgotten = self.delete(request.uid)
            self._foreign.add(request.uid)
            return forgotten
        name = (request.namespace, request.name)
        before = self._known.get(name)
        if before is not None and before.uid:
            # The deletion of an earlier one of this name may have been missed.
            self._names.pop(before.uid, None)
        self.decided.pop(name, None)
        self._put(name, request)
        self._names[request.uid] = name
        if before is None or before.uid != request.uid or before.came is not request.came:
            self._tell(request)
        return before is None or any(getattr(before, e) != getattr(request, e) for e in NEWS)

    def take_news(self) -> list[ProvisioningRequest]:
        """Return the requests of which something came since the last time."""
        news, self.news = self.news, []
        return news

    def delete(self, uid: str) -> bool:
        """Forget a request that is gone; return whether a gang had it."""
        self._foreign.discard(uid)
        name = self._names.pop(uid, None)
        if name is None:
            return False
        self._drop(name)
        return True

    def decide(self, asking: Asking) -> None:
        """Note a request that is to be created."""
        request = asking.request
        if request is not None:
            name = (request.namespace, request.name)
            self.decided[name] = Decided(asking, request)
            self._put(name, request)

    def refused(self, request: ProvisioningRequest, message: str, now: int) -> None:
        """Note that the API server does not take a request: it came to nothing."""
        name = (request.namespace, request.name)
        if self.decided.pop(name, None) is not None:
            refused = replace(request, came=Came.REFUSED, message=message, since=now)
            self._put(name, refused)
            self._tell(refused)

    def deleting(self, request: ProvisioningRequest) -> None:
        """Note that a request is being deleted; forget one that was never shown."""
        name = (request.namespace, request.name)
        known = self._known.get(name)
        self.decided.pop(name, None)
        if known is not None and not known.uid:
            self._drop(name)
        elif known is not None and known.uid == request.uid:
            self._known[name] = replace(known, deleting=True)

    def _tell(self, request: ProvisioningRequest) -> None:
        """Note what came of a request; of too many keep the last of each that there is."""
        self.news.append(request)
        if len(self.news) > 2 * len(self._known) + MOST_NEWS:
            last = {(each.namespace, each.name): each for each in self.news}
            self.news = [each for name, each in last.items() if name in self._known]

    def _put(self, name: Name, request: ProvisioningRequest) -> None:
        before = self._known.get(name)
        if before is not None and before.gang != request.gang:
            self._drop(name)
        self._known[name] = request
        self._by_gang.setdefault(request.gang, {})[name] = None

    def _drop(self, name: Name) -> None:
        request = self._known.pop(name)
        names = self._by_gang[request.gang]
        names.pop(name, None)
        if not names:
            del self._by_gang[request.gang]
