"""The rank of a member: neighbours in rank get neighbouring nodes."""

from collections.abc import Iterable, Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.wire.metadata import Metadata

Rank = tuple[int, ...]

NO_INDEX: Final = -1
MOST_DIGITS: Final = 9


def index_of(present: Mapping[str, str]) -> int:
    """Return the number in the index annotation, else NO_INDEX. Raises InvalidField."""
    text = present.get(annotations.NETWORK_TOPOLOGY_INDEX)
    if text is None:
        return NO_INDEX
    if not _is_number(text):
        field = f"metadata.annotations[{annotations.NETWORK_TOPOLOGY_INDEX}]"
        raise InvalidField(field, text, "must be a whole number of at least 0")
    return int(text)


def numbers(metadata: Metadata, keys: Iterable[str]) -> Rank:
    """Return the numbers that a controller wrote under these keys, without those that are none."""
    found = []
    for key in keys:
        text = metadata.annotations.get(key) or metadata.labels.get(key, "")
        if _is_number(text):
            found.append(int(text))
    return tuple(found)


def _is_number(text: str) -> bool:
    return len(text) <= MOST_DIGITS and text.isascii() and text.isdigit()
