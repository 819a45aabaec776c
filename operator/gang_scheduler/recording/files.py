"""The file of a recording: it has whole lines, however the recorder ends."""

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from gang_scheduler.recording.form import PACKED

LEVEL: Final = 6
_GZIP: Final = 31
"""How zlib is told to write the header and the end of gzip."""
_MODE: Final = 0o600


class RecordingFile:
    """A new file that only its owner may read; compressed if its name ends in .gz.

    What is written is in the file at once, so that a recorder may be killed at any time. Where the
    disk is full, what was written of the last lines is taken back.
    """

    def __init__(self, path: Path) -> None:
        """Create it. Raises OSError, FileExistsError for one that is there."""
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

        A compressed file then takes no more.
        """
        text = b"".join(lines)
        if not text:
            return
        if self._packing is not None:
            text = self._packing.compress(text) + self._packing.flush(zlib.Z_SYNC_FLUSH)
        self._append(text)

    def close(self) -> None:
        """Write the end. Raises OSError; the file is closed in any case."""
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
                # What follows would refer to what is not there.
                os.close(self._descriptor)
                self._descriptor = -1
            raise
        self.size += len(text)
