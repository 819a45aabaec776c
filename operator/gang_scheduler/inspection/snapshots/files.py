"""What is in a file: the header and a line for each object, the same bytes for the same objects."""

import gzip
import io
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec

from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.snapshots.recording import Line
from gang_scheduler.simulation.snapshot_files import Header
from gang_scheduler.state import kinds

PACKED: Final = ".gz"
LEVEL: Final = 6
"""Of compression: the next one takes twice as long for a hundredth of the size."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A header and the lines of objects in their order, with the cluster that they are of."""

    header: Header
    lines: tuple[Line, ...]
    cluster: Cluster

    def content(self) -> Iterator[bytes]:
        """Yield the lines of the file."""
        yield msgspec.json.encode(self.header) + b"\n"
        for each in self.lines:
            yield each.text + b"\n"


def counts(lines: Iterable[Line]) -> dict[str, int]:
    """Return how many objects there are, by the name of their kind."""
    found = Counter(each.place for each in lines)
    return {kinds.KINDS[place].reader.name: found[place] for place in sorted(found)}


def packed(content: Iterable[bytes]) -> bytes:
    """Return lines compressed, without a name and a time, which would differ."""
    into = io.BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, into, mtime=0) as file:
        file.writelines(content)
    return into.getvalue()


def write(content: bytes, path: Path) -> None:
    """Write a file that its owner alone may read, whole or not at all. Raises OSError."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a file that becomes the one at a path if nothing goes wrong."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
