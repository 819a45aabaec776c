"""`replay`: the jobs of a file, decided again under any policy in virtual time."""

import click

from gang_scheduler.cli.exits import MEANINGS, Exit
from gang_scheduler.cli.helping import HelpfulCommand, OfCluster, OfOutput


@click.command(
    "replay",
    cls=HelpfulCommand,
    example="replay jobs.csv --nodes 300x8 --policy strict-fifo",
    statuses={
        Exit.DONE: MEANINGS[Exit.DONE],
        Exit.BAD_INPUT: MEANINGS[Exit.BAD_INPUT],
        Exit.INTERRUPTED: "ctrl-C: the figures so far were printed",
    },
)
@click.argument("jobs", metavar="JOBS|-")
@click.option(
    "--cluster",
    cls=OfCluster,
    multiple=True,
    metavar="FILE|DIR",
    help=(
        "File with nodes, network, queues and priority classes: manifests, a snapshot or "
        "a recording. Repeatable."
    ),
)
@click.option(
    "--nodes",
    cls=OfCluster,
    default="",
    metavar="NxGPUS",
    help=(
        "Make equal nodes instead: 300x8 (300 nodes of 8 GPUs), or "
        "300x8,cpu=128,memory=1Ti,type=a100."
    ),
)
@click.option(
    "--make-queues/--no-make-queues",
    cls=OfCluster,
    default=True,
    show_default=True,
    help="If the cluster has no queues, make each queue that the jobs name.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME=FILE",
    help=(
        "Objects and settings that replace those of the cluster; several are compared with the "
        "first. Without FILE: as-is, no-preemption, no-reservations, strict-fifo, pod-by-pod."
    ),
)
@click.option("--until", metavar="7d", help="Replay no more than this time.")
@click.option(
    "--restart-delay",
    default="30s",
    show_default=True,
    help="After how long the pods of a gang are created again.",
)
@click.option("--bind-latency", default="0s", show_default=True, help="How long a binding takes.")
@click.option(
    "--start-latency", default="0s", show_default=True, help="How long containers take to start."
)
@click.option(
    "--failures",
    metavar="MTBF,MTTR",
    help=(
        "Let each node fail: the mean time between failures and the mean time to repair, such "
        "as 90d,4h."
    ),
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Seed of the failures: another seed gives other failures.",
)
@click.option("--cores", default=0, help="How many policies run at once. [default: all cores]")
@click.option(
    "-o",
    "--output",
    cls=OfOutput,
    type=click.Choice(("table", "json", "html")),
    default="table",
    show_default=True,
    help="Output format. html is one file that needs no other.",
)
@click.option(
    "--report", cls=OfOutput, metavar="FILE", help="Write the HTML report to a file as well."
)
@click.option(
    "--moves",
    cls=OfOutput,
    metavar="FILE",
    help="Write when each pod waited, and where it ran. page --replay FILE shows this on a map.",
)
@click.option(
    "--progress/--no-progress",
    cls=OfOutput,
    default=None,
    help="Show the progress. [default: on a terminal]",
)
def replay_command(
    *,
    jobs: str,
    cluster: tuple[str, ...],
    nodes: str,
    make_queues: bool,
    policies: tuple[str, ...],
    until: str | None,
    restart_delay: str,
    bind_latency: str,
    start_latency: str,
    failures: str | None,
    seed: int,
    cores: int,
    output: str,
    report: str | None,
    moves: str | None,
    progress: bool | None,
) -> None:
    """Replay JOBS under one or more policies, and compare the results.

    JOBS is CSV, the output of sacct, a file in the Standard Workload Format, or a recording, which
    is the cluster, too. The decisions are those of the operator, at a virtual time.
    """
    from gang_scheduler.cli.answers import replay  # noqa: PLC0415 - not for help.

    replay.answer(
        replay.Wanted(
            jobs=jobs,
            cluster=cluster,
            nodes=nodes,
            make_queues=make_queues,
            policies=policies,
            until=until,
            delays=(restart_delay, bind_latency, start_latency),
            failures=failures,
            seed=seed,
            cores=cores,
            output=output,
            report=report,
            moves=moves,
            progress=progress,
        )
    )
