"""A file of a recording has whole lines only."""

import errno
import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gang_scheduler.recording import file_format, files
from gang_scheduler.recording.file_format import End, Gang, Line
from gang_scheduler.recording.files import RecordingFile, RotatedFiles

Write = Callable[[int, memoryview], int]
LINES = [b"one\n", b"two\n"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_what_is_written_is_in_the_file_at_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with RecordingFile(path) as file:
        file.write(LINES)
        file.write([])
        raw = path.read_bytes()
        begun = zlib.decompressobj(31).decompress(raw) if name.endswith(".gz") else raw
        assert file.size == len(raw)
    ended = path.read_bytes()

    assert b"one\ntwo\n" == begun
    if name.endswith(".gz"):
        assert b"one\ntwo\n" == zlib.decompress(ended, 31)
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"kept")

    with pytest.raises(FileExistsError):
        RecordingFile(path)
    assert b"kept" == path.read_bytes()


def test_on_a_full_disk_what_was_written_of_a_line_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    with RecordingFile(path) as file:
        file.write(LINES)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", _full(os.write))
            with pytest.raises(OSError, match="No space"):
                file.write([b"three\n", b"four\n"])
        assert b"one\ntwo\n" == path.read_bytes()
        file.write([b"five\n"])

    assert b"one\ntwo\nfive\n" == path.read_bytes()


def test_a_compressed_file_takes_nothing_more_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl.gz"
    with RecordingFile(path) as file:
        file.write(LINES)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", _full(os.write))
            with pytest.raises(OSError, match="No space"):
                file.write([b"three\n"])
        with pytest.raises(OSError, match="Bad file descriptor"):
            file.write([b"four\n"])

    assert b"one\ntwo\n" == zlib.decompressobj(31).decompress(path.read_bytes())


def _full(write: Write) -> Write:
    """Return a write that has room for three bytes."""
    room = [3]

    def some(descriptor: int, text: memoryview) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, text[: room.pop()])

    return some


def test_a_gang_takes_less_than_a_hundred_bytes(tmp_path: Path) -> None:
    """Written one line at a time, as in a cluster in which little happens."""
    dice = Random(3)  # noqa: S311 - the same seed, the same sizes.
    number, begin = 1000, 1_767_225_600
    with RecordingFile(tmp_path / "a.jsonl.gz") as file:
        for each in range(1, number + 1):
            at = begin + 37 * each
            gang = Gang(
                id=each,
                name=f"train-{''.join(dice.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}",
                namespace=f"team-{dice.randrange(20)}",
                submit=at - dice.randrange(3),
                pods=dice.choice([1, 2, 4, 8, 16]),
                gpu=8,
                cpu="96",
                memory="1Ti",
                gpu_type="NVIDIA-H100-80GB-HBM3",
                queue=f"queue-{dice.randrange(20)}",
                limit=dice.choice([None, 3600, 86_400]),
                user=f"user-{dice.randrange(80)}",
            )
            started = at - dice.randrange(90_000)
            end = End(id=dice.randrange(1, each + 1), state="Finished", started=started)
            file.write([file_format.text_of(Line(at=at, gang=gang))])
            file.write([file_format.text_of(Line(at=at + dice.randrange(30), ended=end))])

        assert file.size < 100 * number


def test_the_files_of_a_directory_are_one_recording(tmp_path: Path) -> None:
    rotated = RotatedFiles(tmp_path, 1, 9)
    for moment in (100, 200, 200):
        rotated.begin([f"{moment}\n".encode()], moment)
        rotated.write([b"more\n"])
    rotated.close()
    with RecordingFile(tmp_path / "recording-1970-01-01T00-09-00Z-0.jsonl.gz") as cut:
        cut.write([b"whole\nha"])
        (tmp_path / "recording-1970-01-01T00-09-01Z-0.jsonl.gz").touch()
        found = files.content_of(tmp_path)

    assert b"100\nmore\n200\nmore\n200\nmore\nwhole\n" == found


def test_a_file_that_is_deleted_while_it_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotated = RotatedFiles(tmp_path, 1, 9)
    for moment in (100, 200):
        rotated.begin([f"{moment}\n".encode()], moment)
    listed = files.in_directory(tmp_path)
    monkeypatch.setattr(files, "in_directory", lambda _: listed)
    listed[0].unlink()

    assert b"200\n" == files.content_of(tmp_path)


def test_a_directory_without_recordings_is_reported(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl.gz").touch()

    with pytest.raises(ValueError, match="has no file of a recording"):
        files.content_of(tmp_path)


def test_a_broken_file_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "recording-1970-01-01T00-09-01Z-0.jsonl.gz").write_bytes(b"no gzip")

    with pytest.raises(ValueError, match=r"recording-1970-.*-0\.jsonl\.gz is no whole gzip file"):
        files.content_of(tmp_path)


def test_the_oldest_files_are_deleted_before_another_one_begins(tmp_path: Path) -> None:
    rotated = RotatedFiles(tmp_path, 1, 2)
    for moment in range(100, 104):
        rotated.begin([f"{moment}\n".encode()], moment)
        rotated.close()

    assert b"102\n103\n" == files.content_of(tmp_path)


def test_a_file_is_full_only_once_it_has_grown(tmp_path: Path) -> None:
    rotated = RotatedFiles(tmp_path, 10, 2)
    assert not rotated.is_full
    rotated.begin([os.urandom(5000) + b"\n"], 1)
    assert not rotated.is_full
    rotated.write([os.urandom(5500) + b"\n"])
    assert rotated.is_full


def test_a_file_that_cannot_be_begun_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotated = RotatedFiles(tmp_path, 10, 2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _full(os.write))
        with pytest.raises(OSError, match="No space"):
            rotated.begin([b"one\n"], 1)

    assert [] == [*tmp_path.iterdir()]
    assert rotated.path is None
    rotated.begin([b"one\n"], 1)
    assert b"one\n" == files.content_of(tmp_path)
