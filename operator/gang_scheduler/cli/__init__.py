"""The command line: parse, call, print. A file a command.

| module       | what it holds                                              |
|--------------|------------------------------------------------------------|
| run          | `run`: the operator                                        |
| cluster      | `cluster`: the nodes of each domain, and what is on a node |
| list         | `list`: all gangs, in the order of turns                   |
| explain      | `explain`: why a gang waits, and what would help           |
| queues       | `queues`: the tree of queues, and what waits in one        |
| simulate     | `simulate`: decisions on manifests, without a cluster      |
| snapshot     | `snapshot`: a cluster in a file, for bug reports           |
| completion   | what shells offer                                          |
| kubectl_gang | the same commands as a plugin of kubectl                   |
| options      | settings as options                                        |
| sources      | common options of commands that read, and what they read   |
| printing     | how answers are printed                                    |
| exits        | exit statuses                                              |
"""

import click

import gang_scheduler
from gang_scheduler.cli.cluster import cluster_command
from gang_scheduler.cli.completion import completion_command
from gang_scheduler.cli.explain import explain_command
from gang_scheduler.cli.list import list_command
from gang_scheduler.cli.queues import queues_command
from gang_scheduler.cli.run import run_command
from gang_scheduler.cli.simulate import simulate_command
from gang_scheduler.cli.snapshot import snapshot_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gang_scheduler.__version__, prog_name="py-gang-scheduler")
def main() -> None:
    """Schedule gangs of pods on Kubernetes: all of them start, close together, or none does."""


main.add_command(cluster_command)
main.add_command(completion_command)
main.add_command(list_command)
main.add_command(queues_command)
main.add_command(run_command)
main.add_command(simulate_command)
main.add_command(snapshot_command)
main.add_command(explain_command)
