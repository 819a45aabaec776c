"""`cluster`: the nodes of each domain of the network, and what is on one node."""

from collections.abc import Sequence

import click

from gang_scheduler.api.kinds import NODES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli import completion, printing, sources
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.sources import Asked
from gang_scheduler.inspection import origins
from gang_scheduler.inspection.clusters import Cluster, Source
from gang_scheduler.inspection.listing import domains, node_states, node_view, shapes
from gang_scheduler.inspection.listing.shapes import Shape


@click.command("cluster")
@click.argument("node", required=False, shell_complete=completion.nodes)
@sources.common_options("table", "wide", "json", "yaml", "name")
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    help="How many layers to show: 0 is the cluster. Without it, all above the nodes.",
)
@click.option(
    "--shape",
    "given",
    multiple=True,
    metavar="RESOURCE=AMOUNT",
    help=(
        "What a member asks for, such as nvidia.com/gpu=8,cpu=4: the largest gang of such is shown "
        "that would start now. Repeatable. Without it, what most of the pods ask that wait."
    ),
)
def cluster_command(
    *, asked: Asked, node: str | None, depth: int | None, given: Sequence[str]
) -> None:
    """Show the nodes of each domain, and the largest gang that would start; or a NODE's pods."""
    chosen = [_shape(text) for text in given]
    cluster, _ = sources.read(asked)
    if cluster.source is Source.WRITTEN:
        resource = f'resource "{NODES.plural}" in API group ""'
        problem = f"cannot list {resource} at the cluster scope"
        refuse([f"Error from server (Forbidden): {problem}"], Exit.NOT_ALLOWED)
    text = _tree(asked, cluster, depth, chosen) if node is None else _node(asked, cluster, node)
    printing.show(asked, text)


def _shape(text: str) -> Shape:
    try:
        return shapes.parsed(text)
    except (ValueError, InvalidField) as error:
        refuse([f"--shape: {error}"])


def _tree(asked: Asked, cluster: Cluster, depth: int | None, chosen: Sequence[Shape]) -> str:
    most = shapes.commonest(cluster)
    shown = chosen or ([most] if most is not None else [])
    views = domains.trees(cluster, cluster.snapshot(), shown, depth)
    if asked.output in ("json", "yaml"):
        return printing.documented(domains.document(views, cluster), asked.output)
    if asked.output == "name":
        lines = [str(line.domain) for view in views for line in view.lines]
        return "".join(f"{line}\n" for line in lines)
    page = printing.page(asked, wide=asked.output == "wide")
    lines = [line for view in views for line in domains.table(view, page)]
    lines += node_states.lines(cluster.cache.node_usage.table())
    return "".join(f"{line}\n" for line in (*lines, origins.line(cluster)))


def _node(asked: Asked, cluster: Cluster, name: str) -> str:
    found = node_view.view(cluster, name)
    if found is None:
        sources.refuse_name(NODES.plural, name, cluster.cache.node_usage.table().rows)
    if asked.output in ("json", "yaml"):
        return printing.documented(node_view.document(found, cluster), asked.output)
    if asked.output == "name":
        return "".join(f"{pod.key}\n" for pod in found.pods)
    page = printing.page(asked, wide=asked.output == "wide")
    lines = [*node_view.table(found, cluster, page), origins.line(cluster)]
    return "".join(f"{line}\n" for line in lines)
