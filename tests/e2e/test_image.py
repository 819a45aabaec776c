"""A release: the image and its settings, its operator that binds a gang, chart and files."""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import gang_scheduler
from e2e.support import operator_health, registry
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.registry import Registry
from e2e.support.waiting import eventually
from tools import controlplane
from tools.controlplane import binaries
from tools.image import build, layer
from tools.image.build import crane
from tools.release.publish import Release, publish

# Packages are fetched from an index, and compressed: minutes where much else runs.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

VERSION = gang_scheduler.__version__
PLATFORM = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}[platform.machine()]


class Image(NamedTuple):
    """One that was built, with its name and the files that it holds."""

    name: str
    config: dict[str, object]
    root: Path


class FromImage(controlplane.Scheduler):
    """The operator with the packages of an image, and no others."""

    root = Path()

    @property
    def command(self) -> list[str]:
        """Start what the chart starts, by a Python that sees no packages but those of the image."""
        plain = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
        packages = f"{self.root}{build.ENVIRONMENT['PYTHONPATH']}"
        script = self.root / layer.COMMAND
        run = super().command.index("run")
        return [
            "env",
            f"PYTHONPATH={packages}",
            str(plain),
            "-S",
            str(script),
            *super().command[run:],
        ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry.serving(tmp_path_factory.mktemp("registry")) as started:
        yield started


@pytest.fixture(scope="module")
def release(served: Registry, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Make one for this machine, on a base image without files."""
    directory = tmp_path_factory.mktemp("release")
    base = served.add_base("python:slim", [PLATFORM], directory / "base.tar")
    return publish(served.address, base, [PLATFORM], directory / "dist", print)


@pytest.fixture(scope="module")
def image(served: Registry, release: Release, tmp_path_factory: pytest.TempPathFactory) -> Image:
    config = json.loads(crane("config", f"--platform={PLATFORM}", release.image))["config"]
    root = served.export(release.image, tmp_path_factory.mktemp("image"))
    return Image(release.image, config, root)


def test_it_starts_the_operator_as_the_dockerfile_says(image: Image, served: Registry) -> None:
    assert ["python3", "-m", "gang_scheduler"] == image.config["Entrypoint"]
    assert "Cmd" not in image.config
    assert build.USER == image.config["User"]
    assert {"8080/tcp": {}} == image.config["ExposedPorts"]
    assert f"@{crane('digest', f'{served.address}/py-gang-scheduler:{VERSION}')}" in image.name


def test_its_operator_binds_a_gang(
    image: Image, crds: Path, request: pytest.FixtureRequest
) -> None:
    with controlplane.start() as plane:
        plane.kubectl("apply", f"--filename={crds}")
        plane.nodes(2)
        operator = FromImage(plane)
        operator.root = image.root
        with operator, Namespace(plane, request.node.name) as namespace:
            namespace.create(*gang("from-an-image", 3))
            eventually(3, lambda: len(namespace.bound()))
            assert [] == operator_health.take_tracebacks(operator)


def test_its_chart_needs_no_value(release: Release) -> None:
    chart = (release.chart, f"--version={VERSION}", "--plain-http")
    rendered = subprocess.run(
        [str(binaries.find("helm")), "template", "pgs", *chart],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    deployments = [
        each for each in yaml.safe_load_all(rendered) if each and each["kind"] == "Deployment"
    ]
    (container,) = deployments[0]["spec"]["template"]["spec"]["containers"]

    assert release.image == container["image"]


def test_its_checksums_are_those_of_its_files(release: Release) -> None:
    archive, wheel, checksums = release.files
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", checksums.name],
        cwd=checksums.parent,
        check=True,
        capture_output=True,
        text=True,
    )

    assert [f"{archive.name}: OK", f"{wheel.name}: OK"] == done.stdout.splitlines()
    assert f"py_gang_scheduler-{VERSION}-py3-none-any.whl" == wheel.name


def test_a_name_without_a_tag_is_refused() -> None:
    with pytest.raises(build.ImageError, match=r"registry.example.com/pgs: needs a tag"):
        build.build("registry.example.com/pgs", "python:3.11-slim", [PLATFORM], print)


def test_a_base_that_does_not_say_its_python_is_refused(served: Registry, tmp_path: Path) -> None:
    base = served.add_base("plain:1", [PLATFORM], tmp_path / "base.tar", python=None)

    with pytest.raises(build.ImageError, match=r"plain:1: .* no PYTHON_VERSION, name its Python"):
        build.build(f"{served.address}/pgs:0.2.0", base, [PLATFORM], print)
