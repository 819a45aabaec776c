"""What the status of a PodGroup remembers of the evictions of its gang.

Leniently: what cannot be read is left out, since the gang must not wait for it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.model.evictions import EvictionClass, Evictions, YieldedTo
from gang_scheduler.model.refs import GangKey

# Of two classes with one name the first is as good: they weigh the same.
_CLASSES: Final = {each.shown: each for each in reversed(EvictionClass)}


def read(status: Mapping[str, Any]) -> Evictions | None:
    """Return the evictions in a status, None if it has none.

    The gangs in it have no source, since a status does not tell that, and one that is told by its
    uid alone has no name.
    """
    found = status.get("evictions")
    if not isinstance(found, Mapping) or not found:
        return None
    count = found.get("count")
    return Evictions(
        count=count if isinstance(count, int) else 0,
        last=_time(found.get("last")),
        yielded=tuple(_yielded(found.get("yieldedTo"))),
    )


def _yielded(found: object) -> Iterator[YieldedTo]:
    for each in found if isinstance(found, list) else ():
        by, named = (each.get("by"), each.get("class")) if isinstance(each, Mapping) else (0, 0)
        if isinstance(by, str) and isinstance(named, str) and named in _CLASSES:
            uid, edition = (_text(each.get(key)) for key in ("uid", "edition"))
            namespace, _, name = by.partition("/")
            gang = GangKey("", namespace, name)
            yield YieldedTo(gang, uid, _CLASSES[named], _time(each.get("at")), edition)


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _time(found: object) -> int:
    """Return a time in seconds since the epoch; 0 if it cannot be read."""
    try:
        return fields.timestamp(_text(found))
    except InvalidField:
        return 0
