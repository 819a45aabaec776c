"""The file of the page's history: a line for each thing that it remembers.

A page appends lines, and writes the file again when most of its lines are old. A line that was cut
off, because the page was killed, is dropped.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from gang_scheduler.model.scheduler_events import SchedulerEvent

VERSION: Final = 1
LEAST_REWRITTEN: Final = 1000
"""A file with fewer lines than this is not rewritten."""
MODE: Final = 0o600
"""The mode of the file, which has names of gangs."""


class HeaderLine(msgspec.Struct, tag="PageHistory", tag_field="kind", frozen=True):
    """The first line: the version of the format, and the cluster that the history is of."""

    version: int
    cluster: str


class ReadingLine(msgspec.Struct, tag="Reading", tag_field="kind", frozen=True):
    """A minute in which the cluster was read; `gpus` are all, used and asked for, if known."""

    at: int
    gpus: tuple[int, int, int] | None = None


class DecisionLine(SchedulerEvent, tag="Decision", tag_field="kind", frozen=True, kw_only=True):
    """An Event of the scheduler. A later line about the same decision replaces it."""


class ChangeLine(msgspec.Struct, tag="Change", tag_field="kind", frozen=True):
    """A gang was seen in a state or with a reason that it did not have before."""

    at: int
    source: str
    namespace: str
    name: str
    state: str
    reason: str = ""
    words: str = ""


Line = ReadingLine | DecisionLine | ChangeLine
_LINE: Final = msgspec.json.Decoder(HeaderLine | ReadingLine | DecisionLine | ChangeLine)
_ENCODER: Final = msgspec.json.Encoder()


class UnusableHistoryError(Exception):
    """The file cannot be used; the text says why."""


class HistoryFile:
    """Reads the lines of a file and adds to them. Only one page at a time may have it."""

    def __init__(self, path: Path, cluster: str) -> None:
        """Open the file, or make it. Raises OSError and UnusableHistoryError."""
        self._path = path
        self._cluster = cluster
        self._number = 0
        self._lock = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR, MODE)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines = self._read()
        except BlockingIOError:
            os.close(self._lock)
            raise UnusableHistoryError("another page writes to it") from None
        except BaseException:
            os.close(self._lock)
            raise

    def _read(self) -> list[Line]:
        if not self._path.exists():
            return []
        content = self._path.read_bytes()
        raw = content.split(b"\n")
        if content and len(raw) == 1:
            raise UnusableHistoryError("it is not the history of a page")
        found: list[Line] = []
        # What follows the last end of a line is empty, or was cut off.
        for number, text in enumerate(raw[:-1], 1):
            try:
                line = _LINE.decode(text)
            except msgspec.DecodeError as error:
                raise UnusableHistoryError(f"line {number}: {error}") from None
            if isinstance(line, HeaderLine) != (number == 1):
                raise UnusableHistoryError(f"line {number}: it is not the history of a page")
            if isinstance(line, HeaderLine):
                self._must_be_mine(line)
            else:
                found.append(line)
        return found

    def _must_be_mine(self, header: HeaderLine) -> None:
        if header.version != VERSION:
            known = f"this program knows version {VERSION}"
            raise UnusableHistoryError(f"line 1: version: {header.version}: {known}")
        if header.cluster != self._cluster:
            raise UnusableHistoryError(f"it is the history of {header.cluster}")

    def append(self, lines: Iterable[Line]) -> None:
        """Add lines at the end. Raises OSError."""
        texts = [*map(_ENCODER.encode, lines)]
        if texts:
            with self._path.open("ab") as file:
                file.write(b"\n".join([*texts, b""]))
            self._number += len(texts)

    def is_mostly_old(self, kept: int) -> bool:
        """Return whether the file should be written again, with this many lines."""
        return self._number > max(2 * kept, LEAST_REWRITTEN)

    def rewrite(self, lines: Sequence[Line]) -> None:
        """Replace all lines: the file always has either the old or the new ones. Raises OSError."""
        header = HeaderLine(VERSION, self._cluster)
        content = b"\n".join([*map(_ENCODER.encode, (header, *lines)), b""])
        made = self._path.with_name(f"{self._path.name}.new")
        with contextlib.suppress(FileNotFoundError):
            made.unlink()
        with os.fdopen(os.open(made, os.O_CREAT | os.O_WRONLY | os.O_EXCL, MODE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made.replace(self._path)
        self._number = len(lines)

    def close(self) -> None:
        """Let another page have the file."""
        os.close(self._lock)
