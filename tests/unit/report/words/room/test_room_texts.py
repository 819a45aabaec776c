"""The first sentences of a gang that has no room."""

from dataclasses import replace

import pytest

from gang_scheduler.model.plan import (
    DevicesMissing,
    EmptyFlavor,
    IfEmpty,
    Misfit,
    Obstacle,
    Offers,
    PreemptionOutcome,
    PreemptionVerdict,
    Refused,
    Shortage,
    Unlabelled,
    Unmatched,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.topology import Domain
from gang_scheduler.report.words import room
from gang_scheduler.scheduler.filters import (
    devices,
    node_affinity,
    resources,
    taints,
    unschedulable,
)
from gang_scheduler.scheduler.policies import NodeFilter, RoomFilter
from gang_scheduler.scheduler.profile import COUPLED_FILTERS, NODE_FILTERS, ROOM_FILTERS
from support.builders import GPU, gang

FILTERS: tuple[NodeFilter | RoomFilter, ...] = (*NODE_FILTERS, *ROOM_FILTERS, *COUPLED_FILTERS)
OBSTACLES = [each.obstacle for each in FILTERS]
EIGHT_GPUS = Shortage(resources.obstacle, 12, ((GPU, 8),))
BLOCKS = (
    (Domain("BlockLayer", ("s1", "block-a")), 5),
    (Domain("BlockLayer", ("s1", "block-b")), 3),
)


def short(misfit: Misfit, *, pods: int = 7, min_member: int | None = None, bound: int = 0) -> str:
    """Return what a gang is told first."""
    waits = gang("a", pods=pods, min_member=min_member, bound=bound)
    return room.shortage(Refused(waits, Reason.UNSCHEDULABLE, waits.pending), misfit)


def ever(verdict: IfEmpty | None, shortage: Shortage = EIGHT_GPUS, nodes: int = 12) -> str:
    """Return what a gang is told of the empty cluster."""
    waits = gang("a")
    refused = Refused(waits, Reason.UNSCHEDULABLE, waits.pending, if_empty=verdict)
    return room.if_empty(refused, Misfit(nodes, 0, 1, (), shortage=shortage))


def test_how_many_fit_and_what_the_last_one_is_short_of() -> None:
    expected = f"6 of 7 members fit now; short of 8 {GPU} on one node."
    assert expected == short(Misfit(12, 6, 7, (), shortage=EIGHT_GPUS))


def test_of_several_that_do_not_fit_the_next_one_is_reported() -> None:
    expected = f"5 of 7 members fit now; the next one is short of 8 {GPU} on one node."
    assert expected == short(Misfit(12, 5, 7, (), shortage=EIGHT_GPUS))


def test_labels_that_no_node_has_are_named() -> None:
    unmatched = (Unmatched("gpu", "A100", "gpu=a100"), Unmatched("pool", "x"))
    misfit = Misfit(8, 0, 1, (), shortage=Shortage(node_affinity.obstacle, 8, unmatched=unmatched))

    expected = (
        "No node has the label gpu=A100 that nodeSelector asks for (did you mean gpu=a100?); "
        "no node has the label pool=x that nodeSelector asks for."
    )
    assert expected == short(misfit, pods=1)


def test_a_flavor_without_nodes_is_named_rather_than_what_pods_select() -> None:
    misfit = Misfit(8, 0, 1, (), shortage=Shortage(node_affinity.obstacle, 8))
    waits, spot = gang("a"), EmptyFlavor("spot", (("pool", "spot"), ("zone", "z")))
    refused = Refused(
        *(waits, Reason.UNSCHEDULABLE, waits.pending, misfit),
        if_empty=IfEmpty.TOO_LARGE,
        empty_flavors=(spot,),
    )

    expected = 'No node is of flavor "spot" (labels pool=spot, zone=z).'
    assert expected == room.shortage(refused, misfit)
    expected = (
        "It would not fit even the empty cluster: add such nodes, or change the labels of the "
        "flavor."
    )
    assert expected == room.if_empty(refused, misfit)


def test_a_single_pod_is_not_counted() -> None:
    found = short(Misfit(12, 0, 1, (), shortage=EIGHT_GPUS), pods=1)

    assert f"Short of 8 {GPU} on one node." == found


def test_amounts_are_written_as_in_manifests() -> None:
    lacking = (("cpu", 1500), ("memory", 3 * 2**29), ("pods", 1))
    found = short(Misfit(1, 0, 1, (), shortage=Shortage(resources.obstacle, 1, lacking)), pods=1)

    assert "Short of 1.5 cpu, 1.5Gi memory and room for 1 more pod on one node." == found


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (1, "1 of 12 nodes has a taint that the pod does not tolerate"),
        (9, "9 of 12 nodes have taints that the pod does not tolerate"),
    ],
)
def test_a_rule_is_reported_with_the_nodes_that_break_it(nodes: int, words: str) -> None:
    misfit = Misfit(12, 6, 7, (), shortage=Shortage(taints.obstacle, nodes))

    assert f"6 of 7 members fit now; then {words}." == short(misfit)


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda each: each.name)
def test_every_obstacle_has_words_for_one_node_and_for_several(obstacle: Obstacle) -> None:
    one = short(Misfit(2, 0, 1, (), shortage=Shortage(obstacle, 1)), pods=1)
    both = short(Misfit(2, 0, 1, (), shortage=Shortage(obstacle, 2)), pods=1)

    assert f"1 of 2 nodes {obstacle.one}." == one
    assert f"2 of 2 nodes {obstacle.several}." == both


def test_filters_of_one_obstacle_say_the_same() -> None:
    said = {(each.name, each.one, each.several) for each in OBSTACLES}

    assert len({each.name for each in OBSTACLES}) == len(said)


def test_what_domains_offer_is_reported_in_plain_words() -> None:
    misfit = Misfit(12, 5, 8, (), Offers(BLOCKS), shortage=EIGHT_GPUS)

    expected = (
        "5 of 8 members fit now; the best BlockLayer has room for 5 of 8: block-a 5, block-b 3; "
        f"the next one is short of 8 {GPU} on one node of block-a."
    )
    assert expected == short(misfit, pods=8)


def test_only_the_best_domains_are_named_first() -> None:
    best = tuple((Domain("BlockLayer", (f"b{i}",)), 5 - i) for i in range(5))

    found = short(Misfit(12, 5, 8, (), Offers(best, more=2)), pods=8)

    assert found.endswith(": b0 5, b1 4, b2 3 and 4 more.")


def test_domains_of_one_name_are_distinguished() -> None:
    best = tuple((Domain("BlockLayer", (spine, "b")), 5) for spine in ("s1", "s2"))

    assert short(Misfit(12, 5, 8, (), Offers(best)), pods=8).endswith(": s1/b 5, s2/b 5.")


def test_a_bound_is_called_one() -> None:
    found = short(Misfit(12, 5, 8, (), Offers(BLOCKS), at_most=True), pods=8)

    assert found.startswith("At most 5 of 8 members fit now; the best BlockLayer has room for at ")


def test_slices_are_counted_whole() -> None:
    offers = Offers(BLOCKS, multiples=(("RackLayer", 2),))

    assert "room for 4 of 8 in whole slices: " in short(Misfit(12, 4, 8, (), offers), pods=8)


def test_slices_of_a_whole_cluster_have_no_domain_to_name() -> None:
    offers = Offers(((Domain("Cluster", ()), 4),), multiples=(("RackLayer", 2),))

    expected = "4 of 8 members fit now; the cluster has room for 4 of 8 in whole slices."
    assert expected == short(Misfit(12, 4, 8, (), offers), pods=8)


@pytest.mark.parametrize(
    ("needs", "pods", "bound", "words"),
    [
        (2, 2, 3, "missing members"),
        (2, 5, 0, "members that go together"),
        (9, 4, 0, "members of its group"),
    ],
)
def test_it_is_said_of_which_members(needs: int, pods: int, bound: int, words: str) -> None:
    found = short(Misfit(12, 1, needs, ()), pods=pods, bound=bound)

    assert f"1 of {needs} {words} fit now." == found


def test_whether_it_ever_fits() -> None:
    expected = "It would fit the empty cluster: it waits for other pods to end."
    assert expected == ever(IfEmpty.FITS)
    expected = "It would not fit even the empty cluster: ask for less, or add nodes."
    assert expected == ever(IfEmpty.TOO_LARGE)
    expected = "Whether it would fit the empty cluster was not searched to the end."
    assert expected == ever(IfEmpty.NOT_SEARCHED)
    assert "" == ever(None)


@pytest.mark.parametrize(
    ("unlabelled", "words"),
    [
        (Unlabelled(("c.io/rack",), "io/rack"), "c.io/rack (did you mean io/rack?)"),
        (Unlabelled(("rack", "shelf")), "rack or shelf"),
    ],
)
def test_a_label_that_no_node_has_is_named_and_nothing_else(
    unlabelled: Unlabelled, words: str
) -> None:
    misfit = Misfit(12, 0, 4, (), unlabelled=unlabelled)
    assert f"No node has the label {words}." == short(misfit, pods=4)

    waits = gang("a")
    refused = Refused(waits, Reason.UNSCHEDULABLE, waits.pending, if_empty=IfEmpty.TOO_LARGE)
    expected = "It would not fit even the empty cluster: ask for another layer, or label the nodes."
    assert expected == room.if_empty(refused, misfit)


@pytest.mark.parametrize(
    ("verdict", "ending"),
    [
        (PreemptionVerdict.NO_VICTIMS, ": it waits for other pods to end."),
        (PreemptionVerdict.BLOCKED, ": it waits for other pods to end."),
        (PreemptionVerdict.NOT_HELPFUL, ": it waits for other pods to end."),
        (PreemptionVerdict.NONE_FOUND, "."),
        (PreemptionVerdict.TOO_MANY_VICTIMS, "."),
        (PreemptionVerdict.TERMINATING, "."),
        (PreemptionVerdict.EVICTING, "."),
    ],
)
def test_a_gang_that_no_pod_makes_room_for_waits_for_pods_to_end(
    verdict: PreemptionVerdict, ending: str
) -> None:
    waits, tried = gang("a"), PreemptionOutcome(verdict)
    refused = Refused(waits, Reason.UNSCHEDULABLE, waits.pending, if_empty=IfEmpty.FITS)
    found = room.if_empty(replace(refused, preemption=tried), Misfit(1, 0, 1, ()))

    assert f"It would fit the empty cluster{ending}" == found


def test_without_nodes_there_is_no_cluster_to_be_empty() -> None:
    assert "" == ever(IfEmpty.TOO_LARGE, nodes=0)


def test_what_keeps_a_gang_away_for_ever_may_be_no_lack_of_room() -> None:
    expected = "It would not fit even the empty cluster: change what it asks for, or the nodes."
    assert expected == ever(IfEmpty.TOO_LARGE, Shortage(taints.obstacle, 12))


def test_nodes_that_are_all_away_must_come_back() -> None:
    expected = (
        "It would not fit even the empty cluster while 12 of 12 nodes are cordoned or not ready: "
        "bring these nodes back, or add others."
    )
    assert expected == ever(IfEmpty.TOO_LARGE, Shortage(unschedulable.obstacle, 12, out=12))


@pytest.mark.parametrize(("out", "words"), [(1, "1 of 12 nodes is"), (2, "2 of 12 nodes are")])
def test_nodes_that_may_come_back_are_counted(out: int, words: str) -> None:
    found = ever(IfEmpty.TOO_LARGE, Shortage(resources.obstacle, 10, out=out))

    assert f"empty cluster while {words} cordoned or not ready: ask for less" in found


@pytest.mark.parametrize(
    ("missing", "fits", "needs", "words"),
    [
        (
            DevicesMissing("gpu.nvidia.com", "with memory >= 80Gi", 8, there=6, free=6),
            *(0, 1),
            "Needs 8 gpu.nvidia.com with memory >= 80Gi on one node; the best node has 6.",
        ),
        (
            DevicesMissing("gpu", "", 8, there=8, free=0),
            *(2, 3),
            (
                "2 of 3 members fit now; then the next one needs 8 gpu on one node; the best node "
                "has none of 8 free."
            ),
        ),
        (
            DevicesMissing("gpu", "", 1, there=0, free=0),
            *(0, 2),
            "0 of 2 members fit now; a member needs 1 gpu on one node, and no node has one.",
        ),
    ],
)
def test_missing_devices_are_reported_with_the_nearest_node(
    missing: DevicesMissing, fits: int, needs: int, words: str
) -> None:
    shortage = Shortage(devices.obstacle, 4, devices=missing)

    assert words == short(Misfit(4, fits, needs, (), shortage=shortage), pods=needs)
