"""For training scripts: where checkpoints are kept, so that no reader ever sees half of one.

    with Checkpoints() as checkpoints:
        store = Store("s3://bucket/llama", checkpoints)
        if checkpoints.resume.path:
            with store.load(checkpoints.resume.path) as directory:
                model.load(directory / "model.npz")

        def save(done):
            saved = store.save(done, lambda directory: model.write(directory / "model.npz"))
            store.keep(last=3, every=10_000)
            return saved.path

`gang_scheduler.checkpoint` says when to save, and this module says where. It is no part of the
scheduler. It needs Python 3.9 and its standard library, and fsspec with s3fs, gcsfs or adlfs if
checkpoints are kept in a bucket. The file can be copied next to a script, with `checkpoint_files`.

A store has these names below its URL:

    step-000000001200-5f0c.../     the files of one checkpoint, as they were written
    published/                     a manifest of each checkpoint, which is written last
    parts/, staging/, pruned/      files and marks of saves and prunes that are not finished

Objects have no rename, so each save writes to a name that was never used. Its manifest, one small
object, makes it a checkpoint. A save that is killed before that leaves litter, which `prune`
removes. No decision depends on the clock of a client.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fnmatch
import itertools
import json
import logging
import math
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from gang_scheduler.checkpoint import Checkpoints

if TYPE_CHECKING or __package__:
    from gang_scheduler import checkpoint_files as files
else:
    # Copied next to a script.
    import checkpoint_files as files

File = files.File
Saved = files.Saved

PARTS, STAGING, PRUNED = "parts", "staging", "pruned"

PATH_CHARACTERS = 1024
"""The scheduler keeps no longer path."""
DAY_SECONDS = 86_400.0

logger = logging.getLogger(__name__)


class NotSavedError(Exception):
    """A checkpoint was not published: on this rank or on another one something failed."""


class NotPublishedError(LookupError):
    """The store has no checkpoint of that name or step."""


class DamagedError(Exception):
    """A published checkpoint lacks a file, or the content of a file has changed."""


Which = Union[Saved, str, "os.PathLike[str]", int]


class Store:
    """The checkpoints of one gang, at a URL: s3://, gs://, az://, file://, or a directory.

    Each checkpoint is reported to `checkpoints`, for the status of the PodGroup; `checkpoints` also
    has `rank` and `agree`. `ranks` is how many ranks save, by default WORLD_SIZE, else 1; all of
    them call `save` equally often. `gang` is by default GANG. `options` are options of the file
    system in fsspec, for example `{"endpoint_url": "https://minio.example.com"}`.

    Raises ValueError for a URL that is too long to be reported, for a rank beyond `ranks`, and for
    several ranks that cannot agree; ImportError if the packages for such a URL are missing.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        checkpoints: Checkpoints | None = None,
        *,
        rank: int | None = None,
        ranks: int | None = None,
        agree: Callable[[int], int] | None = None,
        gang: str | None = None,
        options: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._checkpoints = checkpoints
        self.rank = rank if rank is not None else checkpoints.rank if checkpoints else 0
        self.ranks = int(environ.get("WORLD_SIZE") or 1) if ranks is None else ranks
        self.gang = environ.get("GANG", "") if gang is None else gang
        if not 0 <= self.rank < self.ranks:
            raise ValueError(f"rank {self.rank} of {self.ranks}: say how many `ranks` save")
        if agree is None and checkpoints is not None:
            agree = checkpoints.agree
        if self.ranks > 1 and agree in (None, int):
            raise ValueError(f"{self.ranks} ranks need `agree`, as in Checkpoints(agree=...)")
        self._agree = agree or int
        self._files = files.at(os.fspath(url), options or {})
        if len(self._path_of(files.name_of(0, 0))) > PATH_CHARACTERS:
            raise ValueError(f"the URL of a store is longer than {PATH_CHARACTERS} characters")
        self._clock = clock
        # Manifests never change.
        self._known: dict[str, Saved] = {}

    def save(
        self,
        step: int,
        write: Callable[[Path], object],
        *,
        epoch: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Saved:
        """Publish the files that `write` puts into an empty directory; return when that is done.

        Each rank calls it, and it returns when all ranks are done. No two ranks may write files of
        the same name; a rank may write none. Rank 0 publishes when all files are there, and reports
        to `checkpoints`. Only rank 0's `metadata` counts; it may have any JSON values, and numbers
        of NumPy and PyTorch.

        Raises errors of `write`, and NotSavedError if another rank failed. Then nothing is
        published, unless the answer to the very last request was lost.
        """
        step = int(step)
        if step < 0:
            raise ValueError(f"the step of a checkpoint must be at least 0, not {step}")
        sequence, name = self._begin(step)
        said: dict[str, Any] = {}
        written: list[File] = []

        def write_own() -> None:
            said.update(_plain(metadata or {}))
            written.extend(self._write(name, write))

        try:
            self._together(write_own)
        except Exception:
            # No rank writes any more, and no other save has this name.
            if self.rank == 0:
                with contextlib.suppress(Exception):
                    self._remove_files(name)
            raise

        def publish() -> None:
            if self.rank != 0:
                return
            saved = Saved(
                step=step,
                path=self._path_of(name),
                sequence=sequence,
                files=self._all_files(name, written),
                epoch=epoch,
                metadata=said,
                gang=self.gang,
                ranks=self.ranks,
                saved_at=_rfc3339(self._clock()),
            )
            self._publish(saved)
            if self._checkpoints is not None:
                self._checkpoints.saved(step, saved.path)

        self._together(publish)
        if self.rank == 0 and self.ranks > 1:
            with contextlib.suppress(Exception):
                self._files.remove_all(f"{PARTS}/{name}")
        saved = self._manifest(sequence, name)
        if saved is None:
            raise NotSavedError(f"{self._path_of(name)} was deleted at once")
        return saved

    def latest(self) -> Saved | None:
        """Return the last complete checkpoint, None if there is none. Reads none of its files."""
        return next(self._newest_first(self._entries()), None)

    def list(self) -> Sequence[Saved]:
        """Return all complete checkpoints, the oldest first."""
        return [*self._newest_first(self._entries())][::-1]

    @contextlib.contextmanager
    def load(self, which: Which, only: str = "*") -> Iterator[Path]:
        """Provide the directory of a checkpoint, given its path, its step or a result of `latest`.

        Each file is first compared with its digest. From a bucket, the files are fetched into a
        temporary directory (TMPDIR sets where), which is removed at the end. `only` is a pattern of
        file names: a rank need not fetch the shards of all others.

        Raises NotPublishedError, and DamagedError if files are missing or have changed.
        """
        saved = self._find(which)
        wanted = [each for each in saved.files if fnmatch.fnmatchcase(each.name, only)]
        if not wanted and saved.files:
            raise NotPublishedError(f"{saved.path} has no file like {only}")
        in_place = self._files.local(saved.name)
        with contextlib.ExitStack() as stack:
            directory = in_place or Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="checkpoint-"))
            )

            def fetch(file: File) -> None:
                try:
                    if in_place is None:
                        self._files.get(f"{saved.name}/{file.name}", directory / file.name)
                    found = files.measured(directory, file.name, file.rank)
                except FileNotFoundError:
                    raise DamagedError(f"{saved.path} has lost {file.name}") from None
                if found != file:
                    raise DamagedError(f"{file.name} of {saved.path} is not what was written")

            files.at_once(fetch, wanted)
            yield directory

    def keep(
        self,
        last: int = 3,
        every: int | None = None,
        best: Callable[[Saved], float | None] | None = None,
    ) -> Sequence[str]:
        """Delete all checkpoints but the `last` ones, one for each `every` steps, and the `best`.

        `best` returns a number for a checkpoint, or None; the checkpoint with the least number is
        kept. For example: `lambda saved: saved.metadata.get("loss")`. The checkpoint from which the
        gang began, and the one that the scheduler knows, always stay.

        Returns the deleted paths. Only rank 0 deletes. If a deletion fails, there is a warning.
        Raises ValueError if `last` or `every` is less than 1.
        """
        if last < 1 or (every is not None and every < 1):
            raise ValueError("`last` and `every` are at least 1")
        if self.rank != 0:
            return []
        try:
            published, whole = self._superseded(last)
        except Exception as error:  # Clients in fsspec have errors of their own.
            logger.warning("no old checkpoint is deleted: %r", error)
            return []
        kept = self._in_use() | {each.name for each in whole}
        if every is not None:
            kept.update(each.name for each in published if each.step % every == 0)
        if best is not None:
            rated = [(best(each), each) for each in published]
            numbers = [
                (rating, -each.sequence, each.name)
                for rating, each in rated
                if rating is not None and not math.isnan(rating)
            ]
            # Among equal ones, the newest.
            kept.update(name for _, _, name in sorted(numbers)[:1])
        superseded = [each for each in published if each.name not in kept]
        return [each.path for each in superseded if self._delete(each)]

    def prune(self, older_than: float = DAY_SECONDS, *, dry_run: bool = False) -> Sequence[str]:
        """Remove files of killed writers to which nothing was added for `older_than` seconds.

        Returns the paths. If a save to one of them is still running, it fails, and is not
        published. The clock is the storage's.
        """
        published = {name for _, name in self._entries()}
        litter = {
            name: changed
            for name, changed in self._last_changes().items()
            if name not in published and files.NAME.fullmatch(name)
        }
        if not litter:
            return []
        now = self._now()
        old = sorted(name for name, changed in litter.items() if now - changed >= older_than)
        return [self._path_of(each) for each in old if dry_run or self._remove_unpublished(each)]

    # Saving, in the order of its steps.

    def _begin(self, step: int) -> tuple[int, str]:
        """Return the sequence number of a save, and a name that was never used, for all ranks."""
        sequence, high, low = 0, 0, 0
        error: Exception | None = None
        if self.rank == 0:
            high, low = 1 + secrets.randbits(30), secrets.randbits(30)
            try:
                sequence = 1 + max((number for number, _ in self._entries()), default=0)
            except Exception as caught:  # Raised below: the other ranks wait for a number.
                error = caught
        # The maximum takes the numbers of rank 0, since the other ranks contribute none. A rank of
        # an earlier start of the gang that still runs takes no part. No number needs over 31 bits.
        sequence, high, low = self._agree(sequence), self._agree(high), self._agree(low)
        if error is not None:
            raise error
        if sequence == 0 or high == 0:
            raise NotSavedError("rank 0 cannot read what is published, or the ranks do not agree")
        return sequence, files.name_of(step, high << 30 | low)

    def _together(self, do: Callable[[], None]) -> None:
        """Run an action on all ranks; raise on all of them if it failed on one."""
        error: Exception | None = None
        try:
            do()
        except Exception as caught:  # Told to the other ranks first, which would wait for ever.
            error = caught
        failed = self._agree(0 if error is None else 1)
        if error is not None:
            raise error
        if failed:
            raise NotSavedError("another rank could not save its part")

    def _write(self, name: str, write: Callable[[Path], object]) -> Sequence[File]:
        """Let the script write files, move them to the store, and return their list."""
        with self._files.staging(f"{STAGING}/{name}/rank-{self.rank:05d}") as directory:
            write(directory)
            found = sorted(
                each.relative_to(directory).as_posix()
                for each in directory.rglob("*")
                if each.is_file()
            )
            written = files.at_once(lambda each: files.measured(directory, each, self.rank), found)
            files.at_once(lambda each: self._files.put(directory / each, f"{name}/{each}"), found)
        if self.ranks > 1:
            part = json.dumps([vars(each) for each in written])
            self._write_small(self._part(name, self.rank), part.encode(), name)
        return written

    def _all_files(self, name: str, own: Sequence[File]) -> tuple[File, ...]:
        if self.ranks == 1:
            return tuple(own)
        parts = files.at_once(
            lambda rank: self._files.read(self._part(name, rank)), range(self.ranks)
        )
        found = tuple(File(**each) for part in parts for each in json.loads(part))
        ranks: dict[str, int] = {}
        for each in found:
            first = ranks.setdefault(each.name, each.rank)
            if first != each.rank:
                raise NotSavedError(f"ranks {first} and {each.rank} both wrote {each.name}")
        return found

    def _publish(self, saved: Saved) -> None:
        """Write the manifest, then check that no prune took the files for leftovers meanwhile.

        A prune first marks a name, and then checks whether it is published. So in any order, at
        least one of the two sees the other.
        """
        self._write_small(files.entry_of(*saved.entry), files.sealed(saved), saved.name)
        if self._files.find(f"{PRUNED}/{saved.name}") or not self._is_whole(saved):
            self._files.remove(files.entry_of(*saved.entry))
            raise NotSavedError(f"{saved.path} was pruned, or not all of its files are there")
        self._known[saved.name] = saved

    def _write_small(self, where: str, content: bytes, name: str) -> None:
        self._files.write(where, content, f"{STAGING}/{name}")

    # Looking.

    def _entries(self) -> Sequence[tuple[int, str]]:
        """Return sequence and name of the published checkpoints, oldest first, with one request."""
        found = (files.ENTRY.fullmatch(each) for each in self._files.find(files.PUBLISHED))
        return sorted((int(each[1]), each[2]) for each in found if each)

    def _manifest(self, sequence: int, name: str) -> Saved | None:
        """Return the content of a manifest; None if it is gone or damaged."""
        if name not in self._known:
            try:
                content = self._files.read(files.entry_of(sequence, name))
                self._known[name] = files.unsealed(content, self._path_of(name))
            except FileNotFoundError:
                return None
            except ValueError as error:
                logger.warning("the manifest of %s cannot be read: %s", name, error)
                return None
        return self._known[name]

    def _newest_first(self, entries: Sequence[tuple[int, str]]) -> Iterator[Saved]:
        for entry in reversed(entries):
            saved = self._manifest(*entry)
            if saved is None:
                continue
            if self._is_whole(saved):
                yield saved
            else:
                logger.warning("%s lacks files, and is passed over", saved.path)

    def _is_whole(self, saved: Saved) -> bool:
        found = self._files.find(saved.name)
        return all(
            each.name in found and found[each.name].size == each.size for each in saved.files
        )

    def _find(self, which: Which) -> Saved:
        if isinstance(which, Saved):
            return which
        if isinstance(which, int):
            for saved in self._newest_first(self._entries()):
                if saved.step == which:
                    return saved
            raise NotPublishedError(f"{self._files.root} has no checkpoint of step {which}")
        wanted = files.last_part(which)
        for sequence, name in self._entries():
            if name == wanted and (known := self._manifest(sequence, name)) is not None:
                return known
        raise NotPublishedError(f"{os.fspath(which)} is no checkpoint that is published")

    # Deleting.

    def _in_use(self) -> set[str]:
        """Return the checkpoints from which the gang would continue if it were evicted now."""
        if self._checkpoints is None:
            return set()
        return {
            files.last_part(each)
            for each in (self._checkpoints.resume.path, self._checkpoints.known)
        }

    def _superseded(self, last: int) -> tuple[Sequence[Saved], Sequence[Saved]]:
        """Return the checkpoints published up to the last whole one, and the `last` whole ones."""
        entries = self._entries()
        whole = [*itertools.islice(self._newest_first(entries), last)]
        manifests = [self._manifest(*each) for each in entries if whole and each <= whole[0].entry]
        return [each for each in manifests if each is not None], whole

    def _delete(self, saved: Saved) -> bool:
        """Delete a checkpoint, or warn.

        If this is killed after the first request, `prune` removes the rest.
        """
        self._known.pop(saved.name, None)
        try:
            self._files.remove(files.entry_of(*saved.entry))
            self._remove_files(saved.name)
        except Exception as error:  # As above.
            logger.warning("%s is not deleted, or not all of it: %r", saved.path, error)
            return False
        return True

    def _remove_files(self, name: str) -> None:
        """Remove all files of a name, and its marks last: until then, the marks warn a writer."""
        for where in (name, f"{STAGING}/{name}", f"{PARTS}/{name}", f"{PRUNED}/{name}"):
            self._files.remove_all(where)

    def _last_changes(self) -> dict[str, float]:
        """Return when something was last added to each name, published or not."""
        changes: dict[str, float] = {}
        for path, found in self._files.find("").items():
            first, _, rest = path.partition("/")
            name = rest.partition("/")[0] if first in (PARTS, STAGING, PRUNED) else first
            changes[name] = max(changes.get(name, 0.0), found.changed)
        return changes

    def _remove_unpublished(self, name: str) -> bool:
        mark = f"{PRUNED}/{name}/{secrets.token_hex(8)}"
        self._write_small(mark, b"", name)
        if any(name == each for _, each in self._entries()):
            self._files.remove(mark)
            return False
        self._remove_files(name)
        return True

    def _now(self) -> float:
        """Return the time by the clock of the storage."""
        # No checkpoint has this name; if this is killed, `prune` removes what is left.
        name = files.name_of(0, secrets.randbits(61))
        self._write_small(f"{PARTS}/{name}/clock", b"", name)
        try:
            return self._files.find(f"{PARTS}/{name}")["clock"].changed
        finally:
            self._files.remove_all(f"{PARTS}/{name}")

    # Names.

    def _path_of(self, name: str) -> str:
        return f"{self._files.root}/{name}"

    def _part(self, name: str, rank: int) -> str:
        return f"{PARTS}/{name}/rank-{rank:05d}.json"


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value as JSON would return it to a reader of the manifest."""
    # Scalars of NumPy and PyTorch, for example a loss, have `item`.
    text = json.dumps(dict(metadata), default=lambda each: each.item())
    found: dict[str, Any] = json.loads(text)
    return found


def _rfc3339(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
