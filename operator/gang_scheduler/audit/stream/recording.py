"""Recordings of events: written while they come, and judged again afterwards."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

from gang_scheduler.audit.stream import events
from gang_scheduler.audit.stream.events import Event, UnreadableLineError


class Recorder:
    """Writes events to a file, each at once. Use as a context manager. May raise OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, event: Event) -> None:
        """Write an event."""
        if self._file is None:
            raise RuntimeError("the recording is not open")
        self._file.write(event.line)


def read(lines: Iterable[bytes], name: str) -> Iterator[Event]:
    """Yield the events of a recording; its last line may be cut off.

    Raises UnreadableLineError, with the name of the recording and the number of the line.
    """
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            return
        try:
            yield events.of_line(line)
        except UnreadableLineError as error:
            raise UnreadableLineError(f"{name}:{number}: {error}") from error
