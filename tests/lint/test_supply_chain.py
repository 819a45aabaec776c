"""What an image is made of: nothing is installed of which no hash is known."""

import re

import pytest

from lint.trees import PROJECT

LOCKS = sorted(path.name for path in PROJECT.glob("requirements*.lock"))
PINNED = re.compile(r"^[A-Za-z0-9._-]+==\S+", re.MULTILINE)
DOCKERFILE = (PROJECT / "Dockerfile").read_text()


def test_there_is_a_lock_for_each_environment() -> None:
    assert [
        "requirements-build.lock",
        "requirements-dev.lock",
        "requirements-sbom.lock",
        "requirements.lock",
    ] == LOCKS


@pytest.mark.parametrize("name", LOCKS)
def test_each_package_of_a_lock_has_a_version_and_a_hash(name: str) -> None:
    text = (PROJECT / name).read_text()
    packages = re.split(r"\n(?=[A-Za-z0-9])", text)[1:]

    assert packages
    for package in packages:
        assert PINNED.match(package), package[:80]
        assert "--hash=sha256:" in package, package[:80]


def test_all_that_the_image_installs_has_a_hash_or_was_built_in_it() -> None:
    joined = DOCKERFILE.replace("\\\n", " ")
    installs = re.findall(r"pip install ([^&\n]+)", joined)

    assert 3 == len(installs)
    for each in installs:
        assert "--require-hashes" in each or "--no-deps --no-index" in each
    assert "pip wheel --no-deps --no-build-isolation" in joined


def test_both_stages_are_of_one_image_that_can_be_given_by_digest() -> None:
    assert ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"] == re.findall(
        r"^FROM (.+)$", DOCKERFILE, re.MULTILINE
    )


def test_all_that_is_copied_is_sent_to_the_engine() -> None:
    sent = (PROJECT / ".dockerignore").read_text().splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)

    for source in " ".join(copied).split():
        assert f"!{source}" in sent
