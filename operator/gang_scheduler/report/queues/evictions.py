"""What is told of the evictions of a gang for gangs of queues."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from gang_scheduler.api.conditions import Finding, rfc3339
from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.model.evictions import YieldedTo
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache

EVICTED: Final = "Evicted"


class EvictionTexts:
    """The evictions of gangs, in names as the namespaces of these gangs may know them."""

    def __init__(self, cache: Cache, naming: Naming) -> None:
        self._cache = cache
        self._naming = naming

    def status_of(self, key: GangKey) -> dict[str, Any] | None:
        """Return what the status of a PodGroup remembers; None where there is nothing."""
        found = self._cache.evictions.of(key)
        if not found.count:
            return None
        return {
            "count": found.count,
            "last": rfc3339(found.last),
            "yieldedTo": [*self._links(key, found.yielded)],
        }

    def finding(self, key: GangKey) -> Finding | None:
        """Return the condition of a gang that was evicted last for a gang of a queue."""
        found = self._cache.evictions.of(key)
        if not found.yielded:
            return None
        last = found.yielded[-1]
        words = f"{self._ordinal(key)} eviction: for {self._by(key, last)}"
        return Finding(EVICTED, status=True, reason=last.eviction_class.shown, message=words)

    def reclaimed(self, key: GangKey) -> str:
        """Return what an Event says of a gang whose quota is taken back, once that is noted."""
        links = self._cache.evictions.of(key).yielded
        own = self._where(key).replace(" of ", " by ")
        owner = f" for {self._by(key, links[-1])}" if links else ""
        more = f": {self._ordinal(key)} eviction of the gang" if links else ""
        return f"Quota that was borrowed{own} is taken back{owner}{more}"

    def _ordinal(self, key: GangKey) -> str:
        """Return how often a gang was evicted, such as 2nd."""
        number = self._cache.evictions.of(key).count
        ending = "th" if number // 10 % 10 == 1 else _ENDINGS.get(number % 10, "th")
        return f"{number}{ending}"

    def _by(self, key: GangKey, link: YieldedTo) -> str:
        where = self._where(link.gang)
        is_hidden = self._naming.hides_foreign and link.gang.namespace != key.namespace
        return f"a gang{where}" if is_hidden else f"{link.gang}{where}"

    def _where(self, key: GangKey) -> str:
        resolved = self._cache.gang_queue.queues.of(key)
        return f" of queue {resolved.ref}" if resolved is not None and resolved.ref else ""

    def _links(self, key: GangKey, links: Iterable[YieldedTo]) -> Iterator[dict[str, str]]:
        for each in links:
            written = {
                "by": self._naming.gang(each.gang, each.uid, key.namespace),
                "uid": each.uid,
                "class": each.eviction_class.shown,
                "at": rfc3339(each.at) if each.at else "",
                "edition": each.edition,
            }
            # A gang of another namespace that no object describes may have no name to be told by.
            if written["by"]:
                yield {name: text for name, text in written.items() if text}


_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
