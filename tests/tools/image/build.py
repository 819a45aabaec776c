"""Puts our layer on a base image for each platform, and pushes that: by crane, not an engine."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.controlplane import binaries
from tools.image import layer, packages

Say = Callable[[str], None]
# As in the Dockerfile: a number, so that Kubernetes can see that it is not root.
USER = "65532:65532"
ENVIRONMENT = {
    "PYTHONPATH": f"/{layer.HOME}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}


class ImageError(Exception):
    """What is wrong with what was asked for, or what crane said."""


def build(
    image: str, base: str, platforms: Sequence[str], say: Say, python: str | None = None
) -> str:
    """Build and push an image, and return its name with its digest.

    `image` and `base` are names as container engines take them, `base` best with a digest; crane
    reads the credentials that `docker login` or `crane auth login` wrote. Each platform has a tag
    of its own, `IMAGE-amd64`; `image` names them all. `python` is the minor version of Python in
    the base, as 3.11, where its PYTHON_VERSION does not say it. Raises ImageError.
    """
    if "@" in image or ":" not in image.rpartition("/")[2]:
        raise ImageError(f"image {image}: needs a tag, such as {image.partition('@')[0]}:0.2.0")
    pushed = [
        _of_platform(image, base, each, python or _python_of(base, each), say) for each in platforms
    ]
    manifests = [f"--manifest={each}" for each in pushed]
    crane("index", "append", *manifests, f"--tag={image}")
    return f"{image.rpartition(':')[0]}@{crane('digest', image)}"


def _of_platform(image: str, base: str, platform: str, python: str, say: Say) -> str:
    say(f"{platform}: packages for Python {python}")
    with tempfile.TemporaryDirectory() as directory:
        target, archive = Path(directory, "packages"), Path(directory, "layer.tar.gz")
        packages.install(platform, python, target)
        if not layer.compiled(target, python):
            say(f"{platform}: no bytecode, which needs Python {python} here; it starts more slowly")
        documents = [packages.PROJECT / "LICENSE", packages.PROJECT / "NOTICE"]
        layer.write(target, documents, archive)
        tag = f"{image}-{platform.rpartition('/')[2]}"
        say(f"{platform}: {tag} on {base}")
        crane(
            *("mutate", base, f"--platform={platform}", f"--append={archive}", f"--tag={tag}"),
            *(
                f"--user={USER}",
                "--entrypoint=python3,-m,gang_scheduler",
                "--exposed-ports=8080/tcp",
            ),
            *(f"--env={name}={value}" for name, value in ENVIRONMENT.items()),
        )
    return f"{image.rpartition(':')[0]}@{crane('digest', tag)}"


def _python_of(base: str, platform: str) -> str:
    config = json.loads(crane("config", f"--platform={platform}", base))
    variables = dict(each.split("=", 1) for each in config["config"].get("Env") or ())
    version = variables.get("PYTHON_VERSION")
    if version is None:
        raise ImageError(f"base {base}: its environment has no PYTHON_VERSION, name its Python")
    return ".".join(version.split(".")[:2])


def crane(*arguments: str) -> str:
    """Run crane and return what it prints. Raises ImageError with what it says."""
    command = [str(binaries.find("crane")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"crane {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
