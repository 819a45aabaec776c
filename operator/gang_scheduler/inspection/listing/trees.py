"""Network trees for people: the use of domains, and how many waiting members fit there.

Each tree is a table with indented rows. The table is short however large the cluster: it has layers
from the top while there are lines left, and the domains in the messages of waiting gangs.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import click
import numpy as np

from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.listing.nodes import is_of_device_plugin
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.plan import Offers, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU, quantity
from gang_scheduler.model.topology import Domain, Topology, build
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.nodes import NodeUsage


def heading(resource: str) -> str:
    """Return how a table heads the column of a resource."""
    return resource if is_of_device_plugin(resource) else resource.upper()


def use(resource: str, used: int, offered: int) -> str:
    """Return the used and the offered amount as `4/8`."""
    return f"{quantity(resource, used)}/{quantity(resource, offered)}"


MOST_LINES: Final = 40
MOST_GANGS: Final = 3
MOST_RESOURCES: Final = 2
NAMES_SHOWN: Final = 10
_OFFER: Final = re.compile(r"([0-9]+) of ([0-9]+)")

Spot = tuple[int, int]
"""A domain of a tree: its depth, and its place in that level."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """A gang that waits for room, and how many of its members fit in the best domains."""

    gang: str
    needs: int
    slots: Mapping[Spot, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """The use of a resource: arrays with a number for each node, in the order of the tree.

    If `resource` is "", nodes are counted.
    """

    resource: str
    used: IntArray
    offered: IntArray

    @property
    def heading(self) -> str:
        return heading(self.resource) if self.resource else "NODES"

    def by_domain(self, starts: IntArray) -> list[str]:
        """Return the table cells of one level; `starts` has the first node row of each domain."""
        used = np.add.reduceat(self.used, starts).tolist()
        offered = np.add.reduceat(self.offered, starts).tolist()
        return [use(self.resource, *each) for each in zip(used, offered, strict=True)]


def to_draw(asked: Mapping[GangKey, Topology], cache: Cache) -> list[Topology]:
    """Return the trees that gangs request, else the first tree, unless that has only nodes."""
    first = (
        build(tree_spec, cache.node_usage.table())
        for tree_spec in cache.topologies.tree_specs()[:1]
    )
    trees = {tree.tree_spec: tree for tree in asked.values() or first}
    return [tree for tree in trees.values() if len(tree.layers) > 1]


def resources_that_matter(pods: Iterable[Pod]) -> list[str]:
    """Return the scarce resources that pods request: the first extended resources, else CPU."""
    asked = {name for pod in pods for name, amount in pod.pod_class.requests if amount}
    return sorted(filter(is_of_device_plugin, asked))[:MOST_RESOURCES] or [CPU]


def draw(
    tree: Topology,
    usage: NodeUsage,
    refused: Sequence[Refused],
    resources: Sequence[str],
    page: Page,
) -> Iterator[str]:
    """Yield a table with the domains of a tree, and lines on the domains and nodes left out."""
    outside = tree.outside_names
    yield f"{tree.tree_spec.name} (used/all)"
    if len(tree.rows):
        wishes = [*itertools.islice(_wishes(tree, refused), MOST_GANGS)]
        shown = _shown(tree, wishes)
        yield from _table(tree, shown, [*_uses(tree, usage, resources)], wishes, page)
        yield from _left_out(tree, shown)
    if outside:
        more = f" and {len(outside) - NAMES_SHOWN} more" if len(outside) > NAMES_SHOWN else ""
        names = ", ".join(outside[:NAMES_SHOWN])
        yield f"outside, for lack of a label: {names}{more}"


def painted_offers(_: int, text: str) -> str:
    """Return a cell, in colour if a domain offers a gang less than it needs."""
    found = _OFFER.fullmatch(text)
    return click.style(text, fg="yellow") if found and int(found[1]) < int(found[2]) else text


def _table(
    tree: Topology,
    shown: Sequence[Spot],
    uses: Sequence[_Use],
    wishes: Sequence[_Wish],
    page: Page,
) -> Iterator[str]:
    columns = [[use.by_domain(level.starts) for use in uses] for level in tree.levels]
    rows = [
        [
            "  " * depth + _name(tree, depth, place),
            *(column[place] for column in columns[depth]),
            *(_offer(wish, (depth, place)) for wish in wishes),
        ]
        for depth, place in shown
    ]
    numbers = [use.heading for use in uses]
    headings = ["DOMAIN", *numbers, *(wish.gang for wish in wishes)]
    yield from table_layout.table_lines(headings, rows, page, numbers)


def _name(tree: Topology, depth: int, place: int) -> str:
    level = tree.levels[depth]
    # A node is shown by its name, without its path.
    words = (
        (level.names[place],) if level.layer == NODE_LAYER else (level.layer, level.names[place])
    )
    return "/".join(filter(None, words))


def _offer(wish: _Wish, spot: Spot) -> str:
    slots = wish.slots.get(spot)
    return "" if slots is None else f"{slots} of {wish.needs}"


def _uses(tree: Topology, usage: NodeUsage, resources: Sequence[str]) -> Iterator[_Use]:
    nodes = usage.table()
    offered = nodes.allocatable[tree.rows]
    used = offered - usage.free()[tree.rows]
    in_use = np.count_nonzero((used > 0).any(axis=1, keepdims=True), axis=1)
    yield _Use("", in_use, np.ones_like(in_use))
    for name in resources:
        if name in nodes.axis:
            column = nodes.axis[name]
            yield _Use(name, used[:, column], offered[:, column])


def _wishes(tree: Topology, refused: Iterable[Refused]) -> Iterator[_Wish]:
    for each in refused:
        misfit = each.misfit
        if misfit is not None and misfit.offers is not None:
            slots = _slots(tree, misfit.offers)
            if slots:
                yield _Wish(str(each.gang.key), misfit.needs, slots)


def _slots(tree: Topology, offers: Offers) -> dict[Spot, int]:
    """Return how many members fit, by domain of the tree; empty if the offers are of another."""
    wanted: dict[Domain, int] = dict(offers.best)
    layers = {domain.layer for domain in wanted}
    spots = (
        (depth, place)
        for depth, level in enumerate(tree.levels)
        if level.layer in layers
        for place in range(len(level))
    )
    named = {spot: tree.domain(*spot) for spot in spots}
    return {spot: wanted[domain] for spot, domain in named.items() if domain in wanted}


def _shown(tree: Topology, wishes: Iterable[_Wish]) -> list[Spot]:
    """Return the domains that get a line, depth first: upper layers, and domains with offers."""
    shown: set[Spot] = {(0, 0)}
    for depth, level in enumerate(tree.levels[1:], start=1):
        if len(shown) + len(level) > MOST_LINES:
            break
        shown.update((depth, place) for place in range(len(level)))
    if len(shown) == 1:
        shown.update((1, place) for place in range(MOST_LINES))
    for wish in wishes:
        for spot in wish.slots:
            shown.update(_up(tree, spot))
    return sorted(shown, key=lambda spot: (int(tree.levels[spot[0]].starts[spot[1]]), spot))


def _up(tree: Topology, spot: Spot) -> Iterator[Spot]:
    """Yield a domain and all domains that contain it."""
    depth, place = spot
    while depth >= 0:
        yield depth, place
        place = int(tree.levels[depth].parents[place])
        depth -= 1


def _left_out(tree: Topology, shown: Sequence[Spot]) -> Iterator[str]:
    left = {
        level.layer: len(level) - sum(1 for at, _ in shown if at == depth)
        for depth, level in enumerate(tree.levels[:-1])
    }
    words = ", ".join(f"{number} of {layer}" for layer, number in left.items() if number)
    if words:
        yield f"not shown: {words}"
