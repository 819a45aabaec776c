"""Help texts, and what is imported for them."""

import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from gang_scheduler.cli import COMMANDS, main
from gang_scheduler.cli.helping import HelpfulCommand

HEAVY = (
    *("aiohttp", "asyncio", "kopf", "kubernetes_asyncio", "numpy", "prometheus_client"),
    *("pydantic", "rich", "structlog", "yaml"),
)
"""What takes longer to import than help and completion may take."""
COMPLETE = (
    "import sys; from gang_scheduler.cli import completion; "
    "from gang_scheduler.cli.kubectl_gang import group; "
    "completion.answer_kubectl(group, sys.argv[1:])"
)
READING = ("cluster", "explain", "list", "queues", "snapshot")


def imported_by(program: str, *arguments: str) -> set[str]:
    """Return which of the heavy modules a program has imported at its end."""
    told = f"{program}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", told, *arguments], capture_output=True, text=True, check=True
    )
    return {*HEAVY} & {*done.stderr.split()}


@pytest.mark.parametrize(
    "arguments", [[""], ["l"], *([name, "--"] for name in READING), ["list", "--sort", ""]]
)
def test_completion_of_commands_and_options_imports_nothing_heavy(arguments: list[str]) -> None:
    assert set() == imported_by(COMPLETE, *arguments)


def test_the_list_of_commands_imports_nothing_heavy() -> None:
    program = "import sys; from gang_scheduler.cli import main; main(['-h'], standalone_mode=False)"

    assert set() == imported_by(program)


def test_what_is_looked_for_is_imported_by_a_command() -> None:
    program = "import sys; from gang_scheduler.cli.answers import explain"

    assert {"numpy", "pydantic"} <= imported_by(program)


def help_of(*arguments: str) -> Sequence[str]:
    done = CliRunner().invoke(main, [*arguments, "--help"], prog_name="py-gang-scheduler")
    assert 0 == done.exit_code
    lines: Sequence[str] = done.stdout.splitlines()
    return lines


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_and_its_exit_statuses(name: str) -> None:
    lines = help_of(name)

    example = lines[lines.index("Example:") + 1].split()
    assert ["py-gang-scheduler", name] == example[:2]
    statuses = [line.split()[0] for line in lines[lines.index("Exit status:") + 1 :]]
    assert "0" == statuses[0]
    assert {"0", "2"} <= {each for each in statuses if each.isdecimal()}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_is_a_line_that_the_command_understands(name: str) -> None:
    found = main.loaded(name)
    assert isinstance(found, HelpfulCommand)
    line = re.sub(r" >.*", "", found.example).split()

    assert name == line[0]
    assert found.make_context(name, line[1:], resilient_parsing=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_help_is_wider_than_a_terminal(name: str) -> None:
    assert [] == [line for line in help_of(name) if len(line) > 80]


@pytest.mark.parametrize("name", READING)
def test_options_are_in_groups(name: str) -> None:
    lines = help_of(name)

    groups = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    expected = ["Options:", "Which cluster:", "Output:", "Example:", "Exit status:"]
    assert [each for each in expected if name != "snapshot" or each != "Output:"] == groups
    at = lines.index("Which cluster:")
    assert any("--kubeconfig" in line for line in lines[at:])
    assert not any("--kubeconfig" in line for line in lines[:at])


def test_help_of_all_commands_is_what_each_says_of_itself() -> None:
    for name, lazy in COMMANDS.items():
        assert main.loaded(name).name == name
        assert any(lazy.short_help[:40] in line for line in help_of())
