"""The code of the last release, from the history of this checkout."""

import subprocess
import tarfile
from pathlib import Path

from tools.chaos.site import CHECKOUT


def unpacked(directory: Path) -> Path | None:
    """Return the root of the last release's code, unpacked; None without a history.

    That is the newest tag. While there is none, the commit that told users of something new last:
    the last that changed the changelog.
    """
    revision = _git("describe", "--tags", "--abbrev=0") or _git(
        "log", "-1", "--format=%H", "--", "CHANGELOG.md"
    )
    if not revision:
        return None
    directory.mkdir()
    archive = directory / "code.tar"
    _git("archive", f"--output={archive}", revision, "operator")
    with tarfile.open(archive) as file:
        file.extractall(directory, filter="data")
    return directory / "operator"


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(CHECKOUT), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
