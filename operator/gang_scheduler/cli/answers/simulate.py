"""`simulate`: the decisions on manifests, without a cluster."""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import click
import yaml

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.from_settings import membership
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import outcome as outcomes
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.listing.outcome import Look
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import defaults, documents, objects, output_document
from gang_scheduler.simulation.documents import Item
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.run import MOST_CYCLES, Options, Outcome, simulate
from gang_scheduler.simulation.snapshot_files import header_among, policy_of

NOT_SETTLED = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values of the options in one call."""

    filenames: tuple[str, ...]
    recursive: bool
    output: str
    at: str | None
    until_settled: bool
    recreate_victims: bool
    fail_on_unschedulable: bool
    strict: bool
    assume_scheduler_name: bool | None


def answer(wanted: Wanted, given: Policy) -> None:
    """Print the decisions on manifests; ends the process if they cannot be read."""
    if wanted.recreate_victims and not wanted.until_settled:
        refuse(["--recreate-victims: victims come back between cycles: add --until-settled"])
    read = list(documents.read(wanted.filenames, recursive=wanted.recursive))
    policy = _policy(read, given)
    found = _objects(read, policy, wanted)
    for note in objects.remarks_of(found, policy.rules.gangs.scheduler_names):
        click.echo(note, err=True)
    outcome = simulate(found, Options(policy, wanted.until_settled, wanted.recreate_victims))
    for note in objects.remarks_on_topologies(found, outcome.cache):
        click.echo(note, err=True)
    cluster = Cluster(outcome.cache, policy, found.read_at, Source.FILES)
    click.echo(_rendered(outcome, cluster, wanted.output), nl=False)
    if not outcome.settled:
        click.echo(f"--until-settled: not settled after {MOST_CYCLES} cycles", err=True)
        sys.exit(NOT_SETTLED)
    waits = outcome.refused or any(output_document.of_others(outcome.cache))
    lacking = waits or found.not_expanded or found.unknown_fields
    if wanted.fail_on_unschedulable and lacking:
        sys.exit(Exit.NOT_TRUE)


def _policy(read: Iterable[Item], given: Policy) -> Policy:
    """Return the settings for decisions: given settings replace those of the snapshot."""
    try:
        policy, notes = policy_of(header_among(read), given)
    except InvalidField as error:
        refuse([str(error)])
    for note in notes:
        click.echo(note, err=True)
    return policy


def _objects(read: Iterable[Item], policy: Policy, wanted: Wanted) -> Objects:
    try:
        now = None if wanted.at is None else defaults.moment("--at:", wanted.at)
        return objects.load(
            read,
            policy.rules.gangs.scheduler_names[0],
            assume_ours=wanted.assume_scheduler_name,
            at=now,
            membership=membership(policy),
            strict=wanted.strict,
        )
    except InvalidField as error:
        refuse([str(error)])
    except UnreadableInput as error:
        refuse(error.lines)


def _rendered(outcome: Outcome, cluster: Cluster, output: str) -> str:
    document = output_document.document(outcome)
    if output == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if output == "yaml":
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    terminal = sys.stdout.isatty()
    width = table_layout.page_width(terminal=terminal)
    colored = terminal and not os.environ.get("NO_COLOR")
    look = Look(width, colored, wide=output == "wide")
    return outcomes.render(document, outcome, cluster, look)
