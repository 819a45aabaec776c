"""`cluster`: the nodes of each domain of the network, and the pods on one node."""

from collections.abc import Sequence

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import Asked, common_options


@click.command("cluster", cls=HelpfulCommand, example="cluster --shape nvidia.com/gpu=8,cpu=32")
@click.argument("node", required=False, shell_complete=completion.nodes)
@common_options("table", "wide", "json", "yaml", "name")
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    help="How many layers to show below the cluster; 0: none. [default: all above the nodes]",
)
@click.option(
    "--shape",
    "given",
    multiple=True,
    metavar="RESOURCE=AMOUNT",
    help=(
        "Requests of a member, such as nvidia.com/gpu=8,cpu=4: the largest gang of such "
        "members that would start now is shown. Repeatable. [default: the requests of "
        "most waiting pods]"
    ),
)
@click.option(
    "--users",
    is_flag=True,
    help=(
        "Show the users of scarce resources instead: by namespace, user (the label of "
        "list --mine) and scheduler, pods of other schedulers included. With -n for one "
        "namespace."
    ),
)
def cluster_command(
    *, asked: Asked, node: str | None, depth: int | None, given: Sequence[str], users: bool
) -> None:
    """Show the nodes of each domain, and the largest gang that would start; or a NODE's pods.

    WHOLE is the number of nodes on which no scarce resource is used. LARGEST is the size of the
    largest gang that would start.
    """
    from gang_scheduler.cli.answers import cluster  # noqa: PLC0415 - not for help.

    if users:
        cluster.answer_users(asked, node)
    else:
        cluster.answer(asked, node, depth, given)
