"""What is known of nodes that are bought, and which requests nothing wants any more."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.provisioning import (
    Asking,
    Came,
    Provisioning,
    ProvisioningRequest,
)
from gang_scheduler.model.provisioning_rules import DEFAULT_RETRY, Retry
from gang_scheduler.model.queues import NONE, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.provisioning.holds import Holds
from gang_scheduler.state.provisioning.requests import Requests
from gang_scheduler.state.pruning import pruned
from gang_scheduler.state.queues.usage import QueueUsageStore

UNWANTED_SECONDS: Final = 10
"""How long a request stands that no cycle wants any more: a member may only be created again."""


class ProvisioningSettings(NamedTuple):
    """Whether nodes may be bought, and how often a gang asks again."""

    enabled: bool = False
    retry: Retry = DEFAULT_RETRY


OFF: Final = ProvisioningSettings()


class ProvisioningState:
    """Requests by gang. `served`: the kind is installed. `queue_of` returns the queue of a gang."""

    def __init__(
        self,
        gang_queue: GangQueue,
        usage: QueueUsageStore,
        queue_of: Callable[[GangKey], QueueRef | None],
        settings: ProvisioningSettings = OFF,
    ) -> None:
        self.settings = settings
        self.served = False
        self.requests = Requests()
        self._gang_queue = gang_queue
        self._holds = Holds(usage)
        self._queue_of = queue_of
        self._wanted: dict[GangKey, str] = {}
        self._unwanted_since: dict[GangKey, int] = {}

    @property
    def is_on(self) -> bool:
        """Whether nodes can be bought."""
        return self.settings.enabled and self.served

    def serve(self, *, served: bool) -> bool:
        """Note whether the kind is installed; return whether that matters."""
        before, self.served = self.is_on, served
        self._gang_queue.queues.provisions = self.is_on
        return before != self.is_on

    # What cycles must know, and what they found.

    def snapshot(self) -> Provisioning | None:
        """Return what a cycle must know, after usage was settled; None where nothing is bought."""
        if not self.is_on:
            return None
        return Provisioning(
            retry=self.settings.retry,
            requests={key: self.requests.of(key) for key in self.requests.gangs()},
            outstanding=Counter(self._outstanding()),
            held={key: self._holds.charge_of(key) for key in self._holds.gangs()},
        )

    def take_in(self, plan: Plan, now: int) -> None:
        """Count what a cycle found: what is new by it is to be created. `now` is in seconds."""
        if not self.is_on:
            return
        asking = {each.gang.key: each for each in plan.asking}
        for placed in plan.placed:
            self._unwanted(placed.gang.key, now)
            self._holds.end(placed.gang.key)
        for refused in plan.refused:
            if refused.gang.key not in asking and not refused.left_over:
                self._unwanted(refused.gang.key, now)
        for each in asking.values():
            self._asked(each)
        self._forget_the_gone()

    def _asked(self, asking: Asking) -> None:
        """Take in what was found of one gang."""
        key = asking.gang.key
        self._wanted[key] = asking.digest
        self._unwanted_since.pop(key, None)
        if asking.members:
            self._holds.put(asking)
        else:
            self._holds.end(key)
        if asking.is_new:
            self.requests.decide(asking)

    def _unwanted(self, key: GangKey, now: int) -> None:
        self._wanted.pop(key, None)
        self._unwanted_since.setdefault(key, now)

    def _forget_the_gone(self) -> None:
        """Drop what was noted of gangs that are gone, once they are more than the others."""
        infos = self._gang_queue.infos
        self._wanted = pruned(self._wanted, infos)
        self._unwanted_since = pruned(self._unwanted_since, infos)

    def _outstanding(self) -> Iterator[tuple[QueueRef, str]]:
        """Yield queue and namespace of each request that stands, of gangs that wait for it."""
        for request in self.requests.all():
            info = self._gang_queue.infos.get(request.gang)
            if request.stands and info is not None and not info.attempt.is_confirmed():
                yield self._queue_of(request.gang) or NONE, request.gang.namespace

    # What is seen.

    def upsert(self, request: ProvisioningRequest) -> bool:
        """Take in a request as the API server shows it; return whether gangs are to be tried."""
        return self._news(request.gang) if self.requests.upsert(request) else False

    def delete(self, uid: str) -> bool:
        """Forget a request that is gone; return whether gangs are to be tried."""
        gang = next((each.gang for each in self.requests.all() if each.uid == uid), None)
        return self.requests.delete(uid) and gang is not None and self._news(gang)

    def refused(self, request: ProvisioningRequest, message: str, now: int) -> None:
        """Note that the API server does not take a request. `now` is in seconds."""
        self.requests.refused(request, message, now)
        self._news(request.gang)

    def deleting(self, request: ProvisioningRequest) -> None:
        """Note that a request is being deleted; one that was never shown is forgotten."""
        self.requests.deleting(request)
        self._news(request.gang)

    def _news(self, key: GangKey) -> bool:
        """Note that what is known of a gang's requests is other than before."""
        if not any(each.stands for each in self.requests.of(key)):
            self._holds.end(key)
        self._gang_queue.provisioning_changed([key])
        return True

    # What comes of it.

    def provisioned_for(self, keys: Iterable[GangKey]) -> ProvisioningRequest | None:
        """Return the request by which nodes are there for one of these gangs."""
        found = (each for key in keys for each in self.requests.of(key))
        return next((e for e in found if e.came is Came.PROVISIONED and not e.deleting), None)

    def unwanted(self, now: int) -> list[ProvisioningRequest]:
        """Return the requests that are to be deleted. `now` is in seconds."""
        if not self.is_on:
            return []
        return [
            each
            for each in self.requests.all()
            if not each.deleting and self._is_unwanted(each, now)
        ]

    def _is_unwanted(self, request: ProvisioningRequest, now: int) -> bool:
        key, info = request.gang, self._gang_queue.infos.get(request.gang)
        if info is None or info.observed.object_uid != request.gang_uid:
            return True
        wanted = self._wanted.get(key)
        if wanted is not None:
            return wanted != request.digest or self._is_superseded(request)
        if info.attempt.is_confirmed():
            # It runs. What was bought is booked for it until that expires.
            return request.came is not Came.PROVISIONED
        if request.came is Came.PROVISIONED or not request.stands:
            return False
        return now - self._unwanted_since.setdefault(key, now) >= UNWANTED_SECONDS

    def _is_superseded(self, request: ProvisioningRequest) -> bool:
        """Return whether there is a later attempt: the last one tells how many there were.

        Not before that was created: a process that ends in between must know how many there were.
        """
        same = (each for each in self.requests.of(request.gang) if each.digest == request.digest)
        return any(each.attempt > request.attempt and each.uid for each in same)
