"""How long texts may be, and what is read in place of one that is longer."""

import re
from collections.abc import Mapping
from typing import Final

from gang_scheduler.api import annotations

LONGEST: Final = 1 << 16
"""How many characters any text has at most that is read."""
LONGEST_VALUE: Final = 1024
"""How many characters a label has at most, and an annotation that is no list and no object."""
SHOWN: Final = 64

MARK: Final = " may be)"
"""How the beginning of a text ends that was cut."""

_JSON: Final = 1 << 14
LONGEST_OF: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        (
            annotations.ROLES,
            annotations.ELASTIC,
            annotations.NETWORK_TOPOLOGY_SPEC,
            annotations.PODSET_SLICE_LAYERS,
            annotations.FLAVORS,
            annotations.CHECKPOINT_LATEST,
        ),
        _JSON,
    ),
    # 64 names of two parts each.
    annotations.GANG_GROUPS: 3 * _JSON,
    # Written with an admission: as much as fits into the 256 KiB of all annotations together.
    annotations.ADMITTED_FROM: 200_000,
    annotations.ADMITTED_TO: 100_000,
}
"""The annotations that are longer: how many characters each has at most."""


_CUT: Final = re.compile(
    rf".{{{SHOWN}}}\.\.\. \([0-9]+ characters, of which (?P<most>[0-9]+){re.escape(MARK)}",
    re.DOTALL,
)


def cut(text: str, most: int) -> str:
    """Return a text that is short enough; else its beginning, and how long it is."""
    if len(text) <= most:
        return text
    return f"{text[:SHOWN]}... ({len(text)} characters, of which {most}{MARK}"


def most_of(text: str) -> int | None:
    """Return how many characters a text may have that was cut; None for one that was not."""
    found = _CUT.fullmatch(text) if len(text) < 2 * SHOWN else None
    return None if found is None else int(found["most"])


def bounded(values: dict[str, str], longest_of: Mapping[str, int]) -> dict[str, str]:
    """Return the values with each cut that is too long; the same object if none is."""
    for text in values.values():
        if len(text) > LONGEST_VALUE:
            break
    else:
        return values
    return {key: cut(text, longest_of.get(key, LONGEST_VALUE)) for key, text in values.items()}
