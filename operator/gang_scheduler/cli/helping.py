"""Help texts (options in groups, examples, exit statuses), and commands that are loaded late."""

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from gang_scheduler.cli.exits import MEANINGS, Exit

GENERAL: Final = "Options"
READS: Final = (
    *(Exit.DONE, Exit.BAD_INPUT, Exit.NOT_FOUND),
    *(Exit.NOT_ALLOWED, Exit.UNREACHABLE, Exit.INTERRUPTED),
)
"""The exit statuses of commands that read a cluster."""


def statuses(own: Mapping[Exit, str]) -> Mapping[Exit, str]:
    """Return the exit statuses of a command that reads a cluster; `own` has meanings of its own."""
    found = {**dict.fromkeys(READS, ""), **own}
    return {each: found[each] or MEANINGS[each] for each in sorted(found)}


class Grouped(click.Option):
    """An option that help shows under the heading of its group."""

    heading: ClassVar[str] = GENERAL


class OfCluster(Grouped):
    """An option that selects the cluster, files and settings to read."""

    heading = "Which cluster"


class OfOutput(Grouped):
    """An option that says how the answer is printed."""

    heading = "Output"


class OfSettings(Grouped):
    """An option that sets a setting."""

    heading = "Settings"


class HelpfulCommand(click.Command):
    """A command whose help has an example and the meanings of its exit statuses."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - a command's.
        example: str = "",
        statuses: Mapping[Exit, str] | tuple[Exit, ...] = READS,
        **given: Any,  # noqa: ANN401 - a command's.
    ) -> None:
        super().__init__(*arguments, **given)
        self.example = example
        self.statuses = statuses

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None:
                heading = each.heading if isinstance(each, Grouped) else GENERAL
                groups.setdefault(heading, []).append(record)
        for heading, records in sorted(groups.items(), key=lambda item: item[0] != GENERAL):
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, and the exit statuses."""
        if self.example:
            with formatter.section("Example"):
                program = ctx.find_root().info_name or "py-gang-scheduler"
                formatter.write(f"{'':{formatter.current_indent}}{program} {self.example}\n")
        own = self.statuses if isinstance(self.statuses, Mapping) else {}
        with formatter.section("Exit status"):
            formatter.write_dl(
                [(str(int(each)), own.get(each, MEANINGS[each])) for each in self.statuses]
            )


class Lazy(NamedTuple):
    """Where a command is: its module and its name there, and its one-line help."""

    module: str
    name: str
    short_help: str


class LazyGroup(click.Group):
    """A group whose commands are imported only when they are called, or asked for their help."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - a group's.
        lazy: Mapping[str, Lazy] | None = None,
        **given: Any,  # noqa: ANN401 - a group's.
    ) -> None:
        super().__init__(*arguments, **given)
        self.lazy = dict(lazy or {})

    def loaded(self, name: str) -> click.Command:
        """Return an existing command, imported now."""
        found = self.lazy[name]
        command: click.Command = getattr(importlib.import_module(found.module), found.name)
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - a group's.
        """Return the names of all commands."""
        return sorted(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, imported now; None for an unknown name."""
        return self.loaded(cmd_name) if cmd_name in self.lazy else None

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - a group's.
        formatter: click.HelpFormatter,
    ) -> None:
        """Write all commands with their short help, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name].short_help) for name in sorted(self.lazy)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands, without importing any; else the options."""
        found = [
            CompletionItem(name, help=each.short_help)
            for name, each in sorted(self.lazy.items())
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]
