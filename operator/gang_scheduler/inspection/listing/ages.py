"""Times in short, for columns."""

from datetime import UTC, datetime
from typing import Final

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def age(seconds: float) -> str:
    """Return how long something lasts: `42s`, `42m`, `3h12m`, `5d4h`."""
    passed = max(0, int(seconds))
    if passed < MINUTE:
        return f"{passed}s"
    if passed < HOUR:
        return f"{passed // MINUTE}m"
    if passed < DAY:
        return _two(passed // HOUR, "h", passed % HOUR // MINUTE, "m")
    return _two(passed // DAY, "d", passed % DAY // HOUR, "h")


def moment(seconds: int, now: int) -> str:
    """Return when something is, in UTC: the time of day, with the date if that is another one.

    Without the year where that is this one.
    """
    at, today = (datetime.fromtimestamp(each, UTC) for each in (seconds, now))
    if at.date() == today.date():
        return f"{at:%H:%M}"
    return f"{at:%m-%d %H:%M}" if at.year == today.year else f"{at:%Y-%m-%d %H:%M}"


def _two(large: int, of_large: str, small: int, of_small: str) -> str:
    return f"{large}{of_large}" + (f"{small}{of_small}" if small else "")
