"""`wait`, `logs` and `cancel`: wait for a gang, print its log, or end it."""

import functools
import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.submit import cancelling, log_lines
from gang_scheduler.submit.gang_states import NoSuchGang, State, state_of, waited
from gang_scheduler.submit.refusals import Refused

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

Given = Mapping[str, Any]


def wait(given: Given) -> None:
    """Wait for a gang; exits with 1 if it does not reach the requested phase."""
    limit = given["timeout"]
    seconds = None if limit is None else cluster_sources.seconds(limit, "--timeout")
    goal = Phase(given["goal"])
    reached, state = _answered(given, functools.partial(_wait, given, goal, seconds))
    click.echo(_said(given["name"], state))
    if not reached:
        sys.exit(Exit.NOT_TRUE)


def logs(given: Given) -> None:
    """Print the lines of logs as they come."""
    if given["all_ranks"] and given["rank"] is not None:
        refuse(["--rank, --all: give one of them"])
    rank = None if given["all_ranks"] else given["rank"] or 0
    _answered(given, functools.partial(_print, given, rank, follow=given["follow"]))


def cancel(given: Given) -> None:
    """Delete the object that owns a gang, and print its name."""
    _answered(given, functools.partial(_cancel, given))


def to_the_end(given: Given, name: str) -> None:
    """Print the log of the first member until the gang ends; exits with 1 if the gang fails.

    Ctrl-C only ends the command: the job keeps running.
    """
    wanted = {**given, "name": name}
    _answered(wanted, functools.partial(_print, wanted, 0, follow=True))
    reached, state = _answered(wanted, functools.partial(_wait, wanted, Phase.FINISHED, None))
    click.echo(_said(name, state), err=True)
    if not reached:
        sys.exit(Exit.NOT_TRUE)


def _answered(given: Given, ask: Any) -> Any:  # noqa: ANN401 - the answer of any question.
    try:
        return cluster_sources.answer(Asked.of_server(given), ask)
    except NoSuchGang as error:
        refuse(error.lines, Exit.NOT_FOUND)
    except Refused as error:
        refuse(error.lines)


def _reading(given: Given, server: "Server") -> Any:  # noqa: ANN401 - a function.
    namespace = given["namespace"] or server.namespace
    return functools.partial(state_of, server, given["name"], namespace)


async def _wait(
    given: Given, goal: Phase, seconds: float | None, server: "Server"
) -> tuple[bool, State]:
    return await waited(_reading(given, server), goal, seconds)


async def _print(given: Given, rank: int | None, server: "Server", *, follow: bool) -> None:
    lines = log_lines.lines(server, _reading(given, server), rank=rank, follow=follow)
    # The reader may be gone before the end, as with `| head`.
    async with aclosing(lines) as found:
        async for line in found:
            click.echo(f"{line.rank}: {line.text}" if rank is None else line.text)


async def _cancel(given: Given, server: "Server") -> None:
    namespace = given["namespace"] or server.namespace
    owner = await cancelling.owner_of(server, given["name"], namespace)
    if given["dry_run"]:
        click.echo(f"{owner.name} would be deleted")
        return
    await cancelling.delete(server, owner, force=given["force"])
    click.echo(f"{owner.name} deleted, and all that it owns")


def _said(name: str, state: State) -> str:
    why = f": {state.summary}" if state.summary and not state.is_over else ""
    reason = f" ({state.reason})" if state.reason and not state.is_over else ""
    return f"{name}: {state.phase.value}{reason}{why}"
