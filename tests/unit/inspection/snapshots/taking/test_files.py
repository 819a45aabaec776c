"""Files of snapshots: the same bytes for the same objects, whole or not at all."""

import gzip
from pathlib import Path

import pytest

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.inspection.snapshots import taking
from gang_scheduler.inspection.snapshots.taking import PLACES, Line


def test_compressed_it_is_the_same_bytes_at_any_time() -> None:
    packed = [taking.packed([b"a\n", b"b\n"]) for _ in range(2)]

    assert packed[0] == packed[1]
    assert b"\0\0\0\0" == packed[0][4:8]
    assert b"a\nb\n" == gzip.decompress(packed[0])


def test_objects_are_counted_by_kind() -> None:
    places = [PLACES[each.name] for each in (PODS, NODES, PODS)]

    assert {"nodes": 1, "pods": 2} == taking.counts(Line(each, "", "", "", b"") for each in places)


def test_a_file_is_for_its_owner(tmp_path: Path) -> None:
    taking.write_files(b"x", tmp_path / "s")

    assert (b"x", 0o600) == ((tmp_path / "s").read_bytes(), (tmp_path / "s").stat().st_mode & 0o777)


def test_a_file_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"before")

    with pytest.raises(TypeError):
        taking.write_files("text", tmp_path / "s")  # type: ignore[arg-type]  # What breaks it off.

    assert [b"before"] == [each.read_bytes() for each in tmp_path.iterdir()]
