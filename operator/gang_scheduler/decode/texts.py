"""How long the texts of an object may be: longer ones are cut before anything reads them.

Users write a megabyte into a field, and what parses it may need time for each of its characters, or
for each pair of them. Nothing but the time depends on that: no field that is read has so long a
text. What is cut says so, cannot be mistaken for a shorter text, and is refused by whatever reads
it, with its field; all else that the object says counts. Annotations and labels have bounds of
their own: see `wire.metadata`.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gang_scheduler.wire.texts import LONGEST, cut

Object = Mapping[str, Any]

DEEPEST: Final = 200
"""How many levels of nesting are read: see `watch.envelope`."""


def bounded(obj: Object) -> Object:
    """Return the object with each text cut that is too long; the same object if none is."""
    try:
        # In C: nearly all objects are shorter in all than one text may be.
        if len(msgspec.json.encode(obj)) <= LONGEST:
            return obj
    except (UnicodeEncodeError, RecursionError):
        pass
    found: Object = _bounded(obj, 0)
    return found


def _bounded(value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON value.
    if isinstance(value, str):
        return value if len(value) <= LONGEST else cut(value, LONGEST)
    if depth > DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {cut(key, LONGEST): _bounded(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_bounded(each, depth + 1) for each in value]
    return value
