"""The plugin of kubectl has the commands of the program, but for the operator."""

import click
from click.testing import CliRunner

from gang_scheduler.cli import main
from gang_scheduler.cli.kubectl_gang import NAME, group


def test_it_has_all_commands_but_the_operator() -> None:
    context = click.Context(main)

    assert {*main.list_commands(context)} - {"run", "completion"} == {*group.list_commands(context)}


def test_usage_says_kubectl() -> None:
    result = CliRunner().invoke(group, ["list", "--help"], prog_name=NAME)

    assert "Usage: kubectl gang list [OPTIONS]" in result.stdout
