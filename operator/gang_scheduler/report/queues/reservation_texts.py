"""What is said of the start that a gang is promised: in its status, and in Events."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api.conditions import Finding, rfc3339
from gang_scheduler.decode.gangs.remembered import RESERVED, RESTING
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.plan import Reservation
from gang_scheduler.state.queues.reservations import News

MADE: Final = "ReservationMade"
MOVED: Final = "ReservationMoved"
NOT_RESERVED: Final = "NotReserved"
_RESTS: Final = "was promised a start for long, and is promised none for an hour"


@dataclass(frozen=True, slots=True)
class Promised:
    """What a gang is promised, if anything; `rests`: it is promised nothing for a while."""

    reservation: Reservation | None = None
    rests: bool = False


def start_of(reservation: Reservation) -> str:
    """Return when a gang starts, as far as that is known."""
    after = f"after gang {reservation.after} ends" if reservation.after is not None else ""
    if reservation.start is None:
        return f"start unknown, {after}" if after else "start unknown"
    start = f"estimated start {rfc3339(reservation.start)}"
    return f"{start}, {after}" if after else start


def finding(promised: Promised) -> Finding:
    """Return the condition of a gang."""
    if promised.reservation is not None:
        words = start_of(promised.reservation)
        return Finding(RESERVED, status=True, reason="Reserved", message=words)
    if promised.rests:
        return Finding(RESERVED, status=False, reason=RESTING, message=_RESTS)
    return Finding(RESERVED, status=False, reason=NOT_RESERVED)


def event_of(news: News) -> tuple[str, str] | None:
    """Return reason and note of an Event; None where a start moved earlier, or is none any more."""
    now, before = news.now, news.before
    if now is None:
        return None
    if before is None:
        return MADE, f"Promised a start: {start_of(now)}"
    later = now.start is None if before.start is not None else now.after != before.after
    if now.start is not None and before.start is not None:
        later = now.start > before.start
    if now.start is not None and before.start is None:
        later = False
    return (MOVED, f"Now {start_of(now)}; before: {start_of(before)}") if later else None


def backfill_of(backfilled: Backfilled | None) -> Mapping[str, Any] | None:
    """Return what is written of a gang that was let pass; None of any other."""
    if backfilled is None:
        return None
    return {"until": rfc3339(backfilled.until), "for": str(backfilled.ahead_of)}
