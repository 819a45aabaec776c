"""The cluster that common options select, and the errors of commands that cannot read it.

Errors are worded like kubectl's, and end the process with the status that `exits` has for them.
"""

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeVar

import click

from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli.exits import Exit, refuse, similar_names_hint
from gang_scheduler.cli.reading import settings_of_operator
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.decode import fields
from gang_scheduler.inspection import cluster, files
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.telemetry import family, logger

if TYPE_CHECKING:
    from gang_scheduler.client.errors import ApiError
    from gang_scheduler.inspection.servers import Server

T = TypeVar("T")
READING: Final = "reading the cluster ..."


class Reading(NamedTuple):
    """A cluster, and the namespace that the user asks about; "" for all, or if none was given."""

    cluster: Cluster
    namespace: str


def read(asked: Asked) -> Reading:
    """Return the cluster that the options select, and print its notes on stderr.

    Exits with a message if the cluster cannot be read.
    """
    if asked.filenames:
        reading = of_files(asked)
        refuse_unknown_namespace(reading)
    else:
        ask = functools.partial(_of_server, asked)
        reading = answer(asked, ask, needs=cluster.ASK_FOR_ALL if asked.all_namespaces else "")
    tell(reading)
    return reading


def tell(reading: Reading) -> None:
    """Print the notes about a cluster on stderr."""
    for note in reading.cluster.notes:
        click.echo(note, err=True)


def of_files(asked: Asked, at: int | None = None) -> Reading:
    """Return the cluster in files, as of the time `at`; ends the process if they are invalid."""
    try:
        cluster = files.read(asked.filenames, settings_of_operator.policy_of(asked.settings), at=at)
    except InvalidField as error:
        refuse([str(error)])
    except UnreadableInput as error:
        refuse(error.lines)
    return Reading(cluster, "" if asked.all_namespaces else asked.namespace)


def refuse_unknown_namespace(reading: Reading) -> None:
    """End the process for a namespace that no file mentions, if the files mention others."""
    known = reading.cluster.namespaces
    if reading.namespace and known and reading.namespace not in known:
        refuse_name(NAMESPACES.plural, reading.namespace, known)


def answer(asked: Asked, ask: Callable[["Server"], Awaitable[T]], *, needs: str = "") -> T:
    """Return the answer of the API server to a question; exits with a message if there is none.

    `needs` names the rights that the question needs; it is printed if the server denies access.
    """
    # Here, since files need no Kubernetes client.
    from gang_scheduler.client.connection import UnusableConfigurationError  # noqa: PLC0415
    from gang_scheduler.client.errors import ApiError  # noqa: PLC0415
    from gang_scheduler.inspection import servers  # noqa: PLC0415
    from gang_scheduler.inspection.cluster import NoSuchNamespace  # noqa: PLC0415

    timeout = seconds(asked.request_timeout)
    logger.be_quiet()

    async def asking() -> T:
        async with servers.connected(asked.kubeconfig, asked.context, timeout) as server:
            return await ask(server)

    with interruptible(), _sign_of_life(), family.keeping_nothing():
        try:
            return asyncio.run(asking())
        except UnusableConfigurationError as error:
            refuse([f"error: {error}"])
        except ApiError as error:
            refuse_answer(error, needs)
        except NoSuchNamespace as error:
            refuse_name(NAMESPACES.plural, error.name, error.known)
    raise AssertionError  # Either way has ended.


@contextmanager
def _sign_of_life() -> Iterator[None]:
    """Print on a terminal that the cluster is being read, and erase the line afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    click.echo(READING, nl=False, err=True)
    try:
        yield
    finally:
        click.echo(f"\r{' ' * len(READING)}\r", nl=False, err=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let ctrl-C end the process with the status of kubectl, without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


async def of_server(asked: Asked, server: "Server") -> Reading:
    """Return the cluster of a server, as far as it may be read. Raises ApiError."""
    from gang_scheduler.inspection import live  # noqa: PLC0415

    policy = settings_of_operator.policy_of(asked.settings)
    namespace = "" if asked.all_namespaces else asked.namespace or server.namespace
    return Reading(await live.read(server, namespace, policy), namespace)


async def _of_server(asked: Asked, server: "Server") -> Reading:
    reading = await of_server(asked, server)
    if asked.namespace:
        await must_know_namespace(reading, server)
    return reading


async def must_know_namespace(reading: Reading, server: "Server") -> None:
    """Raise NoSuchNamespace, which ends `answer`, if the namespace does not exist."""
    from gang_scheduler.inspection.cluster import namespace_must_exist  # noqa: PLC0415

    if reading.namespace:
        await namespace_must_exist(server, reading.namespace, reading.cluster.cache)


def refuse_answer(error: "ApiError", needs: str = "") -> NoReturn:
    """Exit with the message and status for an error of the API server.

    If access is denied, the line `needs` is printed as well.
    """
    if error.status == 401:
        refuse(["error: You must be logged in to the server (Unauthorized)"], Exit.NOT_ALLOWED)
    if error.status == 403:
        lines = (f"Error from server (Forbidden): {error.message}", needs)
        refuse(filter(None, lines), Exit.NOT_ALLOWED)
    if error.status == 404:
        refuse([f"Error from server (NotFound): {error.message}"], Exit.NOT_FOUND)
    if 400 <= error.status < 500:
        refuse([f"Error from server: {error.message}"])
    refuse([f"Unable to connect to the server: {error.message}"], Exit.UNREACHABLE)


def refuse_name(kind: str, name: str, known: Iterable[str] = ()) -> NoReturn:
    """End the process because no object has this name; `known` are names that may be meant."""
    hint = similar_names_hint(name, sorted(known))
    not_found = f'Error from server (NotFound): {kind} "{name}" not found{hint}'
    refuse([not_found], Exit.NOT_FOUND)


def seconds(text: str, option: str = "--request-timeout") -> float:
    """Return a timeout as kubectl takes it: a Go duration, or whole seconds."""
    if text.isdecimal():
        return float(text)
    try:
        return fields.seconds(text, option, or_zero=True)
    except InvalidField as error:
        refuse([str(error)])
