"""Find the programs of the control plane: assets, PATH, our cache, and only then a build."""

import os
import shutil
import subprocess
from pathlib import Path

from tools.controlplane import builds

NAMES = tuple(builds.SOURCES)
VERSION_COMMANDS = {"helm": ("version", "--short"), "crane": ("version",)}


def find(name: str, say: builds.Say = builds.say_on_stderr) -> Path:
    """Return the path of one program, built where it is found nowhere. Minutes when cold."""
    return found(name) or builds.build(name, say)


def found(name: str) -> Path | None:
    """Return the path of one program, or None where it would have to be built."""
    return _in_assets(name) or _on_path(name) or _in_cache(name)


def pinned(name: str) -> Path | None:
    """Return the path of one program in the version that we pin, or None where it is not built."""
    return _in_assets(name) or _in_cache(name)


def _in_assets(name: str) -> Path | None:
    # The directory was named on purpose, so its versions are not questioned.
    directory = os.environ.get("KUBEBUILDER_ASSETS")
    candidate = Path(directory) / name if directory else None
    return candidate if candidate and os.access(candidate, os.X_OK) else None


def _on_path(name: str) -> Path | None:
    found = shutil.which(name)
    return Path(found) if found and _is_usable(name, found) else None


def _in_cache(name: str) -> Path | None:
    path = builds.cached_path(name)
    return path if path.exists() else None


def _is_usable(name: str, program: str) -> bool:
    """Say whether a program on PATH has the minor version we pin; any kubectl will do."""
    if name == "kubectl":
        return True
    wanted = _minor_of_release(name)
    try:
        shown = subprocess.run(
            [program, *VERSION_COMMANDS.get(name, ("--version",))],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    # Every one of them shows its version as a word of its own: "v1.2.3" or "1.2.3".
    return any(word.removeprefix("v").startswith(wanted) for word in shown.split())


def _minor_of_release(name: str) -> str:
    """Return what the version of a release begins with that is like the one we pin, as 1.2."""
    major, minor, _ = builds.pinned_version(name).removeprefix("v").split(".", 2)
    if name in {"prometheus", "promtool"}:
        # As a Go module, Prometheus 3.5 is 0.305.
        major, minor = str(int(minor) // 100), str(int(minor) % 100)
    return f"{major}.{minor}."
