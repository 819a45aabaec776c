"""Restarts watches without a sign of life, and reports if that does not help.

A source ends silent connections and restarts broken ones, as long as its own task lives and is not
stuck. So this module observes the signs of life from outside, for every source. Old signs alone
prove little: the API server may be down, or a conversion webhook that one kind needs. Then neither
a new watch nor another replica would help. So the supervisor first opens a watch of its own. If
that is answered twice in a row, the fault is in this process.
"""

import asyncio
import enum
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import kinds, known_objects, synced
from gang_scheduler.watch.list_watch import METADATA_ONLY

log = Logger()


@dataclass(frozen=True, slots=True)
class Limits:
    """The time limits of the supervisor, in seconds.

    anew: a watch without a sign of life for this long is restarted.

    dead: a watch that stays silent for this long is dead. From then on this replica is not ready,
    even if the fault is elsewhere. It is long enough for two reconnections of a source and a slow
    answer.

    look: the pause between two checks. It is longer than the pause of a source between two
    attempts, so that the source can reconnect first when an API server is back.

    recent: a watch that was restarted `often` times within this time, and is silent again, is dead,
    too.

    answer: how long a watch opened by the supervisor itself may take to be answered.
    """

    anew: float = 60.0
    dead: float = 120.0
    look: float = 5.0
    recent: float = 600.0
    often: int = 2
    answer: float = 10.0


DEFAULT = Limits()


class WatchDeadError(Exception):
    """A watch receives nothing, although the API server answers other watches of its kind."""

    def __init__(self, kind: str, seconds: float) -> None:
        super().__init__(
            f"the watch of {kind} has received nothing for {seconds:.0f} s, although the API server"
            " answers others, and it was restarted"
        )


class Tried(enum.Enum):
    """The outcome of the supervisor's own watch."""

    ANSWERED = enum.auto()
    REFUSED = enum.auto()
    """The API server answers, but with a failure."""
    LOST = enum.auto()
    """There was no answer."""
    ABSENT = enum.auto()
    """There is nothing to watch: the kind is not served, or it is optional and may not be read."""


Try = Callable[[str], Awaitable[Tried]]
Ages = Callable[[], Mapping[str, float]]
"""How long ago the watch of each kind showed a sign of life."""


class WatchSupervisor:
    """Checks the ages of watches.

    `try_watch` opens a watch of a kind, and `begin_anew` restarts the watch of the source.
    """

    def __init__(
        self,
        try_watch: Try,
        begin_anew: Callable[[str], None],
        limits: Limits = DEFAULT,
        *,
        ages: Ages = synced.ages,
        idle: Ages = synced.idle,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._try = try_watch
        self._begin_anew = begin_anew
        self._limits = limits
        self._ages = ages
        self._idle = idle
        self._clock = clock
        self._answered: set[str] = set()
        self._begun: dict[str, list[float]] = defaultdict(list)

    def problem(self) -> str:
        """Return a message that names the dead watch, "" if all are alive.

        Any thread may call it.
        """
        dead = _older(self._ages(), self._limits.dead)
        if not dead:
            return ""
        kind, seconds = dead[0]
        more = f" (and those of {len(dead) - 1} more kinds)" if dead[1:] else ""
        return f"the watch of {kind} has received nothing for {seconds:.0f} s{more}"

    async def run(self) -> None:
        """Check until cancelled. Raises WatchDeadError."""
        while True:
            await asyncio.sleep(self._limits.look)
            await self._look()

    async def _look(self) -> None:
        """Check all watches once, the oldest first."""
        overdue = _older(self._idle(), self._limits.anew)
        self._answered.intersection_update(kind for kind, _ in overdue)
        for kind, _ in overdue:
            if self._clock() - self._last_begun(kind) < self._limits.anew:
                continue
            tried = await self._try(kind)
            if tried is Tried.LOST:
                # The other watches cannot be tested now.
                self._answered.clear()
                return
            self._judge(kind, tried)

    def _judge(self, kind: str, tried: Tried) -> None:
        """Act on the result of a trial for a kind whose watch was silent."""
        is_overdue = self._idle().get(kind, 0.0) >= self._limits.anew
        if tried is Tried.ABSENT:
            synced.not_served(kind)
        if tried is not Tried.ANSWERED or not is_overdue:
            self._answered.discard(kind)
        elif kind not in self._answered:
            self._answered.add(kind)
        else:
            self._answered.discard(kind)
            self._anew(kind, self._ages()[kind])

    def _anew(self, kind: str, seconds: float) -> None:
        now = self._clock()
        recent = [at for at in self._begun[kind] if now - at < self._limits.recent]
        if (recent and seconds >= self._limits.dead) or len(recent) >= self._limits.often:
            log.error("watch_dead", kind=kind, silent_seconds=round(seconds))
            raise WatchDeadError(kind, seconds)
        self._begun[kind] = [*recent, now]
        metrics.WATCHES_BEGUN_ANEW.labels(kind).inc()
        log.warning("watch_begun_anew", kind=kind, silent_seconds=round(seconds))
        self._begin_anew(kind)

    def _last_begun(self, kind: str) -> float:
        return max(self._begun[kind], default=float("-inf"))


def _older(ages: Mapping[str, float], limit: float) -> list[tuple[str, float]]:
    """Return the kinds whose watches are older than the limit, with their ages, oldest first."""
    found = [(kind, age) for kind, age in ages.items() if age >= limit]
    return sorted(found, key=lambda each: (-each[1], each[0]))


class WatchTrial:
    """Opens watches of kinds for a moment, in addition to the watches of the source."""

    def __init__(
        self,
        connection: Connection,
        kinds: Iterable[tuple[GVR, ...]],
        limits: Limits = DEFAULT,
    ) -> None:
        self._connection = connection
        self._versions = {versions[0].name: versions for versions in kinds}
        self._seconds = limits.answer

    async def __call__(self, kind: str) -> Tried:
        """Try a watch of a kind, in the first of its versions that is served."""
        for gvr in self._versions[kind]:
            try:
                await self._watch(gvr)
            except msgspec.DecodeError:
                return Tried.REFUSED
            except ApiError as error:
                if not _is_absent(kind, error):
                    return Tried.REFUSED if error.status else Tried.LOST
            else:
                return Tried.ANSWERED
        return Tried.ABSENT

    async def _watch(self, gvr: GVR) -> None:
        """Return once a watch is answered. Raises ApiError, or msgspec.DecodeError."""
        accept_list, accept_watch = METADATA_ONLY
        answer = await self._connection.request(
            "GET",
            f"{gvr.path()}?limit=1&continue=",
            accept=accept_list,
            timeout_seconds=self._seconds,
        )
        version = known_objects.decoded(answer, known_objects.PAGE).metadata.resource_version
        path = f"{gvr.path()}?watch=true&timeoutSeconds=1&resourceVersion={version}"
        async with self._connection.stream(
            path, accept=accept_watch, silence_seconds=self._seconds
        ):
            pass


def _is_absent(kind: str, error: ApiError) -> bool:
    """Return whether an answer means that there is nothing to watch, which is no fault."""
    if error.kind is Kind.GONE:
        return kind not in kinds.DECISIVE
    return error.status == kinds.FORBIDDEN and kind in kinds.OPTIONAL
