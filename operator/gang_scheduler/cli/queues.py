"""`queues`: the tree of queues with their usage, and the gangs that wait in one of them."""

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import Asked, common_options


@click.command("queues", cls=HelpfulCommand, example="queues team-a")
@click.argument("name", required=False, shell_complete=completion.queues)
@common_options("table", "wide", "json", "yaml", "name")
def queues_command(*, asked: Asked, name: str | None) -> None:
    """Show the tree of queues; for the queue NAME also the gangs that wait in it, in order.

    The bars have ten marks for the quota of a queue: # is used, . is lent, - is free, and = is
    borrowed from others. PENDING counts the gangs that wait in a queue and below it: the gangs that
    list shows as Waiting.
    """
    from gang_scheduler.cli.answers import queues  # noqa: PLC0415 - not for help.

    queues.answer(asked, name)
