"""What members that are alike need, and how much of it there is."""

from dataclasses import replace

import pytest

from gang_scheduler.model.plan import Misfit, Offers, Refused, Shortage
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.topology import Domain
from gang_scheduler.report.words import room
from gang_scheduler.scheduler.filters import node_affinity, resources, taints, unschedulable
from support.builders import GPU, gang, pod

EIGHT = ((GPU, 8),)
WHOLE_NODES = Shortage(resources.obstacle, 12, EIGHT, asked=EIGHT, one_a_node=True)
SHARED = replace(WHOLE_NODES, one_a_node=False)
BLOCKS = tuple((Domain("Block", ("s1", name)), room) for name, room in (("a", 5), ("b", 3)))


def needs(
    shortage: Shortage = WHOLE_NODES,
    fits: int = 6,
    of: int = 7,
    offers: Offers | None = None,
    bound: int = 0,
) -> str:
    """Return what a gang is told."""
    waits = gang("a", pods=of, gpu=8, bound=bound)
    misfit = Misfit(12, fits, of, (), offers, shortage=shortage)
    return room.needs(Refused(waits, Reason.UNSCHEDULABLE, waits.pending), misfit)


def test_whole_nodes_are_counted() -> None:
    assert f"needs 7 nodes with 8 free {GPU}, 6 have them" == needs()
    assert f"needs 7 nodes with 8 free {GPU}, 1 has them" == needs(fits=1)
    assert f"needs 7 nodes with 8 free {GPU}, none has them" == needs(fits=0)


def test_members_that_share_nodes_are_counted() -> None:
    expected = f"needs room for 7 members with 8 {GPU} each, and there is room for 6"
    assert expected == needs(SHARED)
    expected = f"needs room for 7 members with 8 {GPU} each, and there is none"
    assert expected == needs(SHARED, fits=0)


def test_one_member_needs_a_node() -> None:
    assert f"needs a node with 8 free {GPU}, and none has them" == needs(fits=0, of=1)


def test_a_gang_that_has_started_needs_more() -> None:
    assert f"needs 2 more nodes with 8 free {GPU}, 1 has them" == needs(fits=1, of=2, bound=5)
    expected = f"needs one more node with 8 free {GPU}, and none has them"
    assert expected == needs(fits=0, of=1, bound=5)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (((GPU, 1),), f"1 free {GPU}, 6 have it"),
        ((("memory", 2**31),), "2Gi free memory, 6 have it"),
        ((("pods", 1),), "room for 1 more pod, 6 have it"),
        ((("cpu", 1500), (GPU, 1)), f"1.5 free cpu and 1 free {GPU}, 6 have them"),
    ],
)
def test_amounts_are_as_in_manifests(asked: tuple[tuple[str, int], ...], words: str) -> None:
    shortage = replace(WHOLE_NODES, asked=asked, lacking=asked)

    assert f"needs 7 nodes with {words}" == needs(shortage)


def test_of_ruled_out_nodes_those_that_may_come_back_are_named_first() -> None:
    ruled_out = (
        (taints.obstacle, 9),
        (unschedulable.obstacle, 2),
        (node_affinity.obstacle, 1),
    )

    found = needs(replace(WHOLE_NODES, ruled_out=ruled_out))

    expected = "6 have them; 2 more are cordoned, 9 more have taints that the pod does not tolerate"
    assert found.endswith(expected)


def test_nodes_are_called_so_where_members_were_counted() -> None:
    cordoned = ((unschedulable.obstacle, 1),)

    assert needs(replace(SHARED, ruled_out=cordoned)).endswith("6; 1 more node is cordoned")
    found = needs(replace(WHOLE_NODES, ruled_out=cordoned), fits=0)
    assert found.endswith("none that it may use has them; 1 other node is cordoned")


def test_a_node_that_lacks_only_a_part_is_reported() -> None:
    lacks_two = replace(WHOLE_NODES, lacking=((GPU, 2),))

    assert needs(lacks_two).endswith(f"6 have them; the next node is short of 2 {GPU}")
    assert needs(lacks_two, fits=0).endswith(f"; the nearest node is short of 2 {GPU}")


def test_domains_that_are_too_small_are_reported_the_best_first() -> None:
    found = needs(fits=5, of=8, offers=Offers(BLOCKS, more=2))

    assert f"no Block has 8 nodes with 8 free {GPU}: a has 5, b has 3 and 2 more" == found


def test_domains_where_members_share_nodes_have_room() -> None:
    found = needs(SHARED, fits=5, of=8, offers=Offers(BLOCKS))

    assert f"no Block has room for 8 members with 8 {GPU} each: a for 5, b for 3" == found


def test_domains_without_any_room_are_not_listed() -> None:
    empty = Offers(tuple((domain, 0) for domain, _ in BLOCKS))

    assert f"no Block has a node with 8 free {GPU}" == needs(fits=0, of=1, offers=empty)
    expected = f"no Block has room for a member with 8 {GPU}"
    assert expected == needs(SHARED, fits=0, of=1, offers=empty)


def test_the_only_domain_is_named() -> None:
    cordoned = replace(WHOLE_NODES, ruled_out=((unschedulable.obstacle, 1),))

    found = needs(cordoned, fits=5, of=8, offers=Offers(BLOCKS[:1]))

    expected = f"needs 8 nodes with 8 free {GPU} in Block a, 5 have them; in a 1 more is cordoned"
    assert expected == found


def test_slices_are_counted_whole() -> None:
    offers = Offers(BLOCKS, multiples=(("Rack", 2),))

    assert " each in whole slices: a for 4, b for 3" in needs(
        fits=4, of=8, offers=Offers(((BLOCKS[0][0], 4), BLOCKS[1]), multiples=offers.multiples)
    )


def test_of_more_domains_than_are_named_the_others_are_counted() -> None:
    best = tuple((Domain("Block", (f"b{i}",)), 5 - i) for i in range(5))

    found = needs(fits=5, of=8, offers=Offers(best, more=2))

    assert found.endswith(": b0 has 5, b1 has 4, b2 has 3 and 4 more")


@pytest.mark.parametrize(
    "misfit",
    [
        Misfit(12, 6, 7, ()),
        Misfit(12, 6, 7, (), shortage=replace(WHOLE_NODES, asked=())),
        Misfit(12, 6, 7, (), shortage=WHOLE_NODES, at_most=True),
        Misfit(12, 6, 9, (), shortage=WHOLE_NODES),
        Misfit(12, 6, 7, (), Offers(((Domain("Cluster", ()), 4),)), shortage=WHOLE_NODES),
        Misfit(12, 0, 7, (), Offers(()), shortage=WHOLE_NODES),
    ],
    ids=["no shortage", "rules of pods", "a bound", "of a group", "the cluster", "no domain"],
)
def test_what_would_not_be_true_is_not_said(misfit: Misfit) -> None:
    waits = gang("a", pods=7, gpu=8)

    assert "" == room.needs(Refused(waits, Reason.UNSCHEDULABLE, waits.pending), misfit)


def test_members_that_differ_are_not_counted_as_if_they_were_alike() -> None:
    waits = gang("a", members=[pod("a-0", gang="a", gpu=8), pod("a-1", gang="a", gpu=4)])
    refused = Refused(waits, Reason.UNSCHEDULABLE, waits.pending)

    assert "" == room.needs(refused, Misfit(12, 1, 2, (), shortage=WHOLE_NODES))
