"""`cluster`: the nodes of each domain of the network, and the pods on one node."""

from collections.abc import Sequence

from gang_scheduler.api.kinds import NODES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli import printing
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.cluster_sources import Reading
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import (
    devices,
    domains,
    node_view,
    nodes,
    table_layout,
    users,
)
from gang_scheduler.inspection.listing.domains import Shape
from gang_scheduler.inspection.listing.table_layout import Page


def answer_users(asked: Asked, node: str | None) -> None:
    """Print the users of scarce resources. Exits if a node is named: it has its own view."""
    if node is not None:
        refuse([f"--users: of all nodes; cluster {node} shows the pods on that one"])
    cluster, namespace = _read(asked)
    found = users.lines(cluster, namespace if asked.namespace else "")
    if asked.output in ("json", "yaml"):
        text = printing.documented(users.document(found, cluster), asked.output)
    elif asked.output == "name":
        text = "".join(f"{each}\n" for each in sorted({each.namespace for each in found}))
    else:
        page = printing.page(asked, wide=asked.output == "wide")
        lines = [*users.table(found, page)] if found else ["no scarce resources are used"]
        text = _ended(lines, cluster, page)
    printing.show(asked, text)


def _read(asked: Asked) -> Reading:
    """Return the cluster; ends the process unless the user may list all nodes and pods."""
    reading = cluster_sources.read(asked)
    if reading.cluster.source is Source.WRITTEN:
        resource = f'resource "{NODES.plural}" in API group ""'
        problem = f"cannot list {resource} at the cluster scope"
        refuse([f"Error from server (Forbidden): {problem}"], Exit.NOT_ALLOWED)
    return reading


def answer(asked: Asked, node: str | None, depth: int | None, given: Sequence[str]) -> None:
    """Print the domains down to a depth for the given shapes, or the pods on a node."""
    chosen = [_shape(text) for text in given]
    cluster, _ = _read(asked)
    text = _tree(asked, cluster, depth, chosen) if node is None else _node(asked, cluster, node)
    printing.show(asked, text)


def _shape(text: str) -> Shape:
    try:
        return domains.parsed_shape(text)
    except (ValueError, InvalidField) as error:
        refuse([f"--shape: {error}"])


def _tree(asked: Asked, cluster: Cluster, depth: int | None, chosen: Sequence[Shape]) -> str:
    most = domains.commonest(cluster)
    shown = chosen or ([most] if most is not None else [])
    views = domains.trees(cluster, cluster.snapshot(), shown, depth)
    if asked.output in ("json", "yaml"):
        return printing.documented(domains.document(views, cluster), asked.output)
    if asked.output == "name":
        lines = [str(line.domain) for view in views for line in view.lines]
        return "".join(f"{line}\n" for line in lines)
    page = printing.page(asked, domains.painted, wide=asked.output == "wide")
    lines = [line for view in views for line in domains.table(view, page)]
    lines += devices.lines(devices.of_cluster(cluster))
    lines += nodes.node_lines(cluster.cache.node_usage.table())
    return _ended(lines, cluster, page)


def _node(asked: Asked, cluster: Cluster, name: str) -> str:
    found = node_view.view(cluster, name)
    if found is None:
        cluster_sources.refuse_name(NODES.plural, name, cluster.cache.node_usage.table().rows)
    if asked.output in ("json", "yaml"):
        return printing.documented(node_view.document(found, cluster), asked.output)
    if asked.output == "name":
        return "".join(f"{pod.key}\n" for pod in found.pods)
    page = printing.page(asked, wide=asked.output == "wide")
    return _ended([*node_view.table(found, cluster, page)], cluster, page)


def _ended(lines: Sequence[str], cluster: Cluster, page: Page) -> str:
    """Return a text of these lines, with the origin of the answer at its end."""
    origin = table_layout.sentence_lines(inspection_cluster.origin_line(cluster), page)
    return "".join(f"{line}\n" for line in (*lines, *origin))
