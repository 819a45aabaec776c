"""Shell completion: commands, options, and names from the cluster if it answers at once."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from gang_scheduler.cli.exits import Exit
from gang_scheduler.cli.helping import HelpfulCommand

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

MOST_SECONDS: Final = 1.0
"""How long the cluster may take to answer. After that no name is offered."""
MOST_NAMES: Final = 500
NO_FILES, FILES = 4, 0
"""Numbers that follow the offers, as Cobra defines them: whether kubectl may also offer files."""
SHELLS: Final = ("bash", "zsh", "fish")

Ask = Callable[["Server", str], Awaitable[Iterable[str]]]


@click.command(
    "completion",
    cls=HelpfulCommand,
    example="completion bash > /etc/bash_completion.d/py-gang-scheduler",
    statuses=(Exit.DONE, Exit.BAD_INPUT),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL, to be sourced by it."""
    root = context.find_root()
    name = root.info_name or "py-gang-scheduler"
    made = get_completion_class(shell)
    if made is not None:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        click.echo(made(root.command, {}, name, variable).source())


def gangs(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of gangs in the requested namespace."""
    return _offered(context, incomplete, _names_of("gangs"))


def queues(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of queues."""
    return _offered(context, incomplete, _names_of("queues"))


def namespaces(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of namespaces."""
    return _offered(context, incomplete, _names_of("namespaces"))


def nodes(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of nodes."""
    return _offered(context, incomplete, _names_of("nodes"))


def _offered(context: click.Context, incomplete: str, ask: Ask) -> list[CompletionItem]:
    given = context.params
    if given.get("filenames"):
        return []
    import asyncio  # noqa: PLC0415 - commands and options are offered without it.

    try:
        asking = _asked(
            *(ask, given.get("kubeconfig") or "", given.get("context") or ""),
            given.get("namespace") or "",
        )
        found = asyncio.run(asking)
    except Exception:
        return []
    return [CompletionItem(name) for name in sorted(found) if name.startswith(incomplete)]


async def _asked(ask: Ask, kubeconfig: str, context: str, namespace: str) -> set[str]:
    # Imported here, since no other command line needs it; and before the clock starts.
    import anyio  # noqa: PLC0415

    from gang_scheduler.inspection import servers  # noqa: PLC0415

    with anyio.fail_after(MOST_SECONDS):
        async with servers.connected(kubeconfig, context, MOST_SECONDS) as server:
            return set(await ask(server, namespace or server.namespace))


def _names_of(called: str) -> Ask:
    """Return the function that asks for names of one kind."""

    async def ask(server: "Server", namespace: str) -> Iterable[str]:
        from gang_scheduler.inspection import completion_names  # noqa: PLC0415

        found: Iterable[str] = await getattr(completion_names, called)(
            server, namespace, MOST_NAMES
        )
        return found

    return ask


def answer_kubectl(group: click.Group, arguments: list[str]) -> None:
    """Print the completions that kubectl offers for a plugin; the last argument is incomplete."""
    *before, incomplete = arguments or [""]
    found = ShellComplete(group, {}, "kubectl gang", "").get_completions(before, incomplete)
    for each in found:
        if each.type == "plain":
            click.echo(f"{each.value}\t{each.help}" if each.help else each.value)
    click.echo(f":{FILES if any(each.type != 'plain' for each in found) else NO_FILES}")
