"""Temporary directories that tell whether their owner still lives.

Each one holds a locked file. The lock vanishes with the last process that has it open, however
that process ends, so a directory whose lock can be taken belongs to no process and is removed.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "py-gang-scheduler-"
OWNER_LOCK = "owner.lock"


def create() -> tuple[Path, int]:
    """Return a new directory (mode 0700) and the descriptor of its lock; sweep dead ones first."""
    with _only_one_creator():
        sweep()
        directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        descriptor = os.open(directory / OWNER_LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return directory, descriptor


def sweep() -> None:
    """Remove the directories of control planes that are gone."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_abandoned(directory):
            shutil.rmtree(directory, ignore_errors=True)


def _is_abandoned(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / OWNER_LOCK, os.O_RDWR)
    except OSError:
        # Another user's, or none of ours: not for us to judge.
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _only_one_creator() -> Iterator[None]:
    # Else a sweep could fall between the making of a directory and the locking of its file.
    lock = Path(tempfile.gettempdir()) / f".{PREFIX}{os.getuid()}.lock"
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
