"""Leader election: the holder of a Lease of coordination.k8s.io/v1 schedules.

Two never lead at once.

A leader stops writing `renew_deadline` after it sent its last successful renewal; the other
replicas wait the longer `lease_seconds` after they saw that renewal. Each replica measures with its
own monotonic clock, and wall clocks are never compared: the times in the Lease are for people.
kubernetes_asyncio's election is not used: it blocks beyond its deadline, leaks its leading task
when the connection breaks, writes local time as UTC, and never releases.
"""

import asyncio
import enum
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import anyio

from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api, Body

NEVER = float("-inf")
SHORTEST_PAUSE = 0.2
"""The pause between the beginnings of two attempts, relative to the period.

It does not get shorter because the first attempt took long.
"""
LATE_SECONDS = 2.0
"""An API server that resumes after a stop has soon read all requests that were sent before."""


class Sign(enum.StrEnum):
    """How the leadership of another replica ended."""

    RELEASED = "released"
    EXPIRED = "expired"


class Predecessor(NamedTuple):
    """The leader before this one, and when it was last known to lead, in the elector's clock."""

    identity: str
    ended: Sign
    led_at: float


class LeadershipLost(Exception):  # noqa: N818 - reads as the event it reports.
    """The Lease was not renewed in time, or another replica holds it.

    This process must not write.
    """


def utc_now() -> datetime:
    """Return the wall clock's time."""
    return datetime.now(UTC)


class LeaderElector:
    """Competes for one Lease under an `identity` that no other process has. Times are in seconds.

    `acquired` is set once this process leads, and `predecessor` is the leader before it; `lease` is
    the Lease as this process wrote it last. The Lease keeps its own annotations. `annotations` are
    added with the next renewal, except empty ones. `problem` is the error of the last failed
    attempt.

    `clock` must not stand still while a callback runs, as a loop's may: after the process was
    stopped, it is asked before anything else. `releases` can be withdrawn if writes may be on their
    way; `released` says whether the Lease was released.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        identity: str,
        *,
        lease_seconds: int,
        renew_deadline: float,
        retry_seconds: float,
        clock: Callable[[], float] | None = None,
        wall_clock: Callable[[], datetime] = utc_now,
    ) -> None:
        if not lease_seconds > renew_deadline > retry_seconds > 0:
            raise ValueError("lease_seconds > renew_deadline > retry_seconds > 0 must hold")
        self.acquired = asyncio.Event()
        self.problem = ""
        self.releases = True
        self.released = False
        self.predecessor: Predecessor | None = None
        self.lease: Body | None = None
        self.annotations: Mapping[str, str] = {}
        self.identity = identity
        self._api = api
        self._namespace = namespace
        self._name = name
        self._lease_seconds = lease_seconds
        self._renew_deadline = renew_deadline
        self._retry_seconds = retry_seconds
        # Waiting for a slow answer is better than no answer. After a lost request there is time for
        # another one.
        self._request_seconds = (renew_deadline - retry_seconds) / 2
        self._clock = clock or _loop_time
        self._wall_clock = wall_clock
        self._renewal_sent_at = self._tried_at = NEVER
        self._seen_version = ""
        self._seen_holder = ""
        self._held_at = self._renewed_at = NEVER
        self._taken_until = NEVER
        self._is_unanswered = False
        self._answered_again_at = NEVER
        self._written: Body | None = None

    def is_leader(self) -> bool:
        """Return whether this process may write.

        Ask before every write: leadership ends by itself.
        """
        return self._clock() < self._renewal_sent_at + self._renew_deadline

    def seconds_left(self) -> float:
        """Return for how long no other replica can lead, even if this process stalls."""
        return self._renewal_sent_at + self._lease_seconds - self._clock()

    async def late_writes(self) -> None:
        """Return when the last writes that a predecessor sent before an outage have arrived.

        Without an outage they ended long ago: a request is over at the latest when the Lease has
        run out twice.
        """
        await asyncio.sleep(max(0.0, self._answered_again_at + LATE_SECONDS - self._clock()))

    async def run(self) -> None:
        """Wait for the Lease, then renew it until cancelled; released in that case.

        Raises LeadershipLost when another holder may follow.
        """
        try:
            # 1. Wait until the Lease is ours.
            while not await self._attempt():  # noqa: ASYNC110 - a pause between requests.
                await asyncio.sleep(self._retry_seconds / 2)
            self.acquired.set()
            # 2. Keep it.
            while self.is_leader():
                await self._renew()
        except asyncio.CancelledError:
            # 3. Release the Lease, so that the next replica can lead at once.
            with anyio.CancelScope(shield=True):
                if self.releases:
                    await self.release()
            raise
        raise LeadershipLost(self.problem or "not renewed in time")

    async def release(self) -> None:
        """Release the Lease if it is ours. If that fails, the Lease runs out by itself."""
        # This comes first: from now on this process writes nothing.
        self._renewal_sent_at = NEVER
        lease, self._written = self._written, None
        with suppress(ApiError, TimeoutError):
            try:
                self._written = lease and await self._write(lease, holder="", seconds=1)
            except ApiError as error:
                if error.kind is not Kind.CONFLICT:
                    raise
            if self._written is None:
                await self._release_anew()
        self.released = self._written is not None

    async def _release_anew(self) -> None:
        """Read the Lease again, and release it if it is ours."""
        lease = await self._read()
        if lease is not None and _holder(lease) == self.identity:
            self._written = await self._write(lease, holder="", seconds=1)

    async def _renew(self) -> None:
        """Make one attempt after a pause, and none beyond the deadline.

        Waiting for an answer counts as a part of the pause.
        """
        left = self._renewal_sent_at + self._renew_deadline - self._clock()
        with anyio.move_on_after(left):
            waited = self._clock() - self._tried_at
            least = self._retry_seconds * SHORTEST_PAUSE
            await asyncio.sleep(max(self._retry_seconds - waited, least))
            await self._attempt()

    async def _attempt(self) -> bool:
        """Take or renew the Lease if it is free or ours; return whether that succeeded."""
        self._tried_at = self._clock()
        try:
            return await self._renewed() or await self._taken()
        except (ApiError, TimeoutError) as error:
            self._note(error)
            return False

    async def _renewed(self) -> bool:
        """Renew the Lease without reading it; return whether this process was its last writer."""
        lease, self._written = self._written, None
        if lease is None or not self.is_leader():
            return False
        try:
            await self._put(lease)
        except ApiError as error:
            if error.kind is Kind.UNKNOWN:
                raise
            self._note(error)
            return False
        return True

    async def _taken(self) -> bool:
        """Read the Lease, and take or renew it unless another replica holds it; return success."""
        lease = await self._read()
        if self._is_unanswered:
            self._is_unanswered, self._answered_again_at = False, self._clock()
        if self._is_taken(lease):
            self.problem = f"the Lease is held by {_holder(lease) or 'somebody'}"
            self._renewal_sent_at = NEVER
            return False
        if self.acquired.is_set() and not self.is_leader():
            # Bindings with an unknown outcome were given up meanwhile, so start from the beginning.
            return False
        await self._put(lease)
        if not self.acquired.is_set():
            self.predecessor = self._ended(lease)
        return True

    def _ended(self, lease: Body | None) -> Predecessor | None:
        """Return the leader that this process follows, if it was seen to lead."""
        if not self._seen_holder:
            return None
        if lease is not None and not _holder(lease):
            return Predecessor(self._seen_holder, Sign.RELEASED, self._held_at)
        return Predecessor(self._seen_holder, Sign.EXPIRED, self._renewed_at)

    async def _put(self, lease: Body | None) -> None:
        """Write the next record, and count as leading from the moment at which it was sent."""
        sent_at = self._clock()
        self._written = await self._write(lease, self.identity, self._lease_seconds)
        self._renewal_sent_at = sent_at

    def _note(self, error: ApiError | TimeoutError) -> None:
        self.problem = str(error) or "no answer in time"
        if isinstance(error, TimeoutError) or error.kind is Kind.UNKNOWN:
            self._is_unanswered = True

    def _is_taken(self, lease: Body | None) -> bool:
        """Return whether another holder has renewed the Lease within its time.

        A Lease that was deleted under its holder stays taken for as long.
        """
        if lease is not None and _holder(lease) in ("", self.identity):
            self._taken_until = NEVER
        elif lease is not None:
            self._held_at = self._clock()
            self._note_renewal(lease)
        return self._clock() < self._taken_until

    def _note_renewal(self, lease: Body) -> None:
        """Count a new version of another replica's Lease as a sign of life."""
        if _version(lease) != self._seen_version:
            seconds = _spec(lease).get("leaseDurationSeconds") or self._lease_seconds
            # Counted from the answer, not the request: the renewal may have come in between.
            self._renewed_at = self._clock()
            self._taken_until = self._renewed_at + float(seconds)
            self._seen_version, self._seen_holder = _version(lease), _holder(lease)

    async def _read(self) -> Body | None:
        try:
            with anyio.fail_after(self._request_seconds):
                return await self._api.get_lease(self._namespace, self._name)
        except ApiError as error:
            if error.kind is Kind.GONE:
                return None
            raise

    async def _write(self, lease: Body | None, holder: str, seconds: int) -> Body:
        """Write the next record and return it.

        Because of its resourceVersion, this fails if the Lease was written meanwhile.
        """
        now = _micro_time(self._wall_clock())
        spec = _spec(lease)
        same = lease is None or _holder(lease) == holder
        # As in client-go, a release does not count as a transition; the next holder does.
        follows = int(bool(holder) and not same)
        document = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                **(lease["metadata"] if lease is not None else {}),
                "namespace": self._namespace,
                "name": self._name,
                "annotations": self._annotated(lease),
            },
            "spec": {
                **spec,
                "holderIdentity": holder,
                "leaseDurationSeconds": seconds,
                "acquireTime": spec.get("acquireTime") or now if same else now,
                "renewTime": now,
                "leaseTransitions": (spec.get("leaseTransitions") or 0) + follows,
            },
        }
        with anyio.fail_after(self._request_seconds):
            self.lease = await self._api.put_lease(self._namespace, self._name, document)
        return self.lease

    def _annotated(self, lease: Body | None) -> dict[str, str]:
        annotations = {**annotations_of(lease), **self.annotations}
        return {key: text for key, text in annotations.items() if text}


def annotations_of(lease: Body | None) -> dict[str, str]:
    """Return the annotations of a Lease."""
    return dict(lease["metadata"].get("annotations") or {}) if lease is not None else {}


def _spec(lease: Body | None) -> dict[str, Any]:
    return dict(lease.get("spec") or {}) if lease is not None else {}


def _holder(lease: Body | None) -> str:
    return str(_spec(lease).get("holderIdentity") or "")


def _version(lease: Body) -> str:
    return str(lease["metadata"]["resourceVersion"])


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
