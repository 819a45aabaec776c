"""The nodes planned for the members of a workload that was let start, as its annotation has them.

In the order of the members: `node-1*8,node-2*8` are 16 members on two nodes, and `node-1,,node-2`
three, of which the second has no place.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Final

LONGEST: Final = 100_000
"""In bytes; all annotations of an object may have 256 KiB together."""
MOST_MEMBERS: Final = 100_000


def written(nodes: Iterable[str]) -> str:
    """Return what the annotation is to say; "" for nothing, and where that would be too long."""
    text = ",".join(_run(node, sum(1 for _ in run)) for node, run in itertools.groupby(nodes))
    return text if len(text) <= LONGEST else ""


def read(text: str) -> tuple[str, ...]:
    """Return the nodes that an annotation says; none where it cannot be read."""
    if not text or len(text) > LONGEST:
        return ()
    try:
        found = tuple(itertools.islice(_nodes(text), MOST_MEMBERS + 1))
    except ValueError:
        # A user may have written anything there.
        return ()
    return found if len(found) <= MOST_MEMBERS else ()


def _run(node: str, number: int) -> str:
    return f"{node}*{number}" if number > 1 else node


def _nodes(text: str) -> Iterator[str]:
    for run in text.split(","):
        node, times, number = run.partition("*")
        yield from itertools.repeat(node, min(int(number), MOST_MEMBERS + 1) if times else 1)
