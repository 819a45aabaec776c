"""`cancel`: deletes the object that owns a gang."""

from typing import Any

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import in_one_namespace


@click.command("cancel", cls=HelpfulCommand, example="cancel llama")
@click.argument("name", shell_complete=completion.gangs)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@click.option("--force", is_flag=True, help="Delete it also if submit did not create it.")
@in_one_namespace
def cancel_command(**given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Delete the Job, or other workload, that owns the gang NAME, and with it all of its objects.

    Only workloads that `submit` created are deleted, unless --force is given.
    """
    from gang_scheduler.cli.answers import wait_logs_cancel  # noqa: PLC0415 - not for help.

    wait_logs_cancel.cancel(given)
