"""`simulate`: the decisions on manifests, without a cluster."""

from typing import Any

import click

from gang_scheduler import gc_tuning
from gang_scheduler.cli.exits import MEANINGS, Exit
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.settings_options import settings_of, settings_options, without_variable
from gang_scheduler.settings.policy import Policy


@click.command(
    "simulate",
    cls=HelpfulCommand,
    example="simulate -f nodes.yaml -f job.yaml",
    statuses={
        Exit.DONE: MEANINGS[Exit.DONE],
        Exit.NOT_TRUE: "with --fail-on-unschedulable: a pod is, or a kind or a field is unknown",
        Exit.BAD_INPUT: MEANINGS[Exit.BAD_INPUT],
        Exit.NOT_FOUND: "with --until-settled: not settled after 1000 cycles",
    },
)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    help=(
        "Manifests or a snapshot: a file, the files of a directory, or - for standard input. "
        "Repeatable."
    ),
)
@click.option("-R", "--recursive", is_flag=True, help="Also read subdirectories.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(("table", "wide", "json", "yaml")),
    default="table",
    show_default=True,
    help="Output format. table shortens long lists, wide does not.",
)
@click.option(
    "--at",
    metavar="RFC3339",
    help=(
        "The time of the decisions, such as 2024-05-01T12:00:00Z. [default: the time of "
        "the snapshot, else after all times in the input]"
    ),
)
@click.option("--until-settled", is_flag=True, help="Run cycles until one changes nothing.")
@click.option(
    "--recreate-victims",
    is_flag=True,
    help=(
        "With --until-settled: create evicted pods again, as their controllers would. They wait "
        "again, and keep their age. Each gang shows how often it was evicted."
    ),
)
@click.option(
    "--fail-on-unschedulable",
    is_flag=True,
    help=(
        "Exit with 1 when a pod is unschedulable, when there is a workload of a kind whose pods "
        "are not made here, or when a manifest has a field that its kind does not have."
    ),
)
@click.option(
    "--strict/--no-strict",
    default=True,
    show_default=True,
    help=(
        "Check manifests by the schemas and rules of the API server: an object that it "
        "would refuse is bad input, and a field that it would drop is named. Objects from "
        "a cluster are not checked."
    ),
)
@click.option(
    "--assume-scheduler-name/--no-assume-scheduler-name",
    default=None,
    help=(
        "Whether this scheduler places pods without a schedulerName (on a cluster, "
        "default-scheduler does). [default: pods of manifests, with a note, but not pods "
        "of a cluster]"
    ),
)
@settings_options(Policy, without_variable)
def simulate_command(
    *,
    filenames: tuple[str, ...],
    recursive: bool,
    output: str,
    at: str | None,
    until_settled: bool,
    recreate_victims: bool,
    fail_on_unschedulable: bool,
    strict: bool,
    assume_scheduler_name: bool | None,
    **flags: Any,  # noqa: ANN401 - one for each setting that decides.
) -> None:
    """Schedule manifests without a cluster, and show the decisions.

    The settings are those of `run` on which decisions depend; the environment is not read. Settings
    that are not given are taken from the snapshot, if one is read.
    """
    gc_tuning.collect_nothing()
    from gang_scheduler.cli.answers import simulate  # noqa: PLC0415 - not for help.

    wanted = simulate.Wanted(
        filenames=filenames,
        recursive=recursive,
        output=output,
        at=at,
        until_settled=until_settled,
        recreate_victims=recreate_victims,
        fail_on_unschedulable=fail_on_unschedulable,
        strict=strict,
        assume_scheduler_name=assume_scheduler_name,
    )
    simulate.answer(wanted, settings_of(Policy, flags))
