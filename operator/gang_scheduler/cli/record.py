"""`record`: what becomes of the gangs and nodes of a cluster, in a file for `replay`."""

from typing import Any

import click

from gang_scheduler.cli.exits import Exit
from gang_scheduler.cli.helping import HelpfulCommand, OfOutput, statuses
from gang_scheduler.cli.reading.options import with_server


@click.command(
    "record",
    cls=HelpfulCommand,
    example="record --out week.jsonl.gz --for 168h",
    statuses=statuses(
        {
            Exit.DONE: "the recording has ended: its time was over, or by ctrl-C or SIGTERM",
            Exit.NOT_TRUE: "nothing was recorded, or the disk is full; replay reads what is there",
        }
    ),
)
@with_server
@click.option(
    "--out",
    cls=OfOutput,
    required=True,
    metavar="FILE",
    help="A new file, compressed if its name ends in .gz.",
)
@click.option(
    "--for",
    "lasts",
    metavar="DURATION",
    help="End after this time, such as 24h. [default: never]",
)
@click.option(
    "--anonymize",
    cls=OfOutput,
    is_flag=True,
    help=(
        "Write pseudonyms in place of names, as snapshot does. Their meanings are written "
        "to FILE.names.json, which you keep."
    ),
)
def record_command(**given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Record what happens in a cluster, until you end it. It only reads.

    The file has each gang when it is complete and when it has ended, and nodes as they change. Give
    it to replay: it is both the jobs and the cluster. It may be ended in any way, kill -9 included.
    """
    from gang_scheduler.cli.answers import record  # noqa: PLC0415 - not for help.

    record.answer(given)
