"""Members that depend on each other are placed one by one, or not at all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from builders import gang, group, node, nodes_of, pod
from gang_scheduler.model.gathering import Gathering, LayerRef
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.peers import Peers
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from peers import apart_from, asking, beside, rather, spread_over, world

BINPACK = PROFILES["binpack"]
ZONES = [
    node("a1", cpu=4, labels={"zone": "a"}),
    node("a2", cpu=4, labels={"zone": "a"}),
    node("b1", cpu=4, labels={"zone": "b"}),
    node("b2", cpu=4, labels={"zone": "b"}),
    node("c1", cpu=4, labels={"zone": "c"}),
]


def members(count: int, peers: Peers | None, name: str = "a", cpu: int = 1) -> list[Pod]:
    return [asking(pod(f"{name}-{i}", cpu=cpu), peers, name) for i in range(count)]


def planned(
    those: Sequence[Pod],
    nodes: Sequence[Node] = ZONES,
    bound: Sequence[Pod] = (),
    min_member: int | None = None,
) -> Plan:
    return schedule(world(nodes, [gang("g", members=those, min_member=min_member)], bound), BINPACK)


def zones(plan: Plan) -> dict[str, int]:
    return Counter(name[0] for name in nodes_of(plan).values())


def test_members_that_avoid_each_other_are_one_a_domain() -> None:
    assert {"a": 1, "b": 1, "c": 1} == zones(planned(members(3, apart_from("a"))))


def test_or_not_at_all() -> None:
    plan = planned(members(4, apart_from("a")))

    assert {} == nodes_of(plan)
    misfit = plan.refused[0].misfit
    assert misfit is not None
    assert (3, 4) == (misfit.fits, misfit.needs)
    assert (("node(s) didn't match pod anti-affinity rules", 5),) == misfit.rejections


def test_an_elastic_gang_gets_as_many_as_there_are_domains() -> None:
    assert {"a": 1, "b": 1, "c": 1} == zones(planned(members(5, apart_from("a")), min_member=2))


def test_members_are_spread_evenly() -> None:
    assert {"a": 3, "b": 3, "c": 3} == zones(planned(members(9, spread_over())))


def test_a_full_domain_limits_the_others() -> None:
    full = [pod(f"x-{i}", node="c1") for i in range(3)]

    assert {"a": 2, "b": 2, "c": 1} == zones(planned(members(5, spread_over()), bound=full))
    assert {} == zones(planned(members(6, spread_over()), bound=full))


def test_members_that_want_each_other_share_a_domain_that_holds_all() -> None:
    # The fullest node, that binpack would begin with, is in a zone that is too small.
    taken = [pod(f"x-{i}", node="c1") for i in range(2)]

    found = zones(planned(members(6, beside("a")), bound=taken))

    assert [6] == list(found.values())


def test_workers_follow_a_master_to_where_all_have_room() -> None:
    # The master alone would go to the fullest node, whose zone has no room for the workers.
    crowd = [*members(1, None, "master", cpu=2), *members(6, beside("master"), "worker")]
    taken = [pod("x-0", cpu=2, node="c1")]

    found = zones(planned(crowd, bound=taken))

    assert [7] == list(found.values())


def test_whom_an_affinity_waits_for_may_be_placed_in_the_same_cycle() -> None:
    first = gang("w", members=members(2, beside("db"), "web"), created_at=1)
    second = gang("d", members=members(1, None, "db"), created_at=2)

    plan = schedule(world(ZONES, [first, second]), BINPACK)

    assert {"web-0", "web-1", "db-0"} == nodes_of(plan).keys()
    assert 1 == len(zones(plan))


def test_a_preference_is_followed_where_there_is_room_and_holds_nobody_up() -> None:
    assert {"a": 1, "b": 1, "c": 1} == zones(planned(members(3, rather(-10, "a"))))
    assert 6 == sum(zones(planned(members(6, rather(-10, "a")))).values())


def test_soft_spread_evens_out() -> None:
    assert {"a": 2, "b": 2, "c": 2} == zones(planned(members(6, spread_over(hard=False))))


def test_soft_taints_are_left_until_the_last() -> None:
    nodes = [node("n1", cpu=2, taints=["old=:PreferNoSchedule"]), node("n2", cpu=2)]

    assert {"n2"} == set(nodes_of(planned(members(2, None), nodes)).values())
    assert {"n1", "n2"} == set(nodes_of(planned(members(3, None), nodes)).values())


def test_members_that_gather_see_each_other_too() -> None:
    racks = [
        node(f"{zone}{i}", cpu=4, labels={"zone": zone, "host": f"{zone}{i}"})
        for zone, number in (("a", 2), ("b", 4), ("c", 3))
        for i in range(number)
    ]
    one = gang("g", members=members(3, apart_from("a", "host"), cpu=1))
    must = Gathering(must=(LayerRef("zone", by_label=True),))
    shot = world(racks, [one])
    shot = replace(shot, groups=(group(shot.groups[0].gangs[0], gathering=must),))

    assert {"c": 3} == zones(schedule(shot, BINPACK))


def test_spread_members_that_gather_are_even_inside_their_domain() -> None:
    racks = [
        node(f"{zone}{rack}{i}", cpu=8, labels={"zone": zone, "rack": f"{zone}{rack}"})
        for zone in "ab"
        for rack in range(2)
        for i in range(2)
    ]
    one = gang("g", members=members(4, spread_over("rack", honours_affinity=False, max_skew=2)))
    must = Gathering(must=(LayerRef("zone", by_label=True),))
    shot = world(racks, [one])
    shot = replace(shot, groups=(group(shot.groups[0].gangs[0], gathering=must),))

    assert [4] == list(zones(schedule(shot, BINPACK)).values())
