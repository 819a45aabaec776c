"""`snapshot`: a cluster in a file, for bug reports."""

from typing import Any

import click

from gang_scheduler.cli.exits import Exit
from gang_scheduler.cli.helping import HelpfulCommand, OfCluster, statuses
from gang_scheduler.cli.reading.options import Asked


@click.command(
    "snapshot",
    cls=HelpfulCommand,
    example="snapshot --anonymize -o report.jsonl.gz",
    statuses=statuses(
        {Exit.NOT_TRUE: "decisions on it differ from those on the cluster: nothing is written"}
    ),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    help="File to write, compressed if its name ends in .gz. [default: snapshot-TIME.jsonl.gz]",
)
@click.option(
    *("-n", "--namespace"),
    cls=OfCluster,
    default="",
    help="Include pods of other namespaces only as usage of nodes, without names.",
)
@click.option("--context", cls=OfCluster, default="", help="Context of the kubeconfig to use.")
@click.option("--kubeconfig", cls=OfCluster, default="", help="Path of the kubeconfig to use.")
@click.option(
    "--request-timeout",
    cls=OfCluster,
    default="0",
    help="How long a request may take, such as 10s or 1m; 0: as long as a minute.",
)
@click.option(
    *("-f", "--filename", "filenames"),
    cls=OfCluster,
    multiple=True,
    metavar="FILE|DIR|-",
    help="Take a snapshot of manifests, or of another snapshot, instead of a cluster. Repeatable.",
)
@click.option(
    "--at", metavar="RFC3339", help="With -f: the time of decisions. [default: as of simulate]"
)
@click.option(
    "--anonymize",
    is_flag=True,
    help=(
        "Write pseudonyms in place of names, namespaces, values of labels and texts of "
        "annotations. Their meanings are written to FILE.names.json, which you keep."
    ),
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Read the snapshot again, and check that decisions on it equal those on the cluster.",
)
def snapshot_command(
    *,
    output: str | None,
    namespace: str,
    filenames: tuple[str, ...],
    at: str | None,
    anonymize: bool,
    verify: bool,
    **access: Any,  # noqa: ANN401 - how the API server is reached.
) -> None:
    """Write a cluster into a file, which simulate, explain and list read with -f.

    It has everything on which decisions depend, and no field that the scheduler does not read: no
    environment, command, image, Secret or ConfigMap, and only annotations that mean something to
    the scheduler.
    """
    from gang_scheduler.cli.answers import snapshot  # noqa: PLC0415 - not for help.

    wanted = snapshot.Wanted(output, namespace, at, anonymize=anonymize, verify=verify)
    snapshot.take(Asked(filenames=filenames, **access), wanted)
