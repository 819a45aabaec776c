"""Law: an attempt that is undone leaves no volume chosen, and no volume is chosen twice."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import PRIVATE, Disk, Need, Provisioning, Storage, Volume, Volumes
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import gang, pod_class, snapshot
from support.volume_builders import DRIVER, LATE, LOCAL, disk, hosts, need, volumes

NODES = ("n1", "n2", "n3")
Move = tuple[PodClass, list[int], int]


@st.composite
def disks(draw: st.DrawFn) -> Volumes:
    """Draw volumes that some nodes reach, or all, and whether more are made."""
    found = [
        disk(f"d{i}", *draw(st.sets(st.sampled_from(NODES))), size=draw(st.integers(1, 3)))
        for i in range(draw(st.integers(0, 6)))
    ]
    made = {LATE: Provisioning()} | ({LOCAL: Provisioning()} if draw(st.booleans()) else {})
    return volumes(*found, made=made, limits={DRIVER: dict.fromkeys(NODES, 3)})


def needs() -> st.SearchStrategy[Need]:
    """Draw what claims ask for. One claim that several use asks for one thing."""
    own = st.builds(need, st.sampled_from([LOCAL, LOCAL, LATE]), st.integers(1, 3))
    shared = need(LOCAL, 2, claim="default/shared")
    return own | st.just(shared)


def one_of_each(drawn: list[Need]) -> tuple[Need, ...]:
    """Return needs as a pod has them: smallest first, and no claim twice."""
    named = {each.claim: each for each in drawn if each.claim}
    several = [*named.values(), *(each for each in drawn if not each.claim)]
    return tuple(sorted(several, key=lambda each: each.size))


storages = st.builds(
    Storage,
    needs=st.lists(needs(), max_size=2).map(one_of_each),
    sole=st.sampled_from([(), ("default/one",)]),
    disks=st.sampled_from([(), (Disk(("gce d",)),)]),
    attached=st.sampled_from([(), ((DRIVER, PRIVATE),), ((DRIVER, "x"),)]),
)
asks = storages.map(lambda storage: pod_class(storage=storage))
moves = st.lists(
    st.tuples(
        asks,
        st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True),
        st.sampled_from([1, 2, -1]),
    ),
    max_size=6,
)


def state(trial: Trial, seen: list[PodClass]) -> Any:
    """Return all that can be asked of the volumes of a trial."""
    choices, ledger = trial.volumes.choices, trial.volumes
    several = [each.storage.needs for each in seen if each.storage and each.storage.needs]
    return (
        [choices.room(each).tolist() for each in several],
        [choices.decide(each, row) for each in several for row in range(len(NODES))],
        ledger.in_use("default/one"),
        sorted(row for row, _ in ledger.disks()),
        ledger.attachments.used(DRIVER).tolist(),
        ledger.attachments.present(DRIVER, "x").tolist(),
    )


def play(trial: Trial, several: list[Move]) -> None:
    for asked, rows, count in several:
        share = Share(asked, np.array(sorted(rows)), np.full(len(rows), abs(count)))
        if count > 0:
            trial.assume(share)
        else:
            trial.release(share)


@given(disks(), moves, moves, moves)
def test_undo_restores_volumes(
    found: Volumes, before: list[Move], outer: list[Move], inner: list[Move]
) -> None:
    trial = Trial(snapshot(hosts(*NODES), volumes=found))
    seen = [asked for asked, _, _ in (*before, *outer, *inner)]
    play(trial, before)
    expected = state(trial, seen)

    with trial.all_or_nothing():
        play(trial, outer)
        halfway = state(trial, seen)
        with trial.all_or_nothing():
            play(trial, inner)
        assert halfway == state(trial, seen)

    assert expected == state(trial, seen)


@given(disks(), st.lists(st.tuples(storages, st.integers(1, 3)), max_size=4))
def test_every_volume_is_promised_once_and_to_a_claim_that_it_suits(
    found: Volumes, wanted: list[tuple[Storage, int]]
) -> None:
    gangs = [
        gang(f"g{i}", pods=size, created_at=i, storage=storage)
        for i, (storage, size) in enumerate(wanted)
    ]
    there = snapshot(hosts(*NODES), gangs, volumes=found)

    plan = schedule(there, PROFILES["binpack"])

    known = {each.name: each for several in found.available.values() for each in several}
    promised = [
        (each, name, bind.node)
        for placed in plan.placed
        for bind in placed.binds
        if bind.pod.pod_class.storage is not None
        for each, name in zip(bind.pod.pod_class.storage.needs, bind.volumes, strict=True)
    ]
    private = [name for each, name, _ in promised if name and not each.claim]
    assert len(private) == len(set(private))
    assert all(_is_right(each, known.get(name), node) for each, name, node in promised)
    assert all(name or each.storage_class in found.provisioning for each, name, _ in promised)


def _is_right(asked: Need, volume: Volume | None, node: str) -> bool:
    if volume is None:
        return True
    reached = volume.nodes is None or node in volume.nodes[0][0].values
    return reached and volume.suits(asked)
