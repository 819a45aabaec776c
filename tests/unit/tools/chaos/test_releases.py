"""The code of the last release, out of a history."""

import subprocess
from pathlib import Path

import pytest

from tools.chaos import releases


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a history of three commits, of which the second told users of something new."""
    made = tmp_path / "checkout"
    (made / "operator").mkdir(parents=True)
    monkeypatch.setattr(releases, "CHECKOUT", made)
    git(made, "init", "--quiet")
    for number, file in enumerate(("CHANGELOG.md", "CHANGELOG.md", "operator/code.py")):
        (made / "operator" / "code.py").write_text(str(number))
        (made / file).write_text(str(number))
        git(made, "add", "--all")
        git(made, "commit", "--quiet", f"--message={number}")
    return made


def git(checkout: Path, *arguments: str) -> None:
    person = ("-c", "user.name=any", "-c", "user.email=any@example.com")
    subprocess.run(["git", "-C", checkout, *person, *arguments], check=True)


def code(root: Path | None) -> str:
    assert root is not None
    return (root / "code.py").read_text()


@pytest.mark.usefixtures("checkout")
def test_without_a_tag_it_is_the_last_commit_that_changed_the_changelog(tmp_path: Path) -> None:
    assert "1" == code(releases.unpacked(tmp_path / "old"))


def test_with_a_tag_it_is_the_newest(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "tag", "v1", "HEAD~2")

    assert "0" == code(releases.unpacked(tmp_path / "old"))


def test_without_a_history_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "CHECKOUT", tmp_path / "nothing")

    assert releases.unpacked(tmp_path / "old") is None
