"""Law: a gang that does not fit takes the cheapest room there is, and leaves no gang broken."""

import pytest
from hypothesis import given

from property import oracle
from property.full_clusters import KINDS, Kind
from property.random_cases import SEEDS, dice_of

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@EVERY_KIND
@given(seed=SEEDS)
def test_no_cheaper_victims_exist_and_some_are_found_if_there_are_any(
    kind: Kind, seed: int
) -> None:
    case = kind(dice_of(seed))

    if case.fits_now():
        assert (1, 0) == (len(case.plan.placed), len(case.plan.preemptions))
    elif case.cheapest() is None:
        assert (0, 0) == (len(case.plan.placed), len(case.plan.preemptions))
    else:
        assert case.made is not None
        assert case.cheapest() == case.judge.cost(case.made.victims)


@EVERY_KIND
@given(seed=SEEDS)
def test_no_victim_outranks_is_protected_or_is_left_in_a_broken_gang(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    if case.made is not None:
        victims = case.made.victims
        assert all(each.pod.priority <= case.judge.below for each in victims)
        assert case.judge.is_allowed(victims)


@EVERY_KIND
@given(seed=SEEDS)
def test_no_victim_can_be_spared(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    if case.made is not None:
        for spared in case.judge.fewer(case.made.victims):
            assert not case.fits_without(spared)


@EVERY_KIND
@given(seed=SEEDS)
def test_every_member_fits_once_the_victims_are_gone(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    if case.made is not None:
        gone = {each.pod.uid for each in case.made.victims}
        pods = [each.pod for each in case.judge.staying if each.pod.uid not in gone]
        asks = {each.name: oracle.on(each, pods) for each in case.nodes}
        nodes = {each.name: each for each in case.nodes}
        for bind in case.made.nominations:
            assert oracle.accepts(nodes[bind.node], asks[bind.node], bind.pod.pod_class)
            asks[bind.node].append(bind.pod.pod_class)
        assert case.minimum == len(case.made.nominations)
        racks = {nodes[bind.node].labels["rack"] for bind in case.made.nominations}
        assert len(racks) == 1 or not case.gathers
