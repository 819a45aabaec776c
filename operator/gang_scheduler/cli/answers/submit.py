"""`submit`: reads a job, shows the objects that will be created, and creates them."""

import functools
import getpass
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from gang_scheduler.cli import printing
from gang_scheduler.cli.answers import wait_logs_cancel
from gang_scheduler.cli.exits import refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.submit import job_files, objects, sbatch_options
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.submission import Submission, created, prepared, without_cluster
from gang_scheduler.submit.training_job import TrainingJob

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

DIRECT: Final = (
    *("name", "job_type", "image", "nodes", "gpu_type", "gpu_resource", "queue", "priority"),
    *("priority_class", "must", "prefer", "time", "expected_duration", "max_wait_time"),
)
"""Options that are fields of a job."""
OF_RESOURCES: Final = {"gpus": "gpu", "cpus": "cpu", "mem": "memory"}
FLAGS: Final = {
    **{name: f"--{name.replace('_', '-')}" for name in DIRECT},
    "jobType": "--type",
    "gpuType": "--gpu-type",
    "priorityClass": "--priority-class",
    "maxWaitTime": "--max-wait",
    "expectedDuration": "--expected-duration",
}
NOT_IN_LABELS: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def answer(words: Sequence[str], **given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Submit a job; exits with a message if it cannot be honoured."""
    try:
        job = job_of(words, given)
        if given["dry_run"] == "client":
            _show(without_cluster(job), given)
            return
        cluster_sources.answer(Asked.of_server(given), functools.partial(_submit, job, given))
    except Refused as error:
        refuse(error.lines)
    if given["follow"] and given["dry_run"] == "none":
        wait_logs_cancel.to_the_end({**given, "namespace": job.namespace}, job.name)


def job_of(words: Sequence[str], given: Mapping[str, Any]) -> TrainingJob:
    """Return the job that flags, a file or a script describe. Raises Refused."""
    fields: dict[str, Any] = {}
    if given["filename"]:
        fields = job_files.read(Path(given["filename"]).read_text(), given["filename"])
    if given["script"]:
        found = _of_script(Path(given["script"]), words, given)
        below = fields.get("resources") or {}
        fields |= {**found, "resources": {**below, **found.get("resources", {})}}
    resources = dict(fields.pop("resources", None) or {})
    fields |= {name: given[name] for name in DIRECT if given[name] is not None}
    resources |= {
        field: given[option] for option, field in OF_RESOURCES.items() if given[option] is not None
    }
    if words and not given["script"]:
        fields["command"] = list(words)
    if given["namespace"]:
        fields["namespace"] = given["namespace"]
    if given["checkpoint_mode"] or given["checkpoint_timeout"]:
        named = {"mode": given["checkpoint_mode"], "timeout": given["checkpoint_timeout"]}
        asked = {key: value for key, value in named.items() if value}
        fields["checkpoint"] = {**(fields.get("checkpoint") or {}), **asked}
    if given["claims"]:
        fields["volumes"] = [*(fields.get("volumes") or ()), *map(_volume, given["claims"])]
    if given["env"]:
        fields["env"] = {**(fields.get("env") or {}), **dict(map(_variable, given["env"]))}
    if resources:
        fields["resources"] = resources
    if "name" not in fields:
        refuse(["--name: required, unless the file or the script has a name"])
    fields.setdefault("user", _user())
    return job_files.job_of(fields)


def _of_script(file: Path, words: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    ignored = given["ignored"]
    flags = (flag for flag in sbatch_options.OVERRIDDEN if given[flag] is not None)
    overridden = {each for flag in flags for each in sbatch_options.OVERRIDDEN[flag]}
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        refuse([f"{file}: is no script: it is not UTF-8"])
    found = sbatch_options.read(text, str(file), frozenset(ignored), overridden)
    script = {"text": text, "arguments": list(words), "ignored": list(ignored)}
    resources = {"resources": dict(found.resources)} if found.resources else {}
    return {**found.fields, "script": script, **resources}


def _volume(text: str) -> dict[str, Any]:
    """Return the volume for `CLAIM:/PATH`: a claim, and the path at which it is mounted."""
    claim, colon, path = text.partition(":")
    if not colon or not claim or not path.startswith("/"):
        refuse([f"--volume: {text}: must be CLAIM:/PATH"])
    return {"name": claim, "mountPath": path, "persistentVolumeClaim": {"claimName": claim}}


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        refuse([f"--env: {text}: must be NAME=VALUE"])
    return name, value


def _user() -> str:
    """Return the user's name as a label value, by which `list --mine` finds the job."""
    return NOT_IN_LABELS.sub("-", getpass.getuser())[:63].strip("-_.")


async def _submit(job: TrainingJob, given: Mapping[str, Any], server: "Server") -> None:
    predict = given["output"] == "table"
    submission = await prepared(server, job, predict=predict)
    for note in submission.notes:
        click.echo(note, err=True)
    _show(submission, given)
    if given["dry_run"] == "none":
        await created(server, submission)
        where = f"{submission.job.namespace}/{submission.job.name}"
        click.echo(f"created {where}; `explain {submission.job.name}` says more", err=True)


def _show(submission: Submission, given: Mapping[str, Any]) -> None:
    """Print the objects in the requested format, and whether the job would start."""
    output = given["output"]
    if output == "yaml":
        click.echo(objects.as_yaml(submission.plan), nl=False)
    elif output == "json":
        bodies = [each.body for each in submission.plan]
        whole = {"apiVersion": "v1", "kind": "List", "items": bodies}
        click.echo(json.dumps(whole, indent=2, ensure_ascii=False))
    elif output == "name":
        click.echo("\n".join(submission.names))
    else:
        _table(submission)


def _table(submission: Submission) -> None:
    rows = [(each.kind, each.name, each.what) for each in submission.plan]
    page = printing.page(Asked(), wide=not sys.stdout.isatty())
    for line in table_layout.table_lines(("KIND", "NAME", "WHAT"), rows, page):
        click.echo(line)
    if submission.prediction is not None:
        click.echo(submission.prediction.sentence)
