"""`simulate`: the decisions on manifests, without a cluster."""

import json
import sys
from collections.abc import Iterable
from typing import Any

import click
import yaml

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.options import settings_of, settings_options, without_variable
from gang_scheduler.policy import membership
from gang_scheduler.settings import Policy
from gang_scheduler.simulation import defaults, documents, objects, remarks
from gang_scheduler.simulation.documents import Item
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.output import report, tables
from gang_scheduler.simulation.run import MOST_CYCLES, Options, Outcome, simulate
from gang_scheduler.simulation.snapshot_files import header_among, policy_of

OUTPUTS = ("table", "wide", "json", "yaml")


@click.command("simulate")
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
@click.option(
    "-R", "--recursive", is_flag=True, help="Read the directories inside of directories, too."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(OUTPUTS),
    default="table",
    show_default=True,
    help="table sums up what is long, wide does not.",
)
@click.option(
    "--at",
    metavar="RFC3339",
    help=(
        "When it is, such as 2024-05-01T12:00:00Z. Without it, when the snapshot was taken, else "
        "after all times in the input."
    ),
)
@click.option("--until-settled", is_flag=True, help="Go on until a cycle changes nothing.")
@click.option(
    "--recreate-victims",
    is_flag=True,
    help=(
        "With --until-settled: victims come back as pods that wait, as old as they were, as what "
        "created them would create them again. Gangs say how often they were evicted."
    ),
)
@click.option(
    "--fail-on-unschedulable",
    is_flag=True,
    help=(
        "Exit with 1 when a pod is unschedulable, or when there is a workload of a kind whose pods "
        "are not made here."
    ),
)
@click.option(
    "--assume-scheduler-name/--no-assume-scheduler-name",
    default=None,
    help=(
        "Whether pods without a schedulerName are taken as ours, or, as on a cluster, as "
        "default-scheduler's. Without this flag those of manifests are ours, which is said, and "
        "those from a cluster are not."
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
    assume_scheduler_name: bool | None,
    **flags: Any,  # noqa: ANN401 - one for each setting that decides.
) -> None:
    """Schedule manifests without a cluster, and show the decisions.

    The settings are those of `run` that decisions depend on; the environment is not read. Those
    that are not given are as in the snapshot, if one is read.

    Exits with 0 whatever the outcome, with 2 when the input cannot be read, and with 3 when it is
    not settled after 1000 cycles.
    """
    if recreate_victims and not until_settled:
        refuse(["--recreate-victims: victims come back between cycles: add --until-settled"])
    read = list(documents.read(filenames, recursive=recursive))
    policy = _policy(read, settings_of(Policy, flags))
    found = _objects(read, policy, at, assume_ours=assume_scheduler_name)
    for note in remarks.of(found, policy.scheduler_names):
        click.echo(note, err=True)
    outcome = simulate(found, Options(policy, until_settled, recreate_victims))
    for note in remarks.of_topologies(found, outcome):
        click.echo(note, err=True)
    click.echo(_rendered(outcome, output), nl=False)
    if not outcome.settled:
        click.echo(f"--until-settled: not settled after {MOST_CYCLES} cycles", err=True)
        sys.exit(3)
    if fail_on_unschedulable and (outcome.refused or found.not_expanded):
        sys.exit(Exit.NOT_TRUE)


def _policy(read: Iterable[Item], given: Policy) -> Policy:
    """Return the settings: of a snapshot its own, but for those that are given."""
    try:
        policy, notes = policy_of(header_among(read), given)
    except InvalidField as error:
        refuse([str(error)])
    for note in notes:
        click.echo(note, err=True)
    return policy


def _objects(
    read: Iterable[Item], policy: Policy, at: str | None, *, assume_ours: bool | None
) -> Objects:
    try:
        now = None if at is None else defaults.moment("--at:", at)
        return objects.load(
            read,
            policy.scheduler_names[0],
            assume_ours=assume_ours,
            at=now,
            membership=membership(policy),
        )
    except InvalidField as error:
        refuse([str(error)])
    except UnreadableInput as error:
        refuse(error.lines)


def _rendered(outcome: Outcome, output: str) -> str:
    document = report.document(outcome)
    if output == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if output == "yaml":
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    terminal = sys.stdout.isatty()
    return tables.render(document, outcome, terminal=terminal, wide=output == "wide")
