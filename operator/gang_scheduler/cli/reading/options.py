"""The options of read-only commands, and their values."""

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import click

from gang_scheduler import gc_tuning
from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import OfCluster, OfOutput

Command = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Asked:
    """The values of the common options in one call."""

    namespace: str = ""
    all_namespaces: bool = False
    context: str = ""
    kubeconfig: str = ""
    request_timeout: str = "0"
    filenames: tuple[str, ...] = ()
    output: str = "table"
    color: str = "auto"
    no_headers: bool = False
    settings: tuple[str, ...] = ()

    @classmethod
    def of_server(cls, given: Mapping[str, Any]) -> Self:
        """Return the values of the options that select the API server."""
        names = ("context", "kubeconfig", "request_timeout")
        return cls(**{name: given[name] for name in names})

    @property
    def colored(self) -> bool:
        """Whether to use colour in addition to words."""
        if self.color == "auto":
            return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        return self.color == "always"


def common_options(*outputs: str, tables: bool = True) -> Callable[[Command], Command]:
    """Return a decorator that adds the common options and passes their values as `asked`.

    Without `tables` the option --no-headers is left out.
    """

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def called(**given: Any) -> None:  # noqa: ANN401 - one for each option.
            known = [each.name for each in fields(Asked) if each.name in given]
            asked = Asked(**{name: given.pop(name) for name in known})
            gc_tuning.collect_nothing()
            # This process does no linear algebra, so threads for it would be wasted.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            command(asked=asked, **given)

        of_output = _of_output(outputs)
        return _with((*cluster_options(), *(of_output if tables else of_output[:2])), called)

    return add


_NAMESPACE: Final[Callable[[Command], Command]] = click.option(
    *("-n", "--namespace"),
    cls=OfCluster,
    default="",
    help="Namespace. [default: the context's]",
    shell_complete=completion.namespaces,
)


def with_server(command: Command) -> Command:
    """Add the options that select the API server."""
    return _with(server_options(), command)


def with_cluster(command: Command) -> Command:
    """Add the options that select a cluster or files."""
    return _with(cluster_options(), command)


def port_option(name: str, meaning: str) -> Callable[[Command], Command]:
    """Return an option for a port to listen on; it is 0 by default."""
    return click.option(name, type=click.IntRange(0, 65535), default=0, metavar="N", help=meaning)


def in_one_namespace(command: Command) -> Command:
    """Add the options of a command about a job in one namespace of a cluster."""
    return _with((_NAMESPACE, *server_options()), command)


def _with(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    """Return a command with options added, in the order in which help lists them."""
    for option in reversed(options):
        command = option(command)
    return command


def server_options() -> tuple[Callable[[Command], Command], ...]:
    """Return the options that select the API server and set its time limit."""
    return (
        click.option(
            "--context", cls=OfCluster, default="", help="Context of the kubeconfig to use."
        ),
        click.option(
            "--kubeconfig",
            cls=OfCluster,
            default="",
            type=click.Path(),
            help="Path of the kubeconfig to use.",
        ),
        click.option(
            "--request-timeout",
            cls=OfCluster,
            default="0",
            help="How long a request may take, such as 10s or 1m; 0: as long as a minute.",
        ),
    )


def cluster_options() -> tuple[Callable[[Command], Command], ...]:
    """Return the options that select a cluster or files."""
    return (
        _NAMESPACE,
        click.option("-A", "--all-namespaces", cls=OfCluster, is_flag=True, help="All namespaces."),
        *server_options(),
        click.option(
            *("-f", "--filename", "filenames"),
            cls=OfCluster,
            multiple=True,
            type=click.Path(allow_dash=True),
            metavar="FILE|DIR|-",
            help="Read manifests or a snapshot instead of a cluster. Repeatable.",
        ),
        click.option(
            *("--setting", "settings"),
            cls=OfCluster,
            multiple=True,
            metavar="NAME=VALUE",
            help="Decide as if the operator had this setting: strategy=spread. Repeatable.",
        ),
    )


def _of_output(outputs: tuple[str, ...]) -> tuple[Callable[[Command], Command], ...]:
    return (
        click.option(
            *("-o", "--output"),
            cls=OfOutput,
            type=click.Choice(outputs),
            default=outputs[0],
            show_default=True,
            help="How to print it; wide cuts nothing.",
        ),
        click.option(
            "--color",
            cls=OfOutput,
            type=click.Choice(("auto", "always", "never")),
            default="auto",
            show_default=True,
            help="Whether to colour words; NO_COLOR turns auto off.",
        ),
        click.option("--no-headers", cls=OfOutput, is_flag=True, help="Print no headers."),
    )
