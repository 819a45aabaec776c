"""`page`: the cluster in a browser."""

from typing import Any

import click

from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import Asked, cluster_options


def _with_cluster_options(command: Any) -> Any:  # noqa: ANN401 - a decorator.
    for option in reversed(cluster_options()):
        command = option(command)
    return command


@click.command("page", cls=HelpfulCommand, example="page -f snapshot.jsonl.gz")
@_with_cluster_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port on 127.0.0.1; 0: any free one.",
)
@click.option(
    "--replay",
    "moved",
    metavar="FILE",
    help="Show a replay at any time, on a map: FILE is what `replay --moves FILE` wrote.",
)
@click.option(
    "--history",
    metavar="FILE",
    help="Keep 24 hours of decisions, states and GPUs in FILE: a restart of the page does not "
    "forget them. The cluster is then read each minute also while no browser asks.",
)
def page_command(
    *,
    port: int,
    moved: str | None,
    history: str | None,
    **given: Any,  # noqa: ANN401 - the cluster's options.
) -> None:
    """Show the cluster in a browser: what waits, why, and what runs; of all namespaces without -n.

    The page listens on 127.0.0.1 only, and reads with your rights. The address that is printed has
    a key, which is good for one browser. The page changes nothing, and ends with ctrl-C.
    """
    from gang_scheduler.cli.answers import page  # noqa: PLC0415 - not for help.

    if moved is not None:
        page.answer_replay(moved, port, history)
    else:
        page.answer(Asked(**given), port, history)
