"""A layer has the same bytes for the same files, and what an image starts is where it looks."""

import os
import tarfile
from pathlib import Path

from tools.image import layer


def packages(directory: Path, *names: str, time: int) -> Path:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (time, time))
    return directory


def test_neither_times_nor_the_order_of_files_matter(tmp_path: Path) -> None:
    first = packages(tmp_path / "1", "a/one.py", "b.py", time=10)
    second = packages(tmp_path / "2", "b.py", "a/one.py", time=2_000)
    layer.write(first, [], tmp_path / "1.tar.gz")
    layer.write(second, [], tmp_path / "2.tar.gz")

    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()


def test_all_belongs_to_root_and_can_be_read_by_all(tmp_path: Path) -> None:
    found = packages(tmp_path / "packages", "gang_scheduler/__init__.py", time=10)
    found.joinpath("gang_scheduler").chmod(0o700)
    licence = packages(tmp_path / "documents", "LICENSE", time=10) / "LICENSE"
    layer.write(found, [licence], tmp_path / "layer.tar.gz")

    with tarfile.open(tmp_path / "layer.tar.gz") as archive:
        modes = {each.name: (each.uid, oct(each.mode)) for each in archive.getmembers()}
    assert {
        "opt/py-gang-scheduler": (0, "0o755"),
        "opt/py-gang-scheduler/gang_scheduler": (0, "0o755"),
        "opt/py-gang-scheduler/gang_scheduler/__init__.py": (0, "0o644"),
        "usr/local/bin/py-gang-scheduler": (0, "0o755"),
        "usr/share/doc/py-gang-scheduler/LICENSE": (0, "0o644"),
    } == modes


def test_another_python_compiles_nothing(tmp_path: Path) -> None:
    assert not layer.compiled(tmp_path, "3.10")
