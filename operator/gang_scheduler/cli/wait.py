"""`wait`: until a gang is scheduled, runs or has finished."""

from typing import Any

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.exits import Exit
from gang_scheduler.cli.helping import HelpfulCommand, statuses
from gang_scheduler.cli.reading.options import in_one_namespace

GOALS = ("Scheduled", "Running", "Finished")


@click.command(
    "wait",
    cls=HelpfulCommand,
    example="wait llama --for Running --timeout 2h",
    statuses=statuses({Exit.NOT_TRUE: "it failed, or did not get there in time"}),
)
@click.argument("name", shell_complete=completion.gangs)
@click.option(
    "--for",
    "goal",
    type=click.Choice(GOALS),
    default="Finished",
    show_default=True,
    help="The phase to wait for.",
)
@click.option("--timeout", metavar="DURATION", help="How long to wait. [default: for ever]")
@in_one_namespace
def wait_command(**given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Wait until all members of NAME have nodes, run, or have finished.

    A gang that fails is not waited for any longer. The last line says why it waits, or that it
    failed.
    """
    from gang_scheduler.cli.answers import wait_logs_cancel  # noqa: PLC0415 - not for help.

    wait_logs_cancel.wait(given)
