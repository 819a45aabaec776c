"""ProvisioningRequests of gangs: open requests, their charges, and requests that no gang needs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.decode.provisioning import NO_GANG
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.provisioning import (
    NodeRequest,
    Provisioning,
    ProvisioningRequest,
    RequestState,
)
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef, Retry
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import NO_SETTINGS, WorkloadRules
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.pruning import pruned
from gang_scheduler.state.queues.usage import QueueUsageStore

# Members that are charged while a request is open.


class Holds:
    """Members for which nodes are requested, by gang.

    Their charges are part of the usage of queues.
    """

    def __init__(self, usage: QueueUsageStore) -> None:
        self._usage = usage
        self._members: dict[GangKey, frozenset[str]] = {}

    def gangs(self) -> set[GangKey]:
        """Return the gangs that are charged for requests."""
        return set(self._members)

    def put(self, node_request: NodeRequest) -> None:
        """Charge the members that a cycle found to wait for nodes, and no others of the gang."""
        uids = frozenset(uid for uid, _ in node_request.members)
        self._release(self._members.get(node_request.gang.key, frozenset()) - uids)
        for uid, flavors in node_request.members:
            self._usage.hold(uid, flavors)
        self._members[node_request.gang.key] = uids

    def end(self, key: GangKey) -> bool:
        """Stop charging a gang; return whether it was charged."""
        uids = self._members.pop(key, None)
        self._release(uids or frozenset())
        return uids is not None

    def charge_of(self, key: GangKey) -> Charge:
        """Return what a gang is charged for requested nodes, as of the last settled usage."""
        found: Counter[FlavorResource] = Counter()
        for uid in self._members.get(key, ()):
            if self._usage.is_held(uid) and (charged := self._usage.charge_of(uid)) is not None:
                found.update(charged[1])
        return found

    def _release(self, uids: frozenset[str]) -> None:
        for uid in uids:
            self._usage.release(uid)


# All requests by gang: requests that the API server has shown, and requests that are decided on. A
# decided request counts at once, so that no cycle decides on a second one.

Name = tuple[str, str]
"""Namespace and name."""
FIELDS_OF_INTEREST: Final = ("state", "message", "deleting")
MOST_NEWS: Final = 1000
"""At most this many requests with news are kept: more than a writer ever leaves."""


@dataclass(slots=True, eq=False)
class Decided:
    """A request that must be created.

    `sent`: it may exist already, since the answer of the API server was unclear.
    """

    node_request: NodeRequest
    request: ProvisioningRequest
    sent: bool = False


class Requests:
    """Requests by name; the requests of a gang are in the order of their creation."""

    def __init__(self) -> None:
        self.decided: dict[Name, Decided] = {}
        """The requests that the API server has neither shown nor refused."""
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

    def gang_of(self, uid: str) -> GangKey | None:
        """Return the gang of a request that the API server has shown."""
        name = self._names.get(uid)
        return None if name is None else self._known[name].gang

    def latest(self) -> Mapping[tuple[GangKey, str], int]:
        """Return the last attempt that was created, by gang and digest."""
        found: dict[tuple[GangKey, str], int] = {}
        for each in self._known.values():
            if each.uid:
                asked = each.gang, each.digest
                found[asked] = max(each.attempt, found.get(asked, 0))
        return found

    def gangs(self) -> Collection[GangKey]:
        """Return the gangs that have requests."""
        return self._by_gang.keys()

    def uids(self) -> Collection[str]:
        """Return the uids of all requests that the API server has shown, ours or not."""
        return {*self._names, *self._foreign}

    def upsert(self, request: ProvisioningRequest) -> bool:
        """Store a request as the API server shows it; return whether that changes anything."""
        if request.gang == NO_GANG:
            forgotten = self.delete(request.uid)
            self._foreign.add(request.uid)
            return forgotten
        name = (request.namespace, request.name)
        before = self._known.get(name)
        if before is not None and before.uid:
            # The deletion of an earlier request with this name may have been missed.
            self._names.pop(before.uid, None)
        self.decided.pop(name, None)
        self._put(name, request)
        self._names[request.uid] = name
        if before is None or before.uid != request.uid or before.state is not request.state:
            self._add_news(request)
        return before is None or any(
            getattr(before, e) != getattr(request, e) for e in FIELDS_OF_INTEREST
        )

    def take_news(self) -> list[ProvisioningRequest]:
        """Return the requests with a new outcome since the last call."""
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

    def decide(self, node_request: NodeRequest) -> None:
        """Note a request that must be created."""
        request = node_request.request
        if request is not None:
            name = (request.namespace, request.name)
            self.decided[name] = Decided(node_request, request)
            self._put(name, request)

    def refused(self, request: ProvisioningRequest, message: str, now: int) -> None:
        """Note that the API server refused a request, which counts as failed."""
        name = (request.namespace, request.name)
        if self.decided.pop(name, None) is not None:
            refused = replace(request, state=RequestState.REFUSED, message=message, since=now)
            self._put(name, refused)
            self._add_news(refused)

    def deleting(self, request: ProvisioningRequest) -> None:
        """Note that a request is being deleted; forget one that was never shown."""
        name = (request.namespace, request.name)
        known = self._known.get(name)
        self.decided.pop(name, None)
        if known is not None and not known.uid:
            self._drop(name)
        elif known is not None and known.uid == request.uid:
            self._known[name] = replace(known, deleting=True)

    def _add_news(self, request: ProvisioningRequest) -> None:
        """Add a request to the news. If there are too many, keep the last of each known request."""
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


UNWANTED_SECONDS: Final = 10
"""How long an unneeded request is kept: a missing member may just be created again."""


class ProvisioningState:
    """Requests by gang. `served`: the kind is installed. `queue_of` returns the queue of a gang."""

    def __init__(
        self,
        gang_queue: GangQueue,
        usage: QueueUsageStore,
        queue_of: Callable[[GangKey], QueueRef | None],
        rules: WorkloadRules = NO_SETTINGS.workloads,
    ) -> None:
        self.rules = rules
        self.served = False
        self.requests = Requests()
        self._gang_queue = gang_queue
        self._holds = Holds(usage)
        self._queue_of = queue_of
        self._wanted: dict[GangKey, str] = {}
        self._unwanted_since: dict[GangKey, int] = {}

    @property
    def is_on(self) -> bool:
        """Whether nodes can be requested."""
        return self.rules.provisioning_requests and self.served

    def serve(self, *, served: bool) -> bool:
        """Note whether the kind is installed; return whether that changes anything."""
        before, self.served = self.is_on, served
        self._gang_queue.queues.provisions = self.is_on
        return before != self.is_on

    # For the cycle, and from it.

    def snapshot(self) -> Provisioning | None:
        """Return the provisioning for a cycle, after usage is settled; None if it is off."""
        if not self.is_on:
            return None
        return Provisioning(
            retry=Retry(self.rules.provisioning_retries, self.rules.provisioning_backoff_seconds),
            requests={key: self.requests.of(key) for key in self.requests.gangs()},
            outstanding=Counter(self._outstanding()),
            held={key: self._holds.charge_of(key) for key in self._holds.gangs()},
        )

    def take_in(self, plan: Plan, now: int) -> None:
        """Note a cycle's decisions; its new requests must be created. `now` is in seconds."""
        if not self.is_on:
            return
        node_requests = {each.gang.key: each for each in plan.node_requests}
        for placed in plan.placed:
            self._unwanted(placed.gang.key, now)
            self._holds.end(placed.gang.key)
        for refused in plan.refused:
            if refused.gang.key not in node_requests and not refused.left_over:
                self._unwanted(refused.gang.key, now)
        for each in node_requests.values():
            self._asked(each)
        self._forget_the_gone()

    def _asked(self, node_request: NodeRequest) -> None:
        """Note the decision on one gang."""
        key = node_request.gang.key
        self._wanted[key] = node_request.digest
        self._unwanted_since.pop(key, None)
        if node_request.members:
            self._holds.put(node_request)
        else:
            self._holds.end(key)
        if node_request.is_new:
            self.requests.decide(node_request)

    def _unwanted(self, key: GangKey, now: int) -> None:
        self._wanted.pop(key, None)
        self._unwanted_since.setdefault(key, now)

    def _forget_the_gone(self) -> None:
        """Drop records of deleted gangs once they outnumber the others."""
        infos = self._gang_queue.infos
        self._wanted = pruned(self._wanted, infos)
        self._unwanted_since = pruned(self._unwanted_since, infos)

    def _outstanding(self) -> Iterator[tuple[QueueRef, str]]:
        """Yield queue and namespace of each open request whose gang waits."""
        for request in self.requests.all():
            info = self._gang_queue.infos.get(request.gang)
            if request.stands and info is not None and not info.attempt.is_confirmed():
                yield self._queue_of(request.gang) or NONE, request.gang.namespace

    # Events.

    def upsert(self, request: ProvisioningRequest) -> bool:
        """Store a request as the API server shows it; return whether gangs must be tried."""
        is_changed = self.requests.upsert(request)
        if is_changed:
            self._requests_changed(request.gang)
        return is_changed

    def delete(self, uid: str) -> bool:
        """Forget a request that is gone; return whether gangs must be tried."""
        gang = self.requests.gang_of(uid)
        if not self.requests.delete(uid) or gang is None:
            return False
        self._requests_changed(gang)
        return True

    def refused(self, request: ProvisioningRequest, message: str, now: int) -> None:
        """Note that the API server refused a request. `now` is in seconds."""
        self.requests.refused(request, message, now)
        self._requests_changed(request.gang)

    def deleting(self, request: ProvisioningRequest) -> None:
        """Note that a request is being deleted; one that was never shown is forgotten."""
        self.requests.deleting(request)
        self._requests_changed(request.gang)

    def _requests_changed(self, key: GangKey) -> None:
        if not any(each.stands for each in self.requests.of(key)):
            self._holds.end(key)
        self._gang_queue.provisioning_changed([key])

    # Outcomes.

    def provisioned_for(self, keys: Iterable[GangKey]) -> ProvisioningRequest | None:
        """Return the fulfilled request that provides nodes for one of these gangs."""
        found = (each for key in keys for each in self.requests.of(key))
        return next(
            (e for e in found if e.state is RequestState.PROVISIONED and not e.deleting), None
        )

    def unwanted(self, now: int) -> list[ProvisioningRequest]:
        """Return the requests that must be deleted. `now` is in seconds."""
        if not self.is_on:
            return []
        latest = self.requests.latest()
        return [
            each
            for each in self.requests.all()
            if not each.deleting and self._is_unwanted(each, now, latest)
        ]

    def _is_unwanted(
        self, request: ProvisioningRequest, now: int, latest: Mapping[tuple[GangKey, str], int]
    ) -> bool:
        """Return whether a request must be deleted.

        A later attempt makes it superfluous only once that one is created: it also records the
        number of attempts, which the next process must know if this one ends.
        """
        key, info = request.gang, self._gang_queue.infos.get(request.gang)
        if info is None or info.observed.object_uid != request.gang_uid:
            return True
        wanted = self._wanted.get(key)
        if wanted is not None:
            return wanted != request.digest or latest.get((key, wanted), 0) > request.attempt
        if info.attempt.is_confirmed():
            # The gang runs. Its new nodes are booked for it until the request expires.
            return request.state is not RequestState.PROVISIONED
        if request.state is RequestState.PROVISIONED or not request.stands:
            return False
        return now - self._unwanted_since.setdefault(key, now) >= UNWANTED_SECONDS
