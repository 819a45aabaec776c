"""`list`: all gangs, in the order of turns, with what each waits for."""

import functools
import getpass
from collections.abc import Sequence
from typing import Final

import click

from gang_scheduler.cli import completion, printing, sources
from gang_scheduler.cli.exits import refuse
from gang_scheduler.cli.printing import Printed
from gang_scheduler.cli.sources import Asked, Reading
from gang_scheduler.inspection import origins
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.listing import decisions, gang_table, labels, rows, selection
from gang_scheduler.inspection.listing.rows import Row
from gang_scheduler.inspection.listing.selection import Selection

OUTPUTS: Final = ("table", "wide", "json", "yaml", "name")


@click.command("list")
@sources.common_options(*OUTPUTS)
@click.option("--state", multiple=True, metavar="STATE", help=f"One of {', '.join(rows.STATES)}.")
@click.option(
    "--queue",
    multiple=True,
    metavar="NAME",
    help="Only gangs of these queues.",
    shell_complete=completion.queues,
)
@click.option("--reason", multiple=True, metavar="REASON", help="Only those that wait for it.")
@click.option("--mine", is_flag=True, help=f"Only gangs whose label {selection.USER} is my name.")
@click.option("--start", is_flag=True, help="Only those that wait, by the start they expect.")
@click.option("--sort", type=click.Choice(tuple(selection.ORDERS)), help="Sort by a column.")
@click.option("-l", "--selector", default="", help="Labels that members must have.")
@click.option("-w", "--watch", is_flag=True, help="Print anew when something has changed.")
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
    """List all gangs of a namespace: those that wait first, in the order of turns."""
    try:
        matches = labels.parsed(selector)
    except ValueError as error:
        refuse([f"--selector: {error}"])
    chosen = Selection(
        states=selection.words(state),
        queues=selection.words(queue),
        reasons=selection.words(reason),
        matches=matches,
        user=getpass.getuser() if mine else "",
        only_waiting=start,
        order=sort or ("start" if start else ""),
    )
    if watch:
        printing.repeat(asked, functools.partial(_printed, asked, chosen))
    else:
        printing.show(asked, _text(asked, chosen, sources.read(asked)))


def _text(asked: Asked, chosen: Selection, reading: Reading, *, watched: bool = False) -> str:
    cluster, namespace = reading
    found = rows.rows(cluster, decisions.decide(cluster), namespace)
    shown = selection.selected(found, chosen)
    if asked.output in ("json", "yaml"):
        return printing.documented(gang_table.document(shown, cluster), asked.output)
    if asked.output == "name":
        return "".join(f"{row.name}\n" for row in shown)
    wide, starts = asked.output == "wide", chosen.order == "start"
    page = printing.page(asked, gang_table.painted, wide=wide)
    header = [_header(found, cluster)] if watched else []
    lines = [*header, *gang_table.table(shown, cluster, page, wide=wide, starts=starts)]
    if not shown:
        lines = [
            *header,
            f"no gangs in {f'namespace {namespace}' if namespace else 'all namespaces'}",
        ]
    return "".join(f"{line}\n" for line in (*lines, origins.line(cluster)))


def _header(found: Sequence[Row], cluster: Cluster) -> str:
    """Return how many gangs run and wait, and how many GPUs are idle."""
    running = sum(1 for row in found if row.state in ("Running", "Starting"))
    waiting = sum(1 for row in found if row.state == rows.WAITING)
    usage = cluster.cache.node_usage
    nodes, free = usage.table(), usage.free()
    columns = [nodes.axis[name] for name in cluster.policy.gpu_resources if name in nodes.axis]
    usable = nodes.ready & ~nodes.unschedulable
    idle, all_of_them = free[usable][:, columns].sum(), nodes.allocatable[:, columns].sum()
    return f"{running} running, {waiting} waiting, {idle} of {all_of_them} GPUs idle"


def _printed(asked: Asked, chosen: Selection) -> Printed:
    """Return the list of a cluster that is read for it, with a header."""
    text = _text(asked, chosen, sources.read(asked), watched=True)
    return Printed(text, _without_times(text))


def _without_times(text: str) -> str:
    """Return what is printed but for its last line, which says when it was read."""
    return text.rpartition("\n")[0].rpartition("\n")[0]
