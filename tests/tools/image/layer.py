"""Writes a directory of packages as one layer of an image."""

import compileall
import gzip
import io
import py_compile
import sys
import tarfile
from pathlib import Path

# Where the packages are in the image: PYTHONPATH names it.
HOME = "opt/py-gang-scheduler"
COMMAND = "usr/local/bin/py-gang-scheduler"
DOCUMENTS = "usr/share/doc/py-gang-scheduler"
SCRIPT = b"""#!/usr/bin/env python3
from gang_scheduler.cli import main

main()
"""


def compiled(packages: Path, python: str) -> bool:
    """Compile the packages to bytecode, and return whether that was possible.

    An image may be read-only, so each start would compile them again. Only a Python of the same
    minor version can do it.
    """
    if python != f"{sys.version_info.major}.{sys.version_info.minor}":
        return False
    return bool(
        compileall.compile_dir(
            packages,
            quiet=2,
            stripdir=str(packages),
            prependdir=f"/{HOME}",
            # Times of files are not kept in a layer.
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    )


def write(packages: Path, documents: list[Path], target: Path) -> None:
    """Write the layer as tar.gz: the same bytes for the same files, whenever they were made."""
    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add_directory(archive, HOME)
        for path in sorted(packages.rglob("*")):
            name = f"{HOME}/{path.relative_to(packages)}"
            if path.is_dir():
                _add_directory(archive, name)
            else:
                _add(archive, name, path.read_bytes(), 0o644)
        _add(archive, COMMAND, SCRIPT, 0o755)
        for path in documents:
            _add(archive, f"{DOCUMENTS}/{path.name}", path.read_bytes(), 0o644)


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _add_directory(archive: tarfile.TarFile, name: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    archive.addfile(entry)
