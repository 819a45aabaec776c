"""Which programs on PATH are taken for those of the control plane."""

from pathlib import Path

import pytest

from tools.controlplane import binaries, builds


@pytest.mark.parametrize(
    ("name", "shown", "taken"),
    [
        ("helm", "v4.3.9+g1234567", True),
        ("helm", "v3.19.0", False),
        # As a Go module it is 0.305.
        ("prometheus", "prometheus, version 3.5.0 (branch: HEAD, revision: 8be3a95)", True),
        ("prometheus", "prometheus, version 2.55.1 (branch: HEAD, revision: 6d7569e)", False),
        ("promtool", "promtool, version 3.51.0 (branch: HEAD, revision: 8be3a95)", False),
        ("kubectl", "whatever", True),
    ],
)
def test_a_program_on_path_is_taken_if_its_minor_version_is_ours(
    name: str, shown: str, *, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / name
    program.write_text(f"#!/bin/sh\necho '{shown}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)

    assert (program if taken else None) == binaries.found(name)


def test_a_program_that_is_pinned_is_not_one_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    assert binaries.pinned("kubectl") is None

    built = builds.cached_path("kubectl")
    built.parent.mkdir()
    built.touch()
    assert built == binaries.pinned("kubectl")
