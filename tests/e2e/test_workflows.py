"""The workflows in .github: actionlint finds nothing, and they call what the Makefile has."""

import re
import subprocess
from pathlib import Path

import pytest

from tools.controlplane import binaries

pytestmark = pytest.mark.e2e

PROJECT = Path(__file__).parents[2]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def test_actionlint_finds_nothing() -> None:
    command = [str(binaries.find("actionlint")), "-no-color", *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT)

    assert WORKFLOWS
    assert ("", 0) == (done.stdout, done.returncode)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_makes_is_in_the_makefile(workflow: Path) -> None:
    called = {*re.findall(r"\bmake ([a-z-]+)", workflow.read_text())}
    targets = {*re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)}

    assert set() == called - targets
