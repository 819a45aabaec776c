"""`page`: the cluster in a browser, served until ctrl-C."""

import asyncio
import functools
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from aiohttp import web

from gang_scheduler import gc_tuning
from gang_scheduler.cli.exits import refuse
from gang_scheduler.cli.reading import cluster_sources, settings_of_operator
from gang_scheduler.cli.reading.cluster_sources import Reading
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection import live
from gang_scheduler.page import access, replays, routes, serving
from gang_scheduler.page.access import Access, Door
from gang_scheduler.page.history import Past
from gang_scheduler.page.history_file import HistoryFile, UnusableHistoryError
from gang_scheduler.page.serving import Listening, UnusableFilesError, Users
from gang_scheduler.page.sources import ClusterSource, OfFiles, OfServer, Views
from gang_scheduler.replay import moves
from gang_scheduler.settings.policy import Policy
from gang_scheduler.telemetry import family

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server


class Entry(NamedTuple):
    """How users reach the page: the values of the options."""

    port: int
    auth: str
    listen: str
    hosts: tuple[str, ...]
    map_for: str
    tls_certificate: str
    tls_key: str
    proxy_ca: str
    probes_port: int


OWN: Final = "key"
"""The value of --auth that lets in only the user who starts the page."""
MAP_FOR_ALL: Final = "all"
_OF_USERS: Final = ("hosts", "tls_certificate", "tls_key", "proxy_ca", "probes_port")
_FLAGS: Final = {"hosts": "--allowed-host"}


def answer(asked: Asked, entry: Entry, history: str | None) -> None:
    """Serve the page; exits with a message if the cluster or its history cannot be read."""
    _check(entry, "-f" if asked.filenames else "")
    if asked.filenames:
        _refuse_history(history, "-f")
        source, title = _of_files(asked)
        past = Past()
    else:
        source, title, host = _of_server(asked)
        past = _past(history, f"{host}, {asked.namespace or 'all namespaces'}")

    def application(door: Door) -> web.Application:
        return routes.application(Views(source, past=past), door, title)

    if entry.auth == OWN:
        _serve(application, entry.port)
        return
    map_for_all = entry.map_for == MAP_FOR_ALL
    users = Users(entry.auth, asked.kubeconfig, asked.context, title, map_for_all)
    listening = Listening(
        *(entry.listen, entry.port, entry.hosts, entry.tls_certificate, entry.tls_key),
        *(entry.proxy_ca, entry.probes_port),
    )
    _run(serving.serve(application, users, listening, click.echo), entry)


def _check(entry: Entry, data: str) -> None:
    """Refuse options that contradict each other; `data` is the option that names a file, or ""."""
    if entry.auth == OWN:
        if entry.listen != access.HOST:
            refuse(
                [f"--listen: {entry.listen}: without --auth token or proxy, it is {access.HOST}"]
            )
        for name in _OF_USERS:
            if given := getattr(entry, name):
                flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
                said = ", ".join(given) if isinstance(given, tuple) else given
                refuse([f"{flag}: {said}: it takes --auth token or proxy"])
        if entry.map_for != MAP_FOR_ALL:
            refuse([f"--map: {entry.map_for}: it takes --auth token or proxy"])
    elif data:
        refuse([f"--auth: {entry.auth}: the data of {data} is yours alone"])
    if bool(entry.tls_certificate) != bool(entry.tls_key):
        lacks = "--tls-key" if entry.tls_certificate else "--tls-certificate"
        refuse([f"{lacks}: it is required, because the other file of TLS is given"])
    is_proxy = entry.auth == serving.PROXY
    if is_proxy and not (entry.proxy_ca and entry.tls_certificate):
        refuse(["--auth: proxy: it takes --proxy-ca, --tls-certificate and --tls-key"])
    if entry.proxy_ca and not is_proxy:
        refuse([f"--proxy-ca: {entry.proxy_ca}: it takes --auth proxy"])


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


def answer_replay(file: str, entry: Entry, history: str | None) -> None:
    """Serve the map of a replay; exits with a message if the file cannot be read."""
    _check(entry, "--replay")
    _refuse_history(history, "--replay")
    try:
        found = moves.read(Path(file))
    except OSError as error:
        refuse([f"--replay: {file}: cannot be read: {error.strerror}"])
    except moves.UnreadableMoves as error:
        refuse([f"--replay: {file}: {error}"])
    _serve(lambda access: replays.application(found, access, Path(file).name), entry.port)


def _serve(application: Callable[[Access], web.Application], port: int) -> None:
    try:
        _run_until_ended(access.serve(application, port, _tell))
    except OSError as error:
        refuse([f"--port: {port}: {error.strerror}"])


def _run(serving_users: Coroutine[Any, Any, None], entry: Entry) -> None:
    try:
        _run_until_ended(serving_users)
    except UnusableFilesError as error:
        refuse([str(error)])
    except OSError as error:
        refuse([f"--listen: {entry.listen}:{entry.port}: {error.strerror}"])


def _run_until_ended(served: Coroutine[Any, Any, None]) -> None:
    gc_tuning.collect_rarely()
    # End as with ctrl-C, and close the connections.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with cluster_sources.interruptible(), family.keeping_nothing():
        asyncio.run(served)


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
