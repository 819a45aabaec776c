"""`page`: the cluster in a browser."""

from typing import Any

import click

from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import Asked, port_option, with_cluster


@click.command("page", cls=HelpfulCommand, example="page -f snapshot.jsonl.gz")
@with_cluster
@port_option("--port", "Port on 127.0.0.1; 0: any free one.")
@click.option(
    "--replay",
    "moved",
    metavar="FILE",
    help="Show a replay at any time, on a map: FILE was written by `replay --moves FILE`.",
)
@click.option(
    "--history",
    metavar="FILE",
    help="Keep 24 hours of decisions, states and GPUs in FILE: a restart of the page does not "
    "forget them. The cluster is then read each minute, even while no browser asks.",
)
@click.option(
    "--auth",
    type=click.Choice(["key", "token", "proxy"]),
    default="key",
    help="Who may open the page. key: you, with the printed address. token: users with a token "
    "of the API server. proxy: users whom a proxy names in X-Remote-User and X-Remote-Group.",
)
@click.option(
    "--listen",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="The address to listen on; another one than 127.0.0.1 takes --auth token or proxy.",
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help=(
        "A host name of the page, in addition to localhost. Requests with other names are "
        "refused. Repeatable."
    ),
)
@click.option(
    "--map",
    "map_for",
    type=click.Choice(["all", "readers"]),
    default="all",
    help="Users that see the map, with --auth token or proxy. all: also users that may not list "
    "nodes, without names of nodes. readers: only users that may list nodes.",
)
@click.option("--tls-certificate", default="", metavar="FILE", help="Serve HTTPS with it.")
@click.option("--tls-key", default="", metavar="FILE", help="The key of --tls-certificate.")
@click.option(
    "--proxy-ca",
    default="",
    metavar="FILE",
    help="With --auth proxy: the CA that signed the certificate which the proxy shows.",
)
@port_option("--probes-port", "Serve /healthz on this port; 0: nowhere.")
def page_command(
    *,
    port: int,
    moved: str | None,
    history: str | None,
    **given: Any,  # noqa: ANN401 - the cluster's and the server's options.
) -> None:
    """Show the cluster in a browser: what waits, why, and what runs; of all namespaces without -n.

    The page listens on 127.0.0.1 only, and reads with your rights. The address that is printed has
    a key, which is good for one browser. The page changes nothing, and ends with ctrl-C. With
    --auth token or proxy it is a page for all users of a cluster: each sees what it may list.
    """
    from gang_scheduler.cli.answers import page  # noqa: PLC0415 - not for help.

    names = (
        "auth",
        "listen",
        "hosts",
        "map_for",
        "tls_certificate",
        "tls_key",
        "proxy_ca",
        "probes_port",
    )
    entry = page.Entry(port=port, **{name: given.pop(name) for name in names})
    if moved is not None:
        page.answer_replay(moved, entry, history)
    else:
        page.answer(Asked(**given), entry, history)
