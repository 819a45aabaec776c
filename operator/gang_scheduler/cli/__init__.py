"""The command line: parse, call, print. Each command has its own file; open `run` first."""

from typing import Final

import click

import gang_scheduler
from gang_scheduler.cli.helping import Lazy, LazyGroup


def _lazy(name: str, short_help: str) -> Lazy:
    return Lazy(f"{__name__}.{name}", f"{name}_command", short_help)


COMMANDS: Final = {
    "audit": _lazy("audit", "Check what the scheduler does, live or in a recording."),
    "cancel": _lazy("cancel", "Delete the workload that owns a gang."),
    "cluster": _lazy(
        "cluster", "Show the nodes of each domain, and the largest gang that would start."
    ),
    "completion": _lazy("completion", "Print the completion script of a shell."),
    "demo": _lazy("demo", "Watch gangs being scheduled, without a cluster."),
    "explain": _lazy("explain", "Say why a gang waits, when it starts, and what would help."),
    "list": _lazy("list", "List all gangs: first waiting gangs, in the order of turns."),
    "logs": _lazy("logs", "Print the logs of the members of a gang."),
    "page": _lazy("page", "Show the cluster in a browser: what waits, why, and what runs."),
    "queues": _lazy("queues", "Show the tree of queues, and the gangs that wait in one of them."),
    "record": _lazy("record", "Record the fate of gangs and nodes, for replay."),
    "replay": _lazy("replay", "Replay the jobs of a file under other policies, and compare them."),
    "run": _lazy("run", "Run the operator."),
    "simulate": _lazy("simulate", "Schedule manifests without a cluster."),
    "snapshot": _lazy("snapshot", "Write a cluster into a file, for a bug report."),
    "submit": _lazy("submit", "Create a job whose pods start together."),
    "wait": _lazy("wait", "Wait until a gang is scheduled, runs or has finished."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gang_scheduler.__version__, prog_name="py-gang-scheduler")
def main() -> None:
    """Schedule gangs of pods on Kubernetes: all of them start, close together, or none does."""
