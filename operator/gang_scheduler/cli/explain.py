"""`explain`: why a gang waits, and which changes would help."""

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import Asked, common_options


@click.command("explain", cls=HelpfulCommand, example="explain llama-pretrain -n research")
@click.argument("name", shell_complete=completion.gangs)
@common_options("table", "wide", "json", "yaml", tables=False)
@click.option("--all", "all_domains", is_flag=True, help="All domains, not only the best.")
@click.option("--since", metavar="RFC3339", help="Leave out older history.")
@click.option("--at", metavar="RFC3339", help="Explain for this time; only with -f.")
@click.option(
    "-w",
    "--watch",
    is_flag=True,
    help="Print again when something has changed, and mark the changes.",
)
def explain_command(
    *,
    asked: Asked,
    name: str,
    all_domains: bool,
    since: str | None,
    at: str | None,
    watch: bool,
) -> None:
    """Say why NAME waits, when it starts, and what would help; or where it runs.

    NAME is a PodGroup, a workload such as pytorchjob/llama, a gang or a pod, searched in this
    order; with its namespace, as in research/llama, instead of -n. Exits with 0 whatever is found,
    with 2 if several have that name, and with 3 if none has.
    """
    from gang_scheduler.cli.answers import explain  # noqa: PLC0415 - not for help.

    wanted = explain.Wanted(name, all_domains=all_domains, since=since, at=at)
    explain.answer(asked, wanted, watch=watch)
