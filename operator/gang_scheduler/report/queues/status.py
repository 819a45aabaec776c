"""The status of our Queues: computed from their figures, and kept current."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final, Protocol

from gang_scheduler.api import conditions
from gang_scheduler.api.conditions import Finding
from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import RACED, Writes
from gang_scheduler.decode import fields
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.causes.queues import QueueInactive
from gang_scheduler.model.queues import (
    GPU,
    Amounts,
    FlavorResource,
    QueueFigures,
    QueueKind,
    QueueRef,
    RecentUsage,
)
from gang_scheduler.model.resources import CPU, MEMORY, quantity_of
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report.words.text import text_of
from gang_scheduler.telemetry.logger import Logger

# The status that a Queue should have now. Pure: takes figures and returns dicts.

ACTIVE = "Active"
OVERSUBSCRIBED = "Oversubscribed"
STARVING = "Starving"
READY = "Ready"
STOPPED = "Stopped"
SHARE_DIGITS = 6
RECENT_SECONDS = 300
"""The least time between two writes of a queue's recent usage, which changes all the time."""
_NAMES = ("nominal", "used", "borrowed", "lent", "fairShare")
_SUMMED = _NAMES[:4]
_FIRST = (CPU, MEMORY)
"""Shown first for a queue without GPUs."""
_STOPS = {
    StopPolicy.HOLD: "stopPolicy Hold: no gang is admitted",
    StopPolicy.HOLD_AND_DRAIN: (
        "stopPolicy HoldAndDrain: no gang is admitted, and running gangs are evicted"
    ),
}

Status = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """Everything the status of a queue shows that is not in its figures.

    `written` is the present status of the object, `generation` its generation, and `now` is in
    seconds since the epoch. `pending` counts the gangs that wait in the queue and below it. The
    resources in `gpu_resources` add up to `gpu`. `recent` is the queue's recent usage, None if it
    does not count; `closing`: this is the last write.
    """

    written: Status = field(default_factory=dict)
    generation: int = 0
    now: int = 0
    pending: int = 0
    gpu_resources: Collection[str] = ()
    recent: RecentUsage | None = None
    closing: bool = False


def status_of(figures: QueueFigures, view: View) -> dict[str, Any]:
    """Return the status of a Queue; a null removes the key in a merge patch."""
    present = view.written.get("conditions") or []
    known = {each.get("type") for each in present}
    others = (_oversubscribed(figures), _starving(figures))
    # A condition that is false is left out if it was never written.
    findings = [activity(figures), *(e for e in others if e.status or e.type in known)]
    return {
        **_by_flavor(figures.amounts),
        "summary": _summary(figures.amounts, view.gpu_resources),
        "share": share_of(figures.share),
        "pendingJobs": view.pending,
        "runningJobs": figures.running,
        **_recent_usage(view),
        "conditions": conditions.merged(present, findings, view.generation, view.now),
    }


def _recent_usage(view: View) -> dict[str, Any]:
    """Return the recent usage of the queue, or the written usage if that is recent enough."""
    written: Status | None = view.written.get("recentUsage")
    if view.recent is None or not _is_due(written or {}, view.recent, view):
        return {} if written is None else {"recentUsage": written}
    amounts = {name: quantity_of(name, amount) for name, amount in view.recent.amounts.items()}
    return {"recentUsage": {"at": rfc3339(view.recent.at), "amounts": amounts}}


def _is_due(written: Status, recent: RecentUsage, view: View) -> bool:
    least = 0 if view.closing else RECENT_SECONDS - 1
    passed = view.now - fields.timestamp_or_zero(written.get("at")) > least
    return passed and bool(recent.amounts or written.get("amounts"))


def activity(figures: QueueFigures) -> Finding:
    """Return the Active condition: whether gangs of the queue can be admitted, and why not."""
    problem, stop = figures.problem, _STOPS.get(figures.queue.stop)
    if problem is not None:
        cause, words = problem.cause, text_of(problem.cause)
        reason = cause.fault if isinstance(cause, QueueInactive) else problem.reason
        return Finding(ACTIVE, status=False, reason=reason.value, message=words)
    if stop is not None:
        return Finding(ACTIVE, status=False, reason=STOPPED, message=stop)
    return Finding(ACTIVE, status=True, reason=READY, message="gangs can be admitted")


def is_worth_a_line(figures: QueueFigures) -> bool:
    """Return whether a queue is declared, or an implied one that something uses."""
    is_used = any(each.used for each in figures.amounts.values())
    return bool(figures.queue.uid or is_used or figures.running or figures.pending)


def amounts_of(of: FlavorResource, amounts: Amounts) -> dict[str, str]:
    """Return the amounts of one flavor and resource as a status or a document shows them."""
    quantities = (quantity_of(of.resource, each) for each in amounts)
    return {**of._asdict(), **dict(zip(_NAMES, quantities, strict=True))}


def share_of(share: Fraction | None) -> str | None:
    """Return the share by which queues are compared, as text; None if it is infinite."""
    return None if share is None else f"{round(float(share), SHARE_DIGITS):g}"


def _oversubscribed(figures: QueueFigures) -> Finding:
    if figures.oversubscribed:
        more = ", ".join(_more(key, *each) for key, each in sorted(figures.oversubscribed.items()))
        words = f"the queues below were promised {more}"
        return Finding(OVERSUBSCRIBED, status=True, reason="PromisedMore", message=words)
    return Finding(OVERSUBSCRIBED, status=False, reason="Covered")


def _more(key: FlavorResource, promised: int, own: int) -> str:
    amounts = f"{quantity_of(key.resource, promised)} of {quantity_of(key.resource, own)}"
    return f"{amounts} {key.resource} in flavor {key.flavor}"


def _starving(figures: QueueFigures) -> Finding:
    if figures.starving:
        words = "a gang that asks for no more than the queue's own quota waits for long"
        return Finding(STARVING, status=True, reason="WaitsForOwnQuota", message=words)
    return Finding(STARVING, status=False, reason="Served")


def _by_flavor(amounts: Mapping[FlavorResource, Amounts]) -> dict[str, Any]:
    """Return each figure by flavor and resource."""
    found: dict[str, defaultdict[str, dict[str, str]]]
    found = {name: defaultdict(dict) for name in _NAMES}
    for (flavor, resource), each in amounts.items():
        for name, amount in zip(_NAMES, each, strict=True):
            found[name][flavor][resource] = quantity_of(resource, amount)
    return {name: dict(by_flavor) or None for name, by_flavor in found.items()}


def _summary(
    amounts: Mapping[FlavorResource, Amounts], gpu_resources: Collection[str]
) -> dict[str, str] | None:
    """Return the figures of one resource in all flavors together, for the columns of kubectl.

    For a queue with GPUs, these are the GPUs.
    """
    resources = {of.resource for of in amounts}
    if not resources:
        return None
    name, counted = _first(resources, gpu_resources)
    found = [each for of, each in amounts.items() if of.resource in counted]
    sums = (sum(each[place] for each in found) for place, _ in enumerate(_SUMMED))
    figures = (quantity_of(name, each) for each in sums)
    return {"resource": name, **dict(zip(_SUMMED, figures, strict=True))}


def _first(resources: Collection[str], gpu_resources: Collection[str]) -> tuple[str, set[str]]:
    """Return the resource to show as one figure: its name, and the resources it adds up."""
    # A queue with quota for `gpu` counts GPUs of all names under it, each once.
    gpus = {GPU} & {*resources} or {*gpu_resources} & {*resources}
    if gpus:
        return GPU, gpus
    name = next((each for each in _FIRST if each in resources), min(resources))
    return name, {name}


def patch_of(before: Status, after: Status) -> dict[str, Any]:
    """Return a merge patch that also removes obsolete keys of nested objects.

    Top-level keys that only the object has are kept.
    """
    return {key: _replaced(before.get(key), value) for key, value in after.items()}


def _replaced(before: Any, after: Any) -> Any:  # noqa: ANN401 - any JSON value.
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return after
    gone = dict.fromkeys(before.keys() - after.keys())
    return {**gone, **{key: _replaced(before.get(key), value) for key, value in after.items()}}


def differs(present: Status, status: Status) -> bool:
    """Return whether a status differs from the present one."""
    return any(present.get(key) != value for key, value in status.items())


def pending_in_trees(figures: Sequence[QueueFigures]) -> Counter[QueueRef]:
    """Return how many gangs wait in each queue and below it."""
    parents = {each.queue.ref: each.queue.parent for each in figures}
    counts = Counter[QueueRef]()
    for each in figures:
        at: QueueRef | None = each.queue.ref
        way: dict[QueueRef, None] = {}
        while at is not None and at not in way:
            way[at] = None
            at = parents.get(at)
        counts.update(dict.fromkeys(way, len(each.pending)))
    return counts


# New figures wake the writer, and each queue is written only now and then. Objects of other
# products belong to those products and are not written.

LEAST_SECONDS: Final = 10
"""The least time between two writes of one queue: figures change with every pod."""
WAIT_SECONDS: Final = 1.0

log = Logger()


class Declared(Protocol):
    """A Queue as it was read."""

    @property
    def generation(self) -> int:
        """The generation of the object."""

    @property
    def status(self) -> Status:
        """The status that was written last."""


def _no_recent(_ref: QueueRef, _now: int) -> RecentUsage | None:
    return None


class QueueWriter:
    """Writes the statuses that have changed.

    `declared` are the Queues by uid. The resources in `gpu_resources` add up to `gpu`. `recent`
    returns the recent usage of a queue at a time in seconds.
    """

    def __init__(
        self,
        api: Api,
        declared: Mapping[str, Declared],
        *,
        gpu_resources: Sequence[str] = (),
        recent: Callable[[QueueRef, int], RecentUsage | None] = _no_recent,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._declared = declared
        self._gpu_resources = gpu_resources
        self._recent = recent
        self._writes = writes
        self._clock = clock
        self._figures: dict[str, QueueFigures] = {}
        self._pending: Mapping[QueueRef, int] = {}
        self._written: dict[str, Status] = {}
        self._next: dict[str, float] = {}
        self._news = asyncio.Event()
        self._closing = False

    def show(self, figures: Sequence[QueueFigures]) -> None:
        """Note the figures of all queues. Changes are written when they are due."""
        self._figures = {each.queue.uid: each for each in figures}
        self._pending = pending_in_trees(figures)
        self._news.set()

    async def run(self) -> None:
        """Write statuses of queues until cancelled."""
        while True:
            await self._news.wait()
            await asyncio.sleep(WAIT_SECONDS)
            if self._writes.allowed():
                self._news.clear()
                with confined("report", "queues"):
                    await self.flush()

    async def close(self) -> None:
        """Write all statuses that have changed, with recent usage, before this process ends."""
        self._closing = True
        if self._writes.allowed():
            with confined("report", "queues"):
                await self.flush()

    async def flush(self) -> None:
        """Write the changes that are due, and wake up again for the others."""
        self._written = {uid: each for uid, each in self._written.items() if uid in self._declared}
        self._next = {uid: each for uid, each in self._next.items() if uid in self._declared}
        for uid, figures in list(self._figures.items()):
            declared = self._declared.get(uid)
            if declared is not None and figures.queue.ref.kind is QueueKind.QUEUE:
                await self._update(uid, figures, declared)

    async def _update(self, uid: str, figures: QueueFigures, declared: Declared) -> None:
        now = self._clock()
        known = self._written.get(uid, declared.status)
        view = View(
            known,
            declared.generation,
            int(now),
            self._pending.get(figures.queue.ref, 0),
            self._gpu_resources,
            self._recent(figures.queue.ref, int(now)),
            self._closing,
        )
        status = status_of(figures, view)
        if not differs(known, status):
            return
        if now < self._next.get(uid, 0) and not self._closing:
            self._news.set()
            return
        self._next[uid] = now + LEAST_SECONDS
        await self._write(uid, figures.queue.ref.name, patch_of(known, status), status)

    async def _write(self, uid: str, name: str, patch: Mapping[str, Any], status: Status) -> None:
        self._written[uid] = status
        write = partial(self._api.patch_status, QUEUES, "", name, patch)
        refusal = await self._writes.send("queue_status", write, passing=RACED, about=uid)
        if refusal is None:
            return
        if refusal.passes or refusal.error is None:
            self._written.pop(uid, None)
            self._next[uid] = max(self._next[uid], self._clock() + refusal.retry_after)
            self._news.set()
        elif refusal.is_final:
            log.warning("status_refused", what="queue", name=name, error=str(refusal.error))
