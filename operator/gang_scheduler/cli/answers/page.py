"""`page`: the cluster in a browser, served until ctrl-C."""

import asyncio
import functools
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from aiohttp import web

from gang_scheduler import gc_tuning
from gang_scheduler.cli.exits import refuse
from gang_scheduler.cli.reading import cluster_sources, settings_of_operator
from gang_scheduler.cli.reading.cluster_sources import Reading
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection import live
from gang_scheduler.page import access, replays, routes
from gang_scheduler.page.access import Access
from gang_scheduler.page.history_file import HistoryFile, UnusableHistoryError
from gang_scheduler.page.past import Past
from gang_scheduler.page.sources import ClusterSource, OfFiles, OfServer, Views
from gang_scheduler.replay import moves
from gang_scheduler.settings.policy import Policy
from gang_scheduler.telemetry import family

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server


def answer(asked: Asked, port: int, history: str | None) -> None:
    """Serve the page; exits with a message if the cluster or its history cannot be read."""
    if asked.filenames:
        _refuse_history(history, "-f")
        source, title = _of_files(asked)
        past = Past()
    else:
        source, title, host = _of_server(asked)
        past = _past(history, f"{host}, {asked.namespace or 'all namespaces'}")

    def application(access: Access) -> web.Application:
        return routes.application(Views(source, past=past), access, title)

    _serve(application, port)


def _past(history: str | None, cluster: str) -> Past:
    if history is None:
        return Past()
    try:
        return Past(HistoryFile(Path(history), cluster))
    except OSError as error:
        refuse([f"--history: {history}: cannot be read or written: {error.strerror}"])
    except UnusableHistoryError as error:
        refuse([f"--history: {history}: {error}"])


def _refuse_history(history: str | None, other: str) -> None:
    if history is not None:
        refuse([f"--history: {history}: the data of {other} never changes, so nothing is kept"])


def answer_replay(file: str, port: int, history: str | None) -> None:
    """Serve the map of a replay; exits with a message if the file cannot be read."""
    _refuse_history(history, "--replay")
    try:
        found = moves.read(Path(file))
    except OSError as error:
        refuse([f"--replay: {file}: cannot be read: {error.strerror}"])
    except moves.UnreadableMoves as error:
        refuse([f"--replay: {file}: {error}"])
    _serve(lambda access: replays.application(found, access, Path(file).name), port)


def _serve(application: Callable[[Access], web.Application], port: int) -> None:
    gc_tuning.collect_rarely()
    # End as with ctrl-C, and close the connections.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with cluster_sources.interruptible(), family.keeping_nothing():
        try:
            asyncio.run(access.serve(application, port, _tell))
        except OSError as error:
            refuse([f"--port: {port}: {error.strerror}"])


def _tell(address: str) -> None:
    click.echo(f"{address}\nThe key is good for one browser. Ctrl-C ends the page.")


def _of_files(asked: Asked) -> tuple[ClusterSource, str]:
    reading = cluster_sources.of_files(asked)
    cluster_sources.refuse_unknown_namespace(reading)
    cluster_sources.tell(reading)
    policy = settings_of_operator.policy_of(asked.settings)
    names = ", ".join(Path(each).name for each in asked.filenames)
    return OfFiles(reading.cluster, asked.filenames, policy, asked.namespace), names


def _of_server(asked: Asked) -> tuple[ClusterSource, str, str]:
    # Read once before the page is served, so that an unreadable cluster ends the command.
    policy = settings_of_operator.policy_of(asked.settings)
    reading, host = cluster_sources.answer(
        asked, functools.partial(_first, asked, policy), needs=inspection_cluster.ASK_FOR_ALL
    )
    cluster_sources.tell(reading)
    seconds = cluster_sources.seconds(asked.request_timeout)
    source = OfServer(asked.kubeconfig, asked.context, seconds, asked.namespace, policy)
    return source, asked.context or host.partition("://")[2], host


async def _first(asked: Asked, policy: Policy, server: "Server") -> tuple[Reading, str]:
    """Return the cluster, and the address of its API server."""
    cluster = await live.read(server, asked.namespace or server.namespace, policy)
    reading = Reading(cluster, asked.namespace)
    await cluster_sources.must_know_namespace(reading, server)
    return reading, server.connection.host
