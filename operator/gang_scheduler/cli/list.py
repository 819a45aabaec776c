"""`list`: all gangs in the order of turns, with the reason why each waits."""

from collections.abc import Sequence

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import Asked, common_options
from gang_scheduler.inspection.listing.states_and_orders import ORDERS, STATES, USER


@click.command("list", cls=HelpfulCommand, example="list -A --state waiting --start")
@common_options("table", "wide", "json", "yaml", "name")
@click.option("--state", multiple=True, metavar="STATE", help=f"One of {', '.join(STATES)}.")
@click.option(
    "--queue",
    multiple=True,
    metavar="NAME",
    help="Only gangs of these queues.",
    shell_complete=completion.queues,
)
@click.option(
    "--reason", multiple=True, metavar="REASON", help=("Only gangs that wait for this reason.")
)
@click.option("--mine", is_flag=True, help=f"Only gangs whose label {USER} is my name.")
@click.option("--start", is_flag=True, help="Only waiting gangs, by their expected start.")
@click.option("--sort", type=click.Choice(list(ORDERS)), help="Sort by a column.")
@click.option("-l", "--selector", default="", help="Labels that members must have.")
@click.option(
    "-w",
    "--watch",
    is_flag=True,
    help="Print again when something has changed, and mark the changes.",
)
def list_command(
    *,
    asked: Asked,
    state: Sequence[str],
    queue: Sequence[str],
    reason: Sequence[str],
    mine: bool,
    start: bool,
    sort: str | None,
    selector: str,
    watch: bool,
) -> None:
    """List all gangs of a namespace: first waiting gangs, in the order of turns."""
    from gang_scheduler.cli.answers import list as listing  # noqa: PLC0415 - not for help.

    chosen = listing.chosen(
        *(state, queue, reason, selector), mine=mine, start=start, order=sort or ""
    )
    listing.answer(asked, chosen, watch=watch)
