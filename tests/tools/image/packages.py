"""Installs what an image holds into a directory, for a platform that need not be ours."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[3]
# Wheels for these run on a base image with glibc 2.28 or newer, the newest first.
GLIBC = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
MACHINES = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
OF_THE_BUILD = (
    *("pyproject.toml", "README.md", "LICENSE", "NOTICE"),
    "operator/gang_auditor",
    "operator/gang_scheduler",
)


def install(platform: str, python: str, target: Path) -> None:
    """Install the locked packages and ours, as wheels for a platform and a minor version of Python.

    Nothing is installed of which no hash is known, and nothing is compiled from source but ours,
    which is the same on each platform. Raises CalledProcessError with the words of pip.
    """
    machine = MACHINES[platform]
    _pip(
        *("install", "--require-hashes", "--requirement", str(PROJECT / "requirements.lock")),
        *("--only-binary=:all:", "--implementation=cp", f"--python-version={python}"),
        *(f"--platform={glibc}_{machine}" for glibc in GLIBC),
        *("--no-compile", f"--target={target}"),
    )
    # Scripts begin with the path of the Python that installed them.
    shutil.rmtree(target / "bin")
    with tempfile.TemporaryDirectory() as wheels:
        wheel_of_ours(Path(wheels))
        # By name: pip would note the path of a file that is installed.
        _pip(
            *("install", "--no-deps", "--no-index", f"--find-links={wheels}"),
            *("--no-compile", f"--target={target}", "py-gang-scheduler"),
        )
    shutil.rmtree(target / "bin")


def wheel_of_ours(wheels: Path) -> Path:
    """Build the wheel of the package into a directory, with locked tools, and return its file."""
    with tempfile.TemporaryDirectory() as directory:
        backend, source = Path(directory, "backend"), Path(directory, "source")
        _pip(
            *("install", "--require-hashes", f"--target={backend}"),
            *("--requirement", str(PROJECT / "requirements-build.lock")),
        )
        # A copy: the build must not touch the tree, and takes no more of it than the Dockerfile.
        for each in OF_THE_BUILD:
            _copy(PROJECT / each, source / each)
        _pip(
            *("wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", str(source)),
            python_path=str(backend),
        )
    (built,) = wheels.glob("py_gang_scheduler-*.whl")
    return built


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _pip(*arguments: str, python_path: str = "") -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        check=True,
        env={**os.environ, "PYTHONPATH": python_path},
    )
