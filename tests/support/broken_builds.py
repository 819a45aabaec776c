"""Builds of the operator that are broken on purpose: copies of the package, each with a patch.

A patch is a unified diff below a line that says what is broken. It is found by its text, wherever
in its file that is; what it takes out or stands between must be there once.
"""

import shutil
from pathlib import Path
from typing import Final, NamedTuple

PROJECT: Final = Path(__file__).parents[2]
OPERATOR: Final = PROJECT / "operator"
PATCHES: Final = PROJECT / "tests" / "broken_builds"


class DoesNotApplyError(Exception):
    """The code that a patch breaks is not there any more, or there twice."""


class Hunk(NamedTuple):
    """Lines of a file, and what stands there instead once it is broken."""

    file: str
    before: str
    after: str


def names() -> list[str]:
    """Return the names of all broken builds."""
    return sorted(path.stem for path in PATCHES.glob("*.patch"))


def hunks(text: str) -> list[Hunk]:
    """Return the parts of a patch."""
    found: list[Hunk] = []
    file = ""
    for line in text.splitlines(keepends=True):
        mark, rest = line[:1], line[1:]
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/").strip()
        elif line.startswith("--- "):
            continue
        elif line.startswith("@@"):
            found.append(Hunk(file, "", ""))
        elif found:
            hunk = found[-1]
            before = hunk.before + (rest if mark in " -" else "")
            found[-1] = Hunk(file, before, hunk.after + (rest if mark in " +" else ""))
    return found


def broken(code: str, hunk: Hunk) -> str:
    """Return the code of a file with a part of a patch. Raises DoesNotApplyError."""
    if code.count(hunk.before) != 1:
        raise DoesNotApplyError(f"{hunk.file}: {code.count(hunk.before)} times:\n{hunk.before}")
    return code.replace(hunk.before, hunk.after)


def files(name: str) -> dict[str, str]:
    """Return the code of the files that a build breaks, below operator/."""
    found: dict[str, str] = {}
    for hunk in hunks((PATCHES / f"{name}.patch").read_text()):
        code = found.get(hunk.file) or (OPERATOR / hunk.file).read_text()
        found[hunk.file] = broken(code, hunk)
    return found


def make(name: str, directory: Path) -> Path:
    """Return a copy of operator/ with the patch of a name, in an empty directory."""
    copy = directory / name
    shutil.copytree(OPERATOR, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file, code in files(name).items():
        (copy / file).write_text(code)
    return copy
