"""`kubectl gang`: all commands except those that run the operator."""

import sys

import click

import gang_scheduler
from gang_scheduler.cli import COMMANDS, completion
from gang_scheduler.cli.helping import LazyGroup

NAME = "kubectl gang"


@click.group(
    cls=LazyGroup,
    lazy={name: each for name, each in COMMANDS.items() if name not in ("run", "completion")},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(gang_scheduler.__version__, prog_name=NAME)
def group() -> None:
    """Gangs of pods on Kubernetes: which wait and why, where others run, what would happen."""


def plugin() -> None:
    """Run as the plugin that kubectl starts for `kubectl gang`."""
    group(prog_name=NAME)


def complete() -> None:
    """Answer kubectl's requests for completions of `kubectl gang`."""
    completion.answer_kubectl(group, sys.argv[1:])
