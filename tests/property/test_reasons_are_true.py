"""Law: what a gang that waits is told first is true."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import IfEmpty, Plan, Refused
from property.random_cases import KINDS, SEEDS, Kind, alike, dice_of
from property.worlds import STRATEGIES, World, worlds

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
IN_EMPTY = {True: IfEmpty.FITS, False: IfEmpty.TOO_LARGE}


def bound(plan: Plan) -> int:
    """Return how many pods a plan binds."""
    return sum(len(each.binds) for each in plan.placed)


def with_minimum(waits: Gang, minimum: int) -> Gang:
    return replace(waits, min_member=minimum)


def short(plan: Plan) -> Iterator[Refused]:
    """Yield the gangs that a plan refuses for lack of room, no part of which is placed."""
    return (each for each in plan.refused if each.misfit is not None and not each.left_over)


@given(worlds(), STRATEGIES)
def test_a_gang_fits_the_empty_cluster_if_it_is_placed_alone_on_nodes_without_pods(
    world: World, strategy: str
) -> None:
    for each in short(world.plan(strategy)):
        if each.gang.bound or each.gang.was_whole:
            assert each.if_empty is None
            continue
        alone = World(world.nodes, (), (each.gang,)).plan(strategy)
        assert IN_EMPTY[bound(alone) > 0] is each.if_empty


@EVERY_KIND
@given(seed=SEEDS)
def test_so_does_a_gang_that_must_gather(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))
    empty = replace(case, network=replace(case.network, bound=()))
    fits = bound(empty.plan()) > 0

    for each in short(case.plan()):
        if each.if_empty is not IfEmpty.NOT_SEARCHED and each.with_group is None:
            assert IN_EMPTY[fits] is each.if_empty


@given(worlds(classes=1, rigid=True), STRATEGIES)
def test_as_many_members_fit_as_would_be_placed(world: World, strategy: str) -> None:
    for waits in world.gangs:
        for each in short(world.with_gangs(waits).plan(strategy)):
            placed = bound(world.with_gangs(with_minimum(waits, 1)).plan(strategy))
            assert each.misfit is not None
            assert placed == each.misfit.fits


@given(worlds(rigid=True), STRATEGIES)
def test_of_members_that_differ_as_many_fit_as_is_said_or_more(world: World, strategy: str) -> None:
    for waits in world.gangs:
        for each in short(world.with_gangs(waits).plan(strategy)):
            assert each.misfit is not None
            fits = each.misfit.fits
            if fits:
                assert fits <= bound(world.with_gangs(with_minimum(waits, fits)).plan(strategy))


@given(seed=SEEDS)
def test_as_many_members_fit_in_the_best_domain_as_would_be_placed(seed: int) -> None:
    case = alike(dice_of(seed))

    for each in short(case.plan()):
        assert each.misfit is not None
        assert bound(replace(case, minimum=1).plan()) == each.misfit.fits


@EVERY_KIND
@given(seed=SEEDS)
def test_what_is_said_at_most_is_never_less(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    for each in short(case.plan()):
        if each.misfit is not None and each.misfit.at_most and not case.parts:
            assert bound(replace(case, minimum=1).plan()) <= each.misfit.fits


@given(worlds(classes=1, rigid=True), STRATEGIES)
def test_with_what_is_short_on_one_node_one_more_member_fits(world: World, strategy: str) -> None:
    for waits in world.gangs:
        for each in short(world.with_gangs(waits).plan(strategy)):
            short_of = each.misfit.shortage if each.misfit else None
            if each.misfit is None or short_of is None or not short_of.lacking:
                continue
            offered = {name for one in world.nodes for name, _ in one.allocatable}
            if not offered.issuperset(name for name, _ in short_of.lacking):
                continue  # Pods may be written on nodes to use what no node has.
            larger = (_with_more(world, one, short_of.lacking) for one in world.nodes)
            elastic = with_minimum(waits, 1)
            most = max(bound(some.with_gangs(elastic).plan(strategy)) for some in larger)
            assert each.misfit.fits < most


def _with_more(world: World, larger: Node, lacking: tuple[tuple[str, int], ...]) -> World:
    """Return the world in which one node has so much more."""
    allocatable = Counter(dict(larger.allocatable)) + Counter(dict(lacking))
    grown = replace(larger, allocatable=tuple(sorted(allocatable.items())))
    return replace(world, nodes=tuple(grown if each is larger else each for each in world.nodes))
