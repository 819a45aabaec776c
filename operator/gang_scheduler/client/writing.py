"""All parts of the operator write through this: only as the leader, counted, with retries.

The binder does not: after a request without an answer, it must first ask for the pod's node.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final

from gang_scheduler.client.backoff import Backoff, Denials
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.telemetry import metrics

UNSURE: Final = frozenset({Kind.UNKNOWN, Kind.THROTTLED})
"""Answers after which the same request is worth another try."""
RACED: Final = UNSURE | {Kind.CONFLICT}
"""The same for a request without a precondition: a conflict there is only a race with a writer."""
GIVE_UP_SECONDS: Final = 60.0
"""How long a write of a decision is repeated.

After that, it is better to plan the room again. Also, kube-controller-manager resets the mark of a
preemption after two minutes.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a write was not done: the last answer, or None if another replica may lead.

    `passes`: the same write may succeed later.
    """

    error: ApiError | None
    passes: bool = False

    @property
    def kind(self) -> Kind | None:
        """The kind of the answer; None without an answer."""
        return None if self.error is None else self.error.kind

    @property
    def retry_after(self) -> float:
        """After how many seconds the API server allows another attempt."""
        return 0.0 if self.error is None else self.error.retry_after

    @property
    def is_gone(self) -> bool:
        """Whether the object is gone, was replaced by another one of its name, or is not ours."""
        return self.kind in (None, Kind.GONE, Kind.CONFLICT)

    @property
    def is_final(self) -> bool:
        """Whether the API server will never accept the write, although the object exists."""
        return self.kind in (Kind.REFUSED, Kind.DENIED) and not self.passes


NOT_LEADING: Final = Refusal(None)


def count(what: str, result: ApiError | str = "written") -> None:
    """Count a write by the kind of its answer, or by another result."""
    label = result.kind.value if isinstance(result, ApiError) else result
    metrics.WRITES.labels(what, label).inc()


def _always() -> bool:
    return True


class Writes:
    """Sends writes while `may_write()` says that this replica leads.

    Remembers which writes are denied and since when: a new denial may pass.
    """

    def __init__(self, may_write: Callable[[], bool] = _always) -> None:
        self.allowed = may_write
        self._denials = Denials()

    async def send(
        self,
        what: str,
        write: Callable[[], Awaitable[object]],
        *,
        passing: frozenset[Kind] = UNSURE,
        about: Hashable = None,
        seconds: float = 0.0,
        as_long_as: Callable[[], bool] = _always,
    ) -> Refusal | None:
        """Send a write; return the reason why it failed, or None once it is done.

        It is repeated for at most `seconds`, as long as the answers are `passing` or denials that
        may pass, and `as_long_as()` returns True. Every answer is counted under `what`. All writes
        with that name about the same `about` count as denied together.
        """
        clock = asyncio.get_running_loop().time
        backoff, deadline = Backoff(), clock() + seconds
        while as_long_as() and self.allowed():
            try:
                await write()
            except ApiError as error:
                count(what, error)
                passes = error.kind in passing or self.denial_may_pass(what, error, about)
                if not passes or clock() >= deadline:
                    return Refusal(error, passes)
                await backoff.after(error, most=deadline - clock())
            else:
                count(what)
                return None
        return NOT_LEADING

    def denial_may_pass(self, what: str, error: ApiError, about: Hashable = None) -> bool:
        """Return whether an answer to a write is a denial that may pass."""
        return self._denials.may_pass(error, (what, about))
