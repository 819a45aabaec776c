"""The plugin of kubectl has the commands of the program, but for the operator."""

from click.testing import CliRunner

from gang_scheduler.cli import main
from gang_scheduler.cli.kubectl_gang import NAME, group


def test_it_has_all_commands_but_the_operator() -> None:
    assert main.commands.keys() - {"run", "completion"} == group.commands.keys()


def test_usage_says_kubectl() -> None:
    result = CliRunner().invoke(group, ["list", "--help"], prog_name=NAME)

    assert "Usage: kubectl gang list [OPTIONS]" in result.stdout
