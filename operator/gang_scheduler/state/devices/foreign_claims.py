"""Claims of other schedulers for devices of pools from which our claims have devices, too.

The API server does not check that two claims have different devices. So two schedulers must not
allocate devices of one pool.
"""

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from gang_scheduler.model.devices import Claim

MOST_REPORTED: Final = 1024
"""At most this many pools are remembered: each of them is reported only once."""

Pool = tuple[str, str]
"""A driver, and the name of a pool of it."""


class ForeignClaim(NamedTuple):
    """A claim that another scheduler has allocated, and the first pool that it shares with ours."""

    claim: Claim
    driver: str
    pool: str


class ForeignClaims:
    """Follows allocated claims. `news` are the claims to report."""

    def __init__(self) -> None:
        self.news: deque[ForeignClaim] = deque(maxlen=MOST_REPORTED)
        self._ours: Counter[Pool] = Counter()
        self._foreign_pools: set[Pool] = set()

    def changed(self, before: Claim | None, after: Claim | None) -> None:
        """Take in a claim before and after a change; None if it did not exist, or is gone.

        A claim that is allocated when it is first seen is not reported: it may be an old one.
        """
        self._ours.subtract(_pools_of(before))
        self._ours.update(_pools_of(after))
        if before is None or before.allocation is not None or after is None:
            return
        if after.allocation is None or after.is_marked:
            return
        for each in after.allocation.results:
            pool = each.driver, each.pool
            if self._ours[pool] > 0 and pool not in self._foreign_pools and not each.admin:
                if len(self._foreign_pools) >= MOST_REPORTED:
                    self._foreign_pools.clear()
                self._foreign_pools.add(pool)
                self.news.append(ForeignClaim(after, *pool))
                return


def _pools_of(claim: Claim | None) -> Iterator[Pool]:
    """Yield the pools of the devices of a claim that this scheduler has allocated."""
    if claim is not None and claim.mark and claim.allocation is not None and claim.is_marked:
        yield from dict.fromkeys((each.driver, each.pool) for each in claim.allocation.results)
