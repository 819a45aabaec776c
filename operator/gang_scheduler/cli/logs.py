"""`logs`: of the members of a gang, by rank."""

from typing import Any

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import in_one_namespace


@click.command("logs", cls=HelpfulCommand, example="logs llama -f --rank 3")
@click.argument("name", shell_complete=completion.gangs)
@click.option(
    "-f", "--follow", is_flag=True, help=("Follow the log, also of replacements, until ctrl-C.")
)
@click.option("--rank", type=click.IntRange(min=0), help="Rank of the member. [default: 0]")
@click.option(
    "--all",
    "all_ranks",
    is_flag=True,
    help="Print the logs of all members, each line with its rank.",
)
@in_one_namespace
def logs_command(**given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Print the log of a member of NAME, or of all members.

    The ranks are those by which the scheduler places members.
    """
    from gang_scheduler.cli.answers import wait_logs_cancel  # noqa: PLC0415 - not for help.

    wait_logs_cancel.logs(given)
