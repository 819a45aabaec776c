"""The files of a recording. They have whole lines, however the recorder ends."""

import contextlib
import errno
import os
import re
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import PACKED

LEVEL: Final = 6
_GZIP: Final = 31
"""The option of zlib to write the header and the end of gzip."""
_MODE: Final = 0o600


class RecordingFile:
    """A new file that only its owner may read; compressed if its name ends in .gz.

    Lines are in the file as soon as they are written, so a recorder may be killed at any time. If
    the disk is full, the incomplete last lines are removed again.
    """

    def __init__(self, path: Path) -> None:
        """Create the file. Raises OSError, FileExistsError if it exists."""
        self.path = path
        self.size = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, _MODE)
        self._packing = zlib.compressobj(LEVEL, wbits=_GZIP) if path.name.endswith(PACKED) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, lines: Iterable[bytes]) -> None:
        """Write lines, all of them or none. Raises OSError.

        After an error, a compressed file accepts no more lines.
        """
        text = b"".join(lines)
        if not text:
            return
        if self._packing is not None:
            text = self._packing.compress(text) + self._packing.flush(zlib.Z_SYNC_FLUSH)
        self._append(text)

    def check(self) -> None:
        """Raise OSError if the file was deleted, or another file has its name."""
        if self._descriptor < 0 or not os.path.samestat(
            os.fstat(self._descriptor), self.path.stat()
        ):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

    def close(self) -> None:
        """Write the end of the file. Raises OSError; the file is closed in any case."""
        if self._descriptor < 0:
            return
        try:
            if self._packing is not None:
                self._append(self._packing.flush(zlib.Z_FINISH))
        finally:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _append(self, text: bytes) -> None:
        rest = memoryview(text)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            os.ftruncate(self._descriptor, self.size)
            os.lseek(self._descriptor, self.size, os.SEEK_SET)
            if self.path.name.endswith(PACKED):
                # Later lines would refer to lines that are missing.
                os.close(self._descriptor)
                self._descriptor = -1
            raise
        self.size += len(text)


# A recorder that runs without end writes files of a bounded size, and keeps a bounded number of
# them.

NAMED: Final = re.compile(r"recording-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-\d\.jsonl\.gz")
"""The names of the files. Sorted by name, they are sorted by time."""
_MOST_AT_ONCE: Final = 10
"""At most this many files may begin in the same second."""


def in_directory(directory: Path) -> list[Path]:
    """Return the files of recordings in a directory, the oldest first. Raises OSError."""
    return sorted(each for each in directory.iterdir() if NAMED.fullmatch(each.name))


def content_of(directory: Path) -> bytes:
    """Return the recordings in a directory as one. Raises OSError, ValueError if one is broken.

    Half a line at the end of a file is left out: its recorder still writes, or was killed. A file
    that is deleted meanwhile is left out, too.
    """
    found = in_directory(directory)
    if not found:
        raise ValueError("has no file of a recording, such as recording-TIME-0.jsonl.gz")
    parts = list[bytes]()
    for path in found:
        with contextlib.suppress(FileNotFoundError):
            raw = path.read_bytes()
            try:
                content = file_format.inflated(raw)
            except ValueError as error:
                raise ValueError(f"{path.name} {error}") from error
            parts.append(content[: content.rfind(b"\n") + 1])
    return b"".join(parts)


class RotatedFiles:
    """Files in a directory, each of which is a recording of its own.

    Once a file has `most_bytes`, the next one is due. At most `most_files` are kept; the oldest
    ones are deleted. If the lines at the beginning of a file alone take `most_bytes`, the file may
    have twice the size of these lines.
    """

    def __init__(self, directory: Path, most_bytes: int, most_files: int) -> None:
        self.directory = directory
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._file: RecordingFile | None = None
        self._first = 0

    @property
    def path(self) -> Path | None:
        """The file that is written now; None if none is open."""
        return self._file.path if self._file is not None else None

    @property
    def is_full(self) -> bool:
        """Whether the next file is due."""
        file = self._file
        return file is not None and file.size >= max(self._most_bytes, 2 * self._first)

    def begin(self, lines: Iterable[bytes], now: int) -> int:
        """Begin the next file with these lines, and return its size in bytes. Raises OSError.

        If the lines cannot be written, the file is not created.
        """
        self.close()
        for old in in_directory(self.directory)[: 1 - self._most_files or None]:
            old.unlink(missing_ok=True)
        file = self._created(now)
        try:
            file.write(lines)
        except OSError:
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                file.path.unlink()
            raise
        self._file, self._first = file, file.size
        return file.size

    def write(self, lines: Iterable[bytes]) -> int:
        """Write lines, and return how many bytes they took. Raises OSError; then no file is open.

        If the file was deleted, or its directory replaced, nothing is written.
        """
        file = self._file
        if file is None:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        before = file.size
        try:
            file.check()
            file.write(lines)
        except OSError:
            self.close()
            raise
        return file.size - before

    def close(self) -> None:
        """Write the end of the file, if possible, and close it."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()

    def _created(self, now: int) -> RecordingFile:
        begun = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        for number in range(_MOST_AT_ONCE):
            path = self.directory / f"recording-{begun}-{number}.jsonl{PACKED}"
            with contextlib.suppress(FileExistsError):
                return RecordingFile(path)
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
