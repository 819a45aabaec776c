"""`snapshot`: a cluster in a file, for bug reports."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gang_scheduler import gc_tuning
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli import sources
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.sources import Asked
from gang_scheduler.inspection.snapshots import files, pseudonyms, taking, tenants, verifying
from gang_scheduler.inspection.snapshots.files import Snapshot
from gang_scheduler.inspection.snapshots.pseudonyms import Pseudonyms
from gang_scheduler.settings import Policy
from gang_scheduler.simulation import defaults
from gang_scheduler.simulation.objects import UnreadableInput

STDOUT = "-"
NAMES = ".names.json"
"""What is added to the name of a file for that of what its pseudonyms stand for."""


@click.command("snapshot")
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    help=(
        "Where it goes: compressed to a file that ends in .gz. [default: snapshot-TIME.jsonl.gz]"
    ),
)
@click.option(
    *("-n", "--namespace"),
    default="",
    help="Have pods of other namespaces in it as usage of their nodes only, and none of the names.",
)
@click.option("--context", default="", help="Context of the kubeconfig to use.")
@click.option("--kubeconfig", default="", help="Path of the kubeconfig to use.")
@click.option(
    "--request-timeout",
    default="0",
    help="How long a request may take, such as 10s or 1m; 0: as long as a minute.",
)
@click.option(
    *("-f", "--filename", "filenames"),
    multiple=True,
    metavar="FILE|DIR|-",
    help="Take it of manifests, or of another snapshot, instead of a cluster. Repeatable.",
)
@click.option("--at", metavar="RFC3339", help="With -f: when it is. [default: as of simulate]")
@click.option(
    "--anonymize",
    is_flag=True,
    help=(
        "Write pseudonyms in place of names, namespaces, values of labels and texts of "
        "annotations. What they stand for goes to FILE.names.json, which you keep."
    ),
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Read it back, and compare the decisions with those on what it was made of.",
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
    """Write what decisions depend on into a file, which simulate, explain and list read with -f.

    It has no field that the scheduler does not read: no environment, command, image, Secret or
    ConfigMap, and of annotations only those that say something to the scheduler.

    Exits with 1 when it is not decided as the cluster is, and writes nothing then.
    """
    # Nearly all that is made stays until the end: to look for garbage takes as long as the rest.
    gc_tuning.collect_rarely()
    asked = Asked(filenames=filenames, **access)
    taken = _of_files(asked, at) if filenames else sources.answer(asked, taking.of_server)
    for note in taken.cluster.notes:
        click.echo(note, err=True)
    if namespace:
        taken = _of_namespace(taken, namespace)
    name = output or f"snapshot-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl.gz"
    if anonymize and name == STDOUT:
        refuse(["--anonymize: what the names are goes beside a file: name one with -o"])
    names = pseudonyms.of(taken) if anonymize else None
    written = pseudonyms.anonymized(taken, names) if names is not None else taken
    content = b"".join(written.content())
    if verify:
        _verify(taken, name, content, names)
    if name == STDOUT:
        sys.stdout.buffer.write(content)
    else:
        if names is not None:
            _write(f"{name}{NAMES}", json.dumps({"words": names.words}, indent=2).encode())
        _write(name, files.packed([content]) if name.endswith(files.PACKED) else content)
        objects = sum(taken.header.counts.values())
        click.echo(f"{name}: {objects} objects", err=True)


def _of_files(asked: Asked, at: str | None) -> Snapshot:
    try:
        moment = None if at is None else defaults.moment("--at:", at)
        return taking.of_files(asked.filenames, Policy(), moment)
    except InvalidField as error:
        refuse([str(error)])
    except UnreadableInput as error:
        refuse(error.lines)


def _of_namespace(taken: Snapshot, namespace: str) -> Snapshot:
    """Return what a namespace may know; ends the process if there is none of the name."""
    if not any(namespace in (each.namespace, each.name) for each in taken.lines):
        sources.refuse_name("namespaces", namespace)
    return tenants.restricted(taken, namespace)


def _verify(taken: Snapshot, name: str, content: bytes, names: Pseudonyms | None) -> None:
    """End the process if what is to be written is not decided as the cluster is."""
    rename = names.text if names is not None else str
    try:
        lines = list(verifying.differences(name, content, taken.cluster, rename))
    except UnreadableInput as error:
        refuse(error.lines, Exit.NOT_TRUE)
    if lines:
        refuse([*lines, "nothing was written; --no-verify writes it all the same"], Exit.NOT_TRUE)


def _write(name: str, content: bytes) -> None:
    try:
        files.write(content, Path(name))
    except OSError as error:
        refuse([f"{name}: cannot be written: {error.strerror}"])
