"""Makes a release: pushes image and chart to a registry, writes the rest into a directory.

The chart of a release names its image by digest, so that `helm install` of it needs no value.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import gang_scheduler
from tools.chart import CHART
from tools.controlplane import binaries
from tools.image import build, packages

NAME: Final = "py-gang-scheduler"
CHECKSUMS: Final = "SHA256SUMS"
LOCAL: Final = re.compile(r"^(?:localhost|127\.0\.0\.1)(?::\d+)?(?:/|$)")
IMAGE_OF_CHART: Final = re.compile(
    r'^image:\n(?P<before>(?: +#.*\n)*) +repository: ""\n(?P<rest>(?: .*\n)*?) +digest: ""\n',
    re.MULTILINE,
)


class Release(NamedTuple):
    """What was made: `image` with its digest, `chart` as helm names it, and the files."""

    image: str
    chart: str
    files: tuple[Path, ...]


class ReleaseError(Exception):
    """A release cannot be made; the message says why."""


def publish(
    registry: str,
    base: str,
    platforms: Sequence[str],
    directory: Path,
    say: Callable[[str], None],
) -> Release:
    """Push image and chart to `registry`, and write chart, wheel and checksums to `directory`.

    The version is that of the package; the chart must be of the same one. Raises ReleaseError and
    tools.image.build.ImageError.
    """
    version = _version()
    directory.mkdir(parents=True, exist_ok=True)
    image = build.build(f"{registry}/{NAME}:{version}", base, platforms, say)
    say(f"image {image}")
    archive = _chart(image, directory)
    plain = ["--plain-http"] if LOCAL.match(registry) else []
    _helm("push", str(archive), f"oci://{registry}/charts", *plain)
    say(f"chart oci://{registry}/charts/{NAME} {version}")
    with tempfile.TemporaryDirectory() as there:
        built = packages.wheel_of_ours(Path(there))
        wheel = Path(shutil.copy(built, directory))
    say(f"wheel {wheel.name}")
    files = (archive, wheel, _checksums(directory, (archive, wheel)))
    return Release(image, f"oci://{registry}/charts/{NAME}", files)


def _version() -> str:
    version = gang_scheduler.__version__
    described = (CHART / "Chart.yaml").read_text()
    for key in ("version", "appVersion"):
        found = re.search(rf'^{key}: "?([^"\n]+)"?$', described, re.MULTILINE)
        if found is None or found[1] != version:
            raise ReleaseError(f"Chart.yaml: {key} must be {version}, as __version__ is")
    return version


def _chart(image: str, directory: Path) -> Path:
    """Package the chart with its image by digest, and return the archive."""
    repository, _, digest = image.partition("@")
    with tempfile.TemporaryDirectory() as there:
        chart = Path(there, NAME)
        shutil.copytree(CHART, chart)
        values = chart / "values.yaml"
        text, number = IMAGE_OF_CHART.subn(
            f'image:\n  repository: "{repository}"\n\\g<rest>  digest: "{digest}"\n',
            values.read_text(),
        )
        if number != 1:
            raise ReleaseError("values.yaml of the chart: image.repository and .digest not found")
        values.write_text(text)
        _helm("package", str(chart), f"--destination={directory}")
    return directory / f"{NAME}-{gang_scheduler.__version__}.tgz"


def _checksums(directory: Path, files: Sequence[Path]) -> Path:
    """Write the file that `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files]
    written = directory / CHECKSUMS
    written.write_text("".join(lines))
    return written


def _helm(*arguments: str) -> None:
    command = [str(binaries.find("helm")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"helm {arguments[0]}: {done.stderr.strip()}")
