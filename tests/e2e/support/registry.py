"""A registry of images as a process, with a base image that holds nothing but its settings."""

import platform
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.support.waiting import until
from tools.controlplane import binaries
from tools.image.build import crane


class Registry:
    """What crane serves on a port of this machine."""

    def __init__(self, address: str) -> None:
        self.address = address

    def add_base(
        self,
        name: str,
        platforms: list[str],
        layer: Path,
        python: str | None = platform.python_version(),
    ) -> str:
        """Push an image without files that says which Python it has, and return its name."""
        variables = {"PATH": "/usr/local/bin:/usr/bin"} | (
            {} if python is None else {"PYTHON_VERSION": python}
        )
        with tarfile.open(layer, "w"):
            pass
        base = f"{self.address}/{name}"
        for each in platforms:
            tag = f"{base}-{each.rpartition('/')[2]}"
            crane("append", "--oci-empty-base", f"--new_layer={layer}", f"--new_tag={tag}")
            crane(
                *("mutate", tag, f"--tag={tag}", f"--set-platform={each}", "--cmd=python3"),
                *(f"--env={name}={value}" for name, value in variables.items()),
            )
        tags = [f"--manifest={base}-{each.rpartition('/')[2]}" for each in platforms]
        crane("index", "append", *tags, f"--tag={base}")
        return base

    def export(self, image: str, target: Path) -> Path:
        """Unpack the files of an image into a directory, and return that."""
        archive = target / "image.tar"
        crane("export", image, str(archive))
        with tarfile.open(archive) as opened:
            opened.extractall(target / "root", filter="data")
        return target / "root"


@contextmanager
def serving(directory: Path) -> Iterator[Registry]:
    """Serve a registry that keeps its blobs in a directory."""
    (directory / "blobs").mkdir()
    log = directory / "registry.log"
    command = [str(binaries.find("crane")), "registry", "serve", "--address=127.0.0.1:0"]
    with (
        log.open("w") as output,
        subprocess.Popen(
            [*command, f"--disk={directory / 'blobs'}"], stdout=output, stderr=output
        ) as process,
    ):
        try:
            port = until(lambda: re.findall(r"serving on port (\d+)", log.read_text()))[0]
            yield Registry(f"127.0.0.1:{port}")
        finally:
            process.terminate()
