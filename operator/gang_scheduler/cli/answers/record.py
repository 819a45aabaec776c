"""`record`: what becomes of the gangs and nodes of a cluster, in a file for `replay`."""

import asyncio
import functools
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import click

from gang_scheduler import gc_tuning
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection.snapshots import taking
from gang_scheduler.inspection.snapshots.pseudonyms import GrowingPseudonyms
from gang_scheduler.recording.files import RecordingFile

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

NAMES: Final = ".names.json"
"""The suffix of the file that maps pseudonyms to names."""
Given = Mapping[str, Any]


def answer(given: Given) -> None:
    """Record until a signal comes or the time is over; exits with a message if it cannot."""
    # Here, since help and completion need no client.
    from gang_scheduler.inspection.live_recording import NEEDS  # noqa: PLC0415

    gc_tuning.collect_rarely()
    lasts = given["lasts"]
    seconds = None if lasts is None else cluster_sources.seconds(lasts, "--for")
    writing = _Writing(Path(given["out"]), GrowingPseudonyms() if given["anonymize"] else None)
    try:
        cluster_sources.answer(
            Asked.of_server(given), functools.partial(_recorded, writing, seconds), needs=NEEDS
        )
    finally:
        # An error of the API server may have ended the recording before anything was written.
        writing.close()


class _Writing:
    """Writes a recording to a file, and its pseudonyms to another one.

    The files are created once there is something to write.
    """

    def __init__(self, path: Path, names: GrowingPseudonyms | None) -> None:
        self.names = names
        self.path = path
        self._file: RecordingFile | None = None
        self._known = 0
        if path.exists():
            refuse([f"--out: {path}: exists already; a recording goes to a new file"])
        if not path.parent.is_dir():
            refuse([f"--out: {path}: {path.parent} is no directory"])

    async def write(self, lines: Sequence[bytes]) -> None:
        """Write lines in another thread, so that the watches go on. Raises OSError."""
        await anyio.to_thread.run_sync(self._write, lines)

    def _write(self, lines: Sequence[bytes]) -> None:
        names = self.names
        if names is not None and len(names.words) + len(names.numbers) > self._known:
            # The pseudonyms are written before the lines, so that each has a known meaning.
            self._known = len(names.words) + len(names.numbers)
            stand_for = {"words": names.words, "numbers": names.numbers}
            beside = self.path.with_name(f"{self.path.name}{NAMES}")
            taking.write_files(json.dumps(stand_for, indent=2).encode(), beside)
        if self._file is None:
            self._file = RecordingFile(self.path)
        self._file.write(lines)

    @property
    def size(self) -> int:
        """The length of the file, in bytes."""
        return self._file.size if self._file is not None else 0

    def close(self) -> None:
        """Write the end of the file."""
        if self._file is not None:
            self._file.close()


async def _recorded(writing: _Writing, seconds: float | None, server: "Server") -> None:
    """Record until the time is over or a signal comes. Raises ApiError if it cannot begin."""
    from gang_scheduler.inspection.live_recording import Recording  # noqa: PLC0415

    recording = Recording(writing.write, functools.partial(click.echo, err=True), writing.names)
    try:
        with anyio.CancelScope() as scope:
            loop = asyncio.get_running_loop()
            for each in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(each, scope.cancel)
            await recording.run(server, seconds)
    except Exception as error:
        found = _only(error)
        if not isinstance(found, OSError):
            raise found from error
        refuse([f"{writing.path}: cannot be written: {found.strerror}"], Exit.NOT_TRUE)
    writing.close()
    if not recording.has_begun:
        refuse(["nothing was recorded: it was ended before the cluster was read"], Exit.NOT_TRUE)
    click.echo(
        f"{writing.path}: {recording.gangs} gangs, {recording.ended} ended; {writing.size} bytes",
        err=True,
    )


def _only(error: Exception) -> Exception:
    """Return the first error inside nested groups of errors."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
