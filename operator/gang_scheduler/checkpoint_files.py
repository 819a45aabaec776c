"""For training scripts: the file formats of `checkpoint_store`, and its requests to storage.

Checkpoints are kept in a directory that all nodes reach, or in a bucket, by fsspec. All names are
relative to the URL of the store. The file needs Python 3.9, and is copied with `checkpoint_store`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import importlib
import json
import logging
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

VERSION = 1
"""The version of manifests."""
PUBLISHED = "published"
NAME = re.compile(r"step-\d{12,}-[0-9a-f]{16}")
ENTRY = re.compile(rf"(\d{{12,}})-({NAME.pattern})\.json")
PAUSES_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The pauses between attempts at one request to a bucket; clients in fsspec retry as well."""
AT_ONCE = 8
"""How many files of one rank are transferred at the same time."""
CHUNK_BYTES = 1 << 20
FINAL_ERRORS = (FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError)
"""Errors that another attempt would not change."""
CHANGED_AT = ("LastModified", "last_modified", "mtime", "updated", "created")
"""The names that fsspec's file systems have for the time at which an object was written."""

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class File:
    """One file of a checkpoint: its name below the directory, its size and its checksum."""

    name: str
    size: int
    sha256: str
    rank: int = 0


@dataclass(frozen=True)
class Saved:
    """A published checkpoint. `sequence` is its place in the order of saves."""

    step: int
    path: str
    sequence: int
    files: tuple[File, ...]
    epoch: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    gang: str = ""
    ranks: int = 1
    saved_at: str = ""
    """The time, by the clock of the writer. For people only."""

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(each.size for each in self.files)

    @property
    def name(self) -> str:
        """The last part of the path, unique for each checkpoint."""
        return last_part(self.path)

    @property
    def entry(self) -> tuple[int, str]:
        """The sort key of checkpoints."""
        return self.sequence, self.name


def name_of(step: int, token: int) -> str:
    """Return the name of a checkpoint's directory."""
    return f"step-{step:012d}-{token:016x}"


def last_part(path: str | os.PathLike[str]) -> str:
    """Return the name in the path of a checkpoint."""
    return os.fspath(path).rstrip("/").rsplit("/", 1)[-1]


def entry_of(sequence: int, name: str) -> str:
    """Return the path of a checkpoint's manifest. These paths sort in the order of saves."""
    return f"{PUBLISHED}/{sequence:012d}-{name}.json"


def sealed(saved: Saved) -> bytes:
    """Return the manifest of a checkpoint, with a digest of its content."""
    manifest = {
        "version": VERSION,
        "sequence": saved.sequence,
        "step": saved.step,
        "epoch": saved.epoch,
        "metadata": saved.metadata,
        "gang": saved.gang,
        "ranks": saved.ranks,
        "savedAt": saved.saved_at,
        "size": saved.size,
        "files": [vars(each) for each in saved.files],
    }
    return json.dumps({**manifest, "sha256": _digest(manifest)}).encode()


def unsealed(content: bytes, path: str) -> Saved:
    """Read the manifest of the checkpoint at a path.

    Raises ValueError if it was changed since.
    """
    try:
        manifest: dict[str, Any] = json.loads(content)
        if manifest.pop("sha256") != _digest(manifest):
            raise ValueError("its content does not match its sha256: it was changed or damaged")
        if manifest["version"] != VERSION:
            raise ValueError(f"it is of version {manifest['version']}")
        return Saved(
            step=manifest["step"],
            path=path,
            sequence=manifest["sequence"],
            files=tuple(File(**each) for each in manifest["files"]),
            epoch=manifest["epoch"],
            metadata=manifest["metadata"],
            gang=manifest["gang"],
            ranks=manifest["ranks"],
            saved_at=manifest["savedAt"],
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"it is not a manifest: {error!r}") from error


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Found:
    """The entry of a file in storage. `changed` is in seconds, by the clock of the storage."""

    size: int
    changed: float


class Place(Protocol):
    """A place for files. Names are relative to `root`, and have slashes."""

    root: str

    def local(self, name: str) -> Path | None:
        """Return the directory of a name, if it can be read without downloading."""

    def staging(self, name: str) -> contextlib.AbstractContextManager[Path]:
        """Provide an empty directory for files that `put` moves to their place."""

    def find(self, prefix: str) -> dict[str, Found]:
        """Return all files below a name, by their names relative to it."""

    def read(self, name: str) -> bytes:
        """Return a small file. Raises FileNotFoundError."""

    def write(self, name: str, content: bytes, aside: str) -> None:
        """Write a small file, whole or not at all.

        It has the name `aside` until it is complete.
        """

    def put(self, source: Path, name: str) -> None:
        """Move a file from a directory of `staging` to its place.

        The source may disappear.
        """

    def get(self, name: str, target: Path) -> None:
        """Copy a file to a local one. Raises FileNotFoundError."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def remove_all(self, prefix: str) -> None:
        """Remove all files below a name."""


def at(url: str, options: Mapping[str, Any]) -> Place:
    """Return the access to the storage that a URL names: a directory, or a bucket.

    Raises ImportError if the package for such URLs is missing.
    """
    if "://" not in url:
        return _Directory(url)
    if url.startswith("file://"):
        return _Directory(url[len("file://") :])
    return _Bucket(url, options)


class _Directory:
    """Files in a directory that all nodes reach. Each is written aside, and then renamed."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)  # noqa: PTH100 - resolve() would follow links.

    def local(self, name: str) -> Path | None:
        return self._at(name)

    @contextlib.contextmanager
    def staging(self, name: str) -> Iterator[Path]:
        # On the same file system, so that a file can be renamed to its place.
        directory = self._at(name)
        _make(directory)
        try:
            yield directory
        except Exception:
            self.remove_all(name)
            raise
        self.remove_all(name)
        # Other ranks may still have files there.
        with contextlib.suppress(OSError):
            directory.parent.rmdir()

    def find(self, prefix: str) -> dict[str, Found]:
        top, found = self._at(prefix), {}
        for folder, _, names in os.walk(top):
            for each in names:
                path = Path(folder, each)
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    name = path.relative_to(top).as_posix()
                    found[name] = Found(status.st_size, status.st_mtime)
        return found

    def read(self, name: str) -> bytes:
        return self._at(name).read_bytes()

    def write(self, name: str, content: bytes, aside: str) -> None:
        with self.staging(f"{aside}/{secrets.token_hex(8)}") as directory:
            unfinished = directory / "unfinished"
            unfinished.write_bytes(content)
            self._move(unfinished, self._at(name))

    def put(self, source: Path, name: str) -> None:
        path = self._at(name)
        if path.exists():
            raise FileExistsError(f"another rank wrote {path}, too")
        self._move(source, path)

    def get(self, name: str, target: Path) -> None:
        shutil.copyfile(self._at(name), target)

    def remove(self, name: str) -> None:
        self._at(name).unlink(missing_ok=True)

    def remove_all(self, prefix: str) -> None:
        shutil.rmtree(self._at(prefix), ignore_errors=True)

    def _at(self, name: str) -> Path:
        return Path(self.root, name)

    def _move(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A power cut must not leave a manifest without the files that it names.
        _flush(source)
        source.replace(target)
        _flush(target.parent)


class _Bucket:
    """Objects, by a file system of fsspec. Each request may be sent several times."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self.root = url.rstrip("/")
        found = importlib.import_module("fsspec").core.url_to_fs(self.root, **options)
        self._system: Any = found[0]
        self._top = str(found[1]).rstrip("/")

    def local(self, name: str) -> Path | None:  # noqa: ARG002 - as above.
        return None

    @contextlib.contextmanager
    def staging(self, name: str) -> Iterator[Path]:  # noqa: ARG002 - as above.
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as directory:
            yield Path(directory)

    def find(self, prefix: str) -> dict[str, Found]:
        top = self._at(prefix)

        def look() -> dict[str, dict[str, Any]]:
            # The listing that fsspec caches may be outdated.
            self._system.invalidate_cache()
            try:
                found: dict[str, dict[str, Any]] = self._system.find(top, detail=True)
            except FileNotFoundError:
                return {}
            return found

        return {
            path[len(top) :].lstrip("/"): Found(int(each["size"]), _changed(each))
            for path, each in _again(look).items()
            if path.startswith(f"{top}/")
        }

    def read(self, name: str) -> bytes:
        found: bytes = _again(lambda: self._system.cat_file(self._at(name)))
        return found

    def write(self, name: str, content: bytes, aside: str) -> None:  # noqa: ARG002 - as above.
        _again(lambda: self._system.pipe_file(self._at(name), content))

    def put(self, source: Path, name: str) -> None:
        _again(lambda: self._system.put_file(str(source), self._at(name)))

    def get(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        _again(lambda: self._system.get_file(self._at(name), str(target)))

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            _again(lambda: self._system.rm_file(self._at(name)))

    def remove_all(self, prefix: str) -> None:
        for each in self.find(prefix):
            self.remove(f"{prefix}/{each}")

    def _at(self, name: str) -> str:
        return f"{self._top}/{name}".rstrip("/")


def _again(request: Callable[[], Result]) -> Result:
    """Send a request until it succeeds, or has failed too often."""
    for pause in PAUSES_SECONDS:
        with contextlib.suppress(_TryAgainError):
            return _once(request)
        time.sleep(pause)
    return request()


class _TryAgainError(Exception):
    pass


def _once(request: Callable[[], Result]) -> Result:
    try:
        return request()
    except FINAL_ERRORS:
        raise
    except Exception as error:  # Each client in fsspec has errors of its own.
        logger.info("a request is sent again: %r", error)
        raise _TryAgainError from error


def at_once(do: Callable[[Item], Result], items: Collection[Item]) -> list[Result]:
    """Call a function with all items, several at the same time; raise the first error."""
    if len(items) < 2:
        return [do(each) for each in items]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(do, items))


def measured(directory: Path, name: str, rank: int) -> File:
    """Return size and digest of a file in a directory."""
    digest, size = hashlib.sha256(), 0
    with (directory / name).open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return File(name, size, digest.hexdigest(), rank)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _changed(info: Mapping[str, Any]) -> float:
    """Return when an object was written, in seconds; 0 if the file system does not say."""
    found = next((info[each] for each in CHANGED_AT if info.get(each)), 0.0)
    if isinstance(found, str):
        found = dt.datetime.fromisoformat(found.replace("Z", "+00:00"))
    return found.timestamp() if isinstance(found, dt.datetime) else float(found)


def _make(directory: Path) -> None:
    """Make a directory, even if another rank keeps removing its parent while that is empty."""
    for _ in range(100):
        with contextlib.suppress(FileNotFoundError):
            directory.mkdir(parents=True)
            return
    directory.mkdir(parents=True)
