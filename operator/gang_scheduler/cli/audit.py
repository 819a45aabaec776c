"""`audit`: watches what the scheduler does, and reports broken rules."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gang_scheduler.cli.exits import Exit
from gang_scheduler.cli.helping import Grouped, HelpfulCommand, OfCluster, statuses
from gang_scheduler.cli.reading.options import with_server

F = TypeVar("F", bound=Callable[..., Any])


class OfJudging(Grouped):
    """An option on how the scheduler is judged."""

    heading = "Judging"


def _seconds(name: str, default: float, help_text: str) -> Callable[[F], F]:
    return click.option(
        name,
        cls=OfJudging,
        type=click.FloatRange(min=0),
        default=default,
        show_default=True,
        help=help_text,
    )


@click.command(
    "audit",
    cls=HelpfulCommand,
    example="audit --for 10m --record run.jsonl",
    statuses=statuses(
        {
            Exit.DONE: "nothing was found until its time was over, or until ctrl-C or SIGTERM",
            Exit.NOT_TRUE: "something was found",
        }
    ),
)
@click.option(
    *("-f", "--filename"),
    cls=OfCluster,
    type=click.Path(allow_dash=True),
    metavar="FILE|-",
    help="Judge a recording instead of a cluster.",
)
@with_server
@click.option("--once", is_flag=True, help="Judge the present state of the cluster, and exit.")
@click.option(
    "--for",
    "lasts",
    metavar="DURATION",
    help="End after this time, such as 10m. [default: never]",
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write all watched events to a file, which -f reads.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve pgs_audit_findings_total on this port.",
)
@click.option(
    "--scheduler-name",
    "scheduler_names",
    cls=OfJudging,
    multiple=True,
    default=("py-gang-scheduler",),
    show_default=True,
    help="Name of the scheduler that is judged. Repeatable.",
)
@click.option(
    "--skip",
    "skipped",
    cls=OfJudging,
    multiple=True,
    metavar="RULE",
    help="Leave a rule out. Repeatable.",
)
@_seconds(
    "--skew-seconds",
    5.0,
    "How far apart watches of two kinds, and the knowledge of two schedulers, may be.",
)
@_seconds("--partial-seconds", 60.0, "How long a gang may be bound in part.")
@_seconds(
    "--leftover-seconds",
    120.0,
    "How long a nomination or a mark may stay without consequences.",
)
@_seconds(
    "--queue-grace-seconds", 10.0, "How long the scheduler counts a Queue after it was deleted."
)
@click.option(
    "--simulate",
    cls=OfJudging,
    is_flag=True,
    help="With -f: compare the victims of each preemption with a simulation of its moment.",
)
def audit_command(**given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Judge the decisions of the scheduler by rules of its own. It only reads.

    A line of JSON on stdout for each finding: when, which rule, about which object, and why.
    """
    from gang_scheduler.cli.answers import audit  # noqa: PLC0415 - not for help.

    audit.run(audit.Wanted(**given))
