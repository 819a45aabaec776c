"""Law: what an attempt did not keep never happened."""

import operator
from functools import reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.scheduler.filters import host_ports, resources
from gang_scheduler.scheduler.trial import Share, Trial
from property.worlds import PORTS, World, asks, clusters

State = tuple[list[list[int]], dict[HostPort, list[int]]]


def state(trial: Trial) -> State:
    return trial.free.tolist(), {port: sorted(trial.ports.rows(port)) for port in PORTS}


def take_one(trial: Trial, asked: PodClass) -> Share | None:
    """Take room for one pod on the first node that has it."""
    slots = np.minimum(resources.slots(asked, trial), host_ports.slots(asked, trial))
    rows = np.flatnonzero(slots)[:1]
    if not len(rows):
        return None
    share = Share(asked, rows, np.array([1]))
    trial.assume(share)
    return share


def play(trial: Trial, moves: list[PodClass | None], held: list[Share]) -> None:
    """Take room for each ask; None gives the latest back."""
    for move in moves:
        if move is not None:
            share = take_one(trial, move)
            held += [share] if share else []
        elif held:
            trial.release(held.pop())


MOVES = st.lists(st.none() | asks(), max_size=6)


@given(clusters(), MOVES, MOVES, MOVES, st.booleans())
def test_undo_restores_room_and_ports(
    world: World,
    before: list[PodClass | None],
    outer: list[PodClass | None],
    inner: list[PodClass | None],
    keep_inner: bool,  # noqa: FBT001 - drawn by hypothesis.
) -> None:
    trial = Trial(world.snapshot())
    held: list[Share] = []
    play(trial, before, held)
    expected = state(trial)

    with trial.all_or_nothing():
        play(trial, outer, held)
        halfway = state(trial)
        still_held = list(held)
        with trial.all_or_nothing() as transaction:
            play(trial, inner, held)
            if keep_inner:
                transaction.commit()
        assert keep_inner or halfway == state(trial)
        play(trial, outer, held if keep_inner else still_held)

    assert expected == state(trial)


@given(clusters(), st.lists(asks(), max_size=8))
def test_giving_everything_back_is_as_if_nothing_was_taken(
    world: World, taken: list[PodClass]
) -> None:
    trial = Trial(world.snapshot())
    expected = state(trial)
    none: list[Share] = []
    held = reduce(operator.iadd, ([s] if (s := take_one(trial, a)) else [] for a in taken), none)

    for share in held:
        trial.release(share)

    assert expected == state(trial)
