"""The operator records, whatever the disk does: it is told, and nothing waits for it."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gang_scheduler.recording import file_format, files, recorder
from gang_scheduler.recording.file_format import Recorded
from gang_scheduler.recording.files import RotatedFiles
from gang_scheduler.recording.objects import Objects
from gang_scheduler.recording.recorder import Recorder
from gang_scheduler.settings.policy import Policy
from support import metric_values
from support.in_memory_cluster import InMemoryCluster

MEGABYTE = 10**6


class Recording:
    """A recorder of a cluster in memory, whose disk is waited for after each look."""

    def __init__(self, directory: Path, most_bytes: int = MEGABYTE, most_files: int = 3) -> None:
        self.cluster = InMemoryCluster(100)
        self.directory = directory
        self.files = RotatedFiles(directory, most_bytes, most_files)
        begins = partial(recorder.header_of, self.cluster.cache, Policy(), profile_of="ops/gangs")
        self.recorder = Recorder(
            *(self.cluster.cache, Objects(), self.files),
            begins=begins,
            clock=lambda: self.cluster.now,
        )

    async def look(self, later: int = 1) -> None:
        """Let the scheduler decide, look, and wait until all is written."""
        self.cluster.cycle(later)
        await self.recorder.look()
        await self.written()
        self.recorder._take_in()

    async def written(self) -> None:
        """Wait for the disk."""
        if (writing := self.recorder._writing) is not None:
            await writing

    def gang(self, name: str) -> None:
        """Let a gang come whose members end soon."""
        self.cluster.gang(name, 1)

    def read(self) -> Recorded:
        """Return all that is recorded."""
        return file_format.read(files.content_of(self.directory))

    def names(self) -> list[str]:
        """Return the files, the oldest first."""
        return [each.name for each in files.in_directory(self.directory)]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again without a pause."""
    monkeypatch.setattr(recorder, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(recorder, "LONGEST_PAUSE_SECONDS", 0.0)


def failing() -> float:
    return metric_values.counted("pgs_recording_failing")


def fail_writes(patch: pytest.MonkeyPatch, number: int) -> None:
    """Let each write to a file fail, as on a disk with this error."""

    def refuse(_descriptor: int, _text: Any) -> int:
        raise OSError(number, os.strerror(number))

    patch.setattr(os, "write", refuse)


async def test_gangs_are_recorded_with_their_ends(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.gang("early")
    await recording.look()
    recording.gang("late")
    await recording.look()
    recording.cluster.end("early-0", "Succeeded")
    await recording.look(later=60)

    found = recording.read()
    assert "ops/gangs" == found.header.profile_of
    assert {"early": True, "late": False} == {
        each.gang.name: each.end is not None for each in found.gangs
    }
    assert not found.is_cut


async def test_a_gang_is_looked_at_once_more_after_it_has_changed(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    await recording.look()
    recording.gang("train")
    queue = recording.cluster.cache.gang_queue
    recording.recorder.changed(queue.changed)
    queue.changed.clear()
    await recording.recorder.look()  # It is in no group yet.
    await recording.written()
    recording.cluster.cycle()
    queue.changed.clear()
    await recording.look()

    assert ["train"] == [each.gang.name for each in recording.read().gangs]


async def test_a_full_file_is_followed_by_one_with_all_that_is_there(tmp_path: Path) -> None:
    recording = Recording(tmp_path, most_bytes=1)
    recording.gang("stays")
    await recording.look()
    (first,) = recording.names()
    for number in range(100):
        recording.gang(f"g{number:03}")
        await recording.look()
        recording.cluster.end(f"g{number:03}-0", "Succeeded")
    await recording.look()

    names = recording.names()
    assert 3 == len(names)
    assert first not in names
    last = file_format.read(file_format.inflated((tmp_path / names[-1]).read_bytes()))
    assert "stays" in {each.gang.name for each in last.gangs}
    # All that ended has its end, whichever file it is in.
    found = recording.read()
    assert ["stays"] == [each.gang.name for each in found.gangs if each.end is None]
    assert not any(each.is_lost for each in found.gangs)


async def test_other_files_of_the_directory_are_left_alone(tmp_path: Path) -> None:
    others = [tmp_path / "week.jsonl.gz", tmp_path / "recording-old.jsonl.gz"]
    for each in others:
        each.write_text("mine")
    recording = Recording(tmp_path, most_bytes=1, most_files=2)
    for number in range(80):
        recording.gang(f"g{number:03}")
        await recording.look()

    assert 2 == len(recording.names())
    assert ["mine", "mine"] == [each.read_text() for each in others]


@pytest.mark.parametrize(
    ("number", "name"), [(errno.ENOSPC, "ENOSPC"), (errno.EROFS, "EROFS"), (errno.EIO, "EIO")]
)
async def test_a_disk_that_fails_is_reported_once_and_recorded_to_again(
    number: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    recording.gang("early")
    await recording.look()
    before = metric_values.counted("pgs_recording_errors_total", error=name)
    with monkeypatch.context() as patch, capture_logs() as logged:
        fail_writes(patch, number)
        recording.gang("late")
        for _ in range(4):
            await recording.look()
            assert 1 == failing()
    told = [each for each in logged if each["event"] == "recording_failed"]
    assert [(os.strerror(number), str(tmp_path))] == [
        (each["why"], each["directory"]) for each in told
    ]
    assert metric_values.counted("pgs_recording_errors_total", error=name) >= before + 3

    with capture_logs() as logged:
        await recording.look()
    assert ["recording_again"] == [each["event"] for each in logged]
    assert 0 == failing()
    assert {"early", "late"} == {each.gang.name for each in recording.read().gangs}
    # What could not be begun has left no file.
    assert 2 == len(recording.names())


async def test_a_directory_that_comes_later_is_recorded_to(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "volume")
    recording.gang("train")
    await recording.look()
    assert 1 == failing()
    (tmp_path / "volume").mkdir()
    await recording.look()

    assert 0 == failing()
    assert ["train"] == [each.gang.name for each in recording.read().gangs]


async def test_after_a_file_was_deleted_there_is_another_one(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.gang("early")
    await recording.look()
    (tmp_path / recording.names()[0]).unlink()
    recording.gang("late")
    await recording.look()
    await recording.look()

    assert {"early", "late"} == {each.gang.name for each in recording.read().gangs}


async def test_a_disk_that_hangs_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    await recording.look()
    goes_on = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _hanging(goes_on, os.write))
        patch.setattr(recorder, "SLOW_SECONDS", 0.0)
        for number in range(3):
            recording.gang(f"g{number}")
            recording.cluster.cycle(1)
            await recording.recorder.look()
            await asyncio.sleep(0.01)
        await recording.recorder.look()
        assert 1 == failing()
        goes_on.set()
        await recording.written()
    await recording.look()

    # They waited, and nothing is missing: each has its own time.
    assert [0, 1, 2] == [
        each.gang.submit - recording.read().gangs[0].gang.submit for each in recording.read().gangs
    ]
    assert 1 == len(recording.names())
    assert 0 == failing()


async def test_what_waits_for_a_disk_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    await recording.look()
    goes_on = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _hanging(goes_on, os.write))
        patch.setattr(recorder, "MOST_WAITING", 200)
        for number in range(6):
            recording.gang(f"g{number}")
            recording.cluster.cycle(1)
            await recording.recorder.look()
        assert 1 == failing()
        goes_on.set()
        await recording.written()
    await recording.look()
    await recording.look()

    assert 2 == len(recording.names())
    assert 6 == len(recording.read().gangs)


async def test_the_end_of_the_process_writes_the_rest(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.gang("early")
    recording.cluster.cycle()
    work = asyncio.create_task(recording.recorder.run())
    await asyncio.sleep(0.05)
    recording.gang("late")
    recording.cluster.cycle(1)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)

    assert {"early", "late"} == {each.gang.name for each in recording.read().gangs}


async def test_an_internal_error_ends_no_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    recording.gang("train")
    with monkeypatch.context() as patch:
        patch.setattr(Objects, "lines", _broken)
        await recording.look()
        assert 1 == failing()
    await recording.look()

    assert ["train"] == [each.gang.name for each in recording.read().gangs]
    assert 0 == failing()


def _broken(_self: Objects, _now: int) -> Any:
    raise KeyError("broken")


def _hanging(goes_on: threading.Event, write: Callable[..., int]) -> Callable[..., int]:
    def hang(descriptor: int, text: Any) -> int:
        goes_on.wait(30)
        return write(descriptor, text)

    return hang
