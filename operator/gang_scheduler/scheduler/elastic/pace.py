"""How many workers of an elastic gang may be bound now.

A gang starts with as many as fit. From then on it grows when the cooldown since its last change has
passed, by whole steps, or by fewer to reach its maximum. What it has lost by no decision of the
scheduler is replaced at any time.
"""

from gang_scheduler.model.gangs import Pace


def cools_until(pace: Pace, now: int) -> int | None:
    """Return when a gang may grow again, in seconds since the epoch; None if it may now."""
    if pace.changed_at is None:
        return None
    until = pace.changed_at + pace.elastic.up_cooldown
    return until if now < until else None


def most(pace: Pace, now: int) -> int:
    """Return how many more workers may be bound now; less may be, by `whole`."""
    limit = pace.elastic.max_workers
    if cools_until(pace, now) is not None:
        limit = min(limit, _replaced(pace))
    return max(0, limit - pace.bound)


def whole(pace: Pace, number: int) -> int:
    """Return the most workers, of a number that could be bound, that are whole steps."""
    elastic = pace.elastic
    number = min(number, max(0, elastic.max_workers - pace.bound))
    after = pace.bound + number
    if pace.changed_at is None or after == elastic.max_workers or after <= _replaced(pace):
        return number
    base = max(pace.bound, _replaced(pace))
    return base + (after - base) // elastic.up_step * elastic.up_step - pace.bound


def _replaced(pace: Pace) -> int:
    """Return up to how many workers the gang has back what it has lost."""
    return max(pace.size, pace.elastic.min_workers)
