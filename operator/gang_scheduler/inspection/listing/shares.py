"""The figure by which queues are compared, in as many digits as tell queues apart."""

from typing import Final

DIGITS: Final = 3
INFINITE: Final = "infinite"


def short(share: str) -> str:
    """Return a share, as it is written in the status of a queue, for a column."""
    return share if share == INFINITE else f"{round(float(share), DIGITS):g}"
