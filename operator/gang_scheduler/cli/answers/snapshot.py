"""`snapshot`: a cluster in a file, for bug reports."""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from gang_scheduler import gc_tuning
from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection.snapshots import pseudonyms, taking, tenants
from gang_scheduler.inspection.snapshots.pseudonyms import Pseudonyms
from gang_scheduler.inspection.snapshots.taking import Snapshot
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import defaults
from gang_scheduler.simulation.objects import UnreadableInput

STDOUT = "-"
NEEDS = (
    "a snapshot needs the rights to list nodes, and pods in all namespaces, also with -n: pods of "
    "other namespaces use nodes, too; the ClusterRole of the chart for readers has them"
)
NAMES = ".names.json"
"""The suffix of the file that maps pseudonyms to names."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the snapshot is written, which part of the cluster it covers, and its time."""

    output: str | None = None
    namespace: str = ""
    at: str | None = None
    anonymize: bool = False
    verify: bool = True


def take(asked: Asked, wanted: Wanted) -> None:
    """Write a snapshot; ends the process if decisions on the snapshot and the cluster differ."""
    # Nearly all objects live until the end, and collecting garbage would take as long as the rest.
    gc_tuning.collect_rarely()
    taken = (
        _of_files(asked, wanted.at)
        if asked.filenames
        else cluster_sources.answer(asked, taking.of_server, needs=NEEDS)
    )
    for note in taken.cluster.notes:
        click.echo(note, err=True)
    if wanted.namespace:
        taken = _of_namespace(taken, wanted.namespace)
    name = wanted.output or f"snapshot-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl.gz"
    if wanted.anonymize and name == STDOUT:
        refuse(["--anonymize writes the real names next to a file: give the file with -o"])
    names = pseudonyms.of(taken) if wanted.anonymize else None
    written = pseudonyms.anonymized(taken, names) if names is not None else taken
    content = b"".join(written.content())
    if wanted.verify:
        _verify(taken, name, content, names)
    if name == STDOUT:
        sys.stdout.buffer.write(content)
    else:
        if names is not None:
            stand_for = {"words": names.words, "numbers": names.numbers}
            _write(f"{name}{NAMES}", json.dumps(stand_for, indent=2).encode())
        _write(name, taking.packed([content]) if name.endswith(taking.PACKED) else content)
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
    """Return the part that a namespace may know; exits if the cluster has no such namespace."""
    if not any(namespace in (each.namespace, each.name) for each in taken.lines):
        known = {each.namespace for each in taken.lines if each.namespace}
        cluster_sources.refuse_name(NAMESPACES.plural, namespace, known)
    return tenants.restricted(taken, namespace)


def _verify(taken: Snapshot, name: str, content: bytes, names: Pseudonyms | None) -> None:
    """Exit with a message if decisions on the snapshot and on the cluster differ."""
    rename = names.text if names is not None else str
    try:
        lines = list(taking.differences(name, content, taken.cluster, rename))
    except UnreadableInput as error:
        refuse(error.lines, Exit.NOT_TRUE)
    if lines:
        refuse([*lines, "nothing was written; --no-verify writes it all the same"], Exit.NOT_TRUE)


def _write(name: str, content: bytes) -> None:
    try:
        taking.write_files(content, Path(name))
    except OSError as error:
        refuse([f"{name}: cannot be written: {error.strerror}"])
