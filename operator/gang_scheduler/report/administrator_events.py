"""Events for administrators: leaders, unreadable objects, forbidden kinds, shared devices."""

import time
from collections.abc import Callable, Collection
from typing import Final

from gang_scheduler.api.kinds import DEPLOYMENTS, RESOURCE_CLAIMS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.background_tasks import every
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Api, Body
from gang_scheduler.client.leader_election import Predecessor, Sign
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import fields, reader
from gang_scheduler.decode.events import LeftOut, LeftOutObjects
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report import events
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.devices.foreign_claims import ForeignClaims
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.wire.base import Identified

# Events on the Lease: which replica began or ended to lead, and how long the change took.

REASON: Final = "LeaderElection"
"""client-go's reason: other controllers send the same Event with it."""

log = Logger()


class LeaderEvents:
    """Events that wait neither for bindings nor for leadership, since they report its loss, too.

    `lease` returns the last written Lease, None if unknown.
    """

    def __init__(
        self,
        api: Api,
        identity: str,
        lease: Callable[[], Body | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._identity = identity
        self._lease = lease
        self._clock = clock

    async def began(self, predecessor: Predecessor | None, seconds: float) -> None:
        """Report that this replica schedules, and how long after the last sign of another one."""
        note = f"{self._identity} became leader"
        if predecessor is not None:
            how = (
                "released the Lease"
                if predecessor.ended is Sign.RELEASED
                else "was last seen to renew the Lease"
            )
            note += f" {seconds:.1f} s after {predecessor.identity} {how}"
        await self._tell(note)

    async def ended(self, *, released: bool) -> None:
        """Report that this replica leads no more."""
        how = "released the Lease" if released else "did not release the Lease: it has to run out"
        await self._tell(f"{self._identity} stopped leading, and {how}")

    async def _tell(self, note: str) -> None:
        lease = self._lease()
        if lease is None:
            return
        metadata = lease["metadata"]
        about = About(
            *("coordination.k8s.io/v1", "Lease", metadata["namespace"], metadata["name"]),
            uid=str(metadata.get("uid", "")),
        )
        event = events.event_of(about, REASON, note, self._clock(), warning=False)
        try:
            await events.create(self._api, about.namespace, event)
        except ApiError as error:
            log.warning("leader_event_not_written", note=note, error=str(error))


# Events on objects that were left out because they are unreadable, with the reason.

SCHEDULED: Final = frozenset({"Pod", "PodGroup", "Job", "JobSet"})
"""Kinds that this scheduler starts, or whose pods it places.

Events on other kinds only name the problem.
"""


class LeftOutEvents:
    """Reports each left-out object by an Event, and by a warning in the log.

    There is no Event on a pod of ours that waits because it is unreadable: its condition and the
    Event on its gang say more. `schedulers` are our own names.
    """

    def __init__(
        self, left_out: LeftOutObjects, events: Events, schedulers: Collection[str]
    ) -> None:
        self._left_out = left_out
        self._events = events
        self._schedulers = schedulers

    async def run(self) -> None:
        """Report every object that is left out, until cancelled."""
        while True:
            left_out = await self._left_out.next()
            with confined("report", left_out.kind):
                self.tell(left_out)

    def tell(self, left_out: LeftOut) -> None:
        """Report an object; without a name, only the log has it."""
        kind, obj, why, holds = left_out
        found = reader.identity(obj)
        names = {"namespace": found.namespace, "name": found.name}
        log.warning("object_left_out", kind=kind, **names, why=str(why))
        if not found.name or self._waits_with_problem(holds):
            return  # An Event needs an object with a name, or another Event says the same.
        version = str(obj.get("apiVersion", "v1"))
        about = About(version, kind, found.namespace, found.name, found.uid)
        reason = "FailedScheduling" if kind in SCHEDULED else Reason.INVALID_SPEC.value
        # An unreadable queue still exists, and so do the queues below it.
        what = "not active" if isinstance(holds, DeclaredQueue) else "left out"
        self._events.record(about, reason, f"{what}: {why}", warning=True)

    def _waits_with_problem(self, holds: object) -> bool:
        """Return whether an object is a waiting pod whose problem the scheduler reports anyway."""
        if not isinstance(holds, Pod) or holds.scheduler not in self._schedulers:
            return False
        return holds.problem is not None and holds.living and not holds.node


# Events on claims that another scheduler has allocated on a pool that this one uses.

DEVICES_OF_TWO: Final = "DevicesOfTwoSchedulers"


class ForeignClaimEvents:
    """Reports each pool of devices once that another scheduler allocates from, too."""

    def __init__(self, foreign_claims: ForeignClaims, events: Events) -> None:
        self._foreign_claims = foreign_claims
        self._events = events

    def tell(self) -> None:
        """Report new claims, each by an Event on the claim."""
        news = self._foreign_claims.news
        while news:
            claim, driver, pool = news.popleft()
            note = (
                f"Another scheduler has allocated devices of driver {driver}, pool {pool}, where "
                "claims of py-gang-scheduler have devices, too: both may give the same device away"
            )
            kind = RESOURCE_CLAIMS
            about = About(kind.api_version, "ResourceClaim", claim.namespace, claim.name, claim.uid)
            self._events.record(about, DEVICES_OF_TWO, note, warning=True)


# Kinds that the scheduler may not read are reported to administrators by Events on its own
# Deployment. Users see their pods of such a kind wait, but the fault is in the ClusterRole, which
# administrators maintain.

LOOK_SECONDS: Final = 30.0
FORBIDDEN_KINDS_REASON: Final = "KindForbidden"


class ForbiddenKinds:
    """Reports forbidden kinds by one Event that lists all of them, as long as there are any.

    `forbidden` returns their names. The Deployment has the name of the Lease, as in the chart.
    """

    def __init__(
        self,
        api: Api,
        events: Events,
        *,
        forbidden: Callable[[], Collection[str]],
        namespace: str,
        name: str,
        writes: Writes,
    ) -> None:
        self._api = api
        self._events = events
        self._forbidden = forbidden
        self._namespace = namespace
        self._name = name
        self._writes = writes
        self._reported: tuple[str, ...] = ()

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        when = self._writes.allowed
        await every(LOOK_SECONDS, self.look, "report", "forbidden kinds", at_once=True, when=when)

    async def look(self) -> None:
        """Report the kinds that may not be listed, once for each set of kinds."""
        names = tuple(sorted(self._forbidden()))
        if names == self._reported:
            return
        if names:
            deployment = await self._deployment()
            if deployment is None:
                return
            note = f"may not list {', '.join(names)}: pods of these wait; update the ClusterRole"
            self._events.record(deployment, FORBIDDEN_KINDS_REASON, note, warning=True)
        self._reported = names

    async def _deployment(self) -> About | None:
        """Return the Deployment of this process; None if it cannot be read."""
        try:
            body = await self._api.get(DEPLOYMENTS, self._namespace, self._name)
            found = fields.read(body, Identified).metadata
        except (ApiError, InvalidField) as error:
            log.info("deployment_unread", deployment=self._name, error=str(error))
            return None
        return About(DEPLOYMENTS.api_version, "Deployment", self._namespace, self._name, found.uid)
