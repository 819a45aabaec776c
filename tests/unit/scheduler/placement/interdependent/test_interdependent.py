"""Members that depend on each other are placed one by one, or not at all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import PodAffinity
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.model.topology_request import LayerRef, PodSet, Slices, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.effort import MOST_LOOKS, OVERRUN, PART
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial, number_in
from support.builders import gang, group, node, pod
from support.plan_reading import nodes_of
from support.selector_builders import apart_from, asking, beside, rather, spread_over, world

BINPACK = PROFILES["binpack"]
ZONES = [
    node("a1", cpu=4, labels={"zone": "a"}),
    node("a2", cpu=4, labels={"zone": "a"}),
    node("b1", cpu=4, labels={"zone": "b"}),
    node("b2", cpu=4, labels={"zone": "b"}),
    node("c1", cpu=4, labels={"zone": "c"}),
]


def members(
    count: int, pod_affinity: PodAffinity | None, name: str = "a", cpu: int = 1
) -> list[Pod]:
    return [asking(pod(f"{name}-{i}", cpu=cpu), pod_affinity, name) for i in range(count)]


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


def test_a_pod_that_an_affinity_waits_for_may_be_placed_in_the_same_cycle() -> None:
    first = gang("w", members=members(2, beside("db"), "web"), created_at=1)
    second = gang("d", members=members(1, None, "db"), created_at=2)

    plan = schedule(world(ZONES, [first, second]), BINPACK)

    assert {"web-0", "web-1", "db-0"} == nodes_of(plan).keys()
    assert 1 == len(zones(plan))


def test_a_preference_is_followed_where_there_is_room_and_holds_no_pod_up() -> None:
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
    must = TopologyRequest(must=(LayerRef("zone", by_label=True),))
    shot = world(racks, [one])
    shot = replace(shot, groups=(group(shot.groups[0].gangs[0], topology_request=must),))

    assert {"c": 3} == zones(schedule(shot, BINPACK))


def test_spread_members_that_gather_are_even_inside_their_domain() -> None:
    racks = [
        node(f"{zone}{rack}{i}", cpu=8, labels={"zone": zone, "rack": f"{zone}{rack}"})
        for zone in "ab"
        for rack in range(2)
        for i in range(2)
    ]
    one = gang("g", members=members(4, spread_over("rack", honours_affinity=False, max_skew=2)))
    must = TopologyRequest(must=(LayerRef("zone", by_label=True),))
    shot = world(racks, [one])
    shot = replace(shot, groups=(group(shot.groups[0].gangs[0], topology_request=must),))

    assert [4] == list(zones(schedule(shot, BINPACK)).values())


def test_surplus_does_not_move_a_quorum_that_others_were_placed_beside() -> None:
    nodes = [
        node("a1", cpu=3, labels={"zone": "a"}),
        node("b1", cpu=4, labels={"zone": "b"}),
        node("b2", cpu=4, labels={"zone": "b"}),
    ]
    must = TopologyRequest(must=(LayerRef("zone", by_label=True),))
    elastic = gang("x", members=members(4, None, "x"), min_member=2, created_at=1)
    beside_it = gang("y", members=members(1, beside("x"), "y"), created_at=2)
    shot = world(nodes, [elastic, beside_it])
    first, second = (each.gangs[0] for each in shot.groups)
    shot = replace(shot, groups=(group(first, topology_request=must), group(second)))

    found = nodes_of(schedule(shot, BINPACK))

    assert found["y-0"][0] in {node[0] for name, node in found.items() if name.startswith("x")}
    assert 3 <= len(found)


def test_slices_stay_whole_where_their_members_look_at_others() -> None:
    racks = [
        node(name, cpu=cpu, labels={"rack": name, "block": "b"})
        for name, cpu in (("r1", 3), ("r2", 3), ("r3", 1))
    ]
    slices = (Slices(LayerRef("rack", by_label=True), 2),)
    block = LayerRef("block", by_label=True)
    podsets = {
        "leader": PodSet(TopologyRequest(must=(block,)), group="all", owner="leader"),
        "worker": PodSet(
            TopologyRequest(must=(block,), slices=slices), group="all", owner="worker"
        ),
    }
    crowd = [
        *members(1, None, "leader"),
        *members(4, beside("leader", "block"), "worker"),
    ]
    asked = [replace(each, podset=podsets[each.labels["app"]]) for each in crowd]

    layers = (Layer("block", label_keys=("block",)), Layer("rack", "block", ("rack",)))
    tree_spec = TreeSpec("default", (*layers, Layer(NODE_LAYER, "rack")))
    shot = replace(world(racks, [gang("g", members=asked)]), tree_specs=(tree_spec,))

    found = nodes_of(schedule(shot, BINPACK))

    workers = Counter(node for name, node in found.items() if name.startswith("worker"))
    assert [2, 2] == list(workers.values())


def test_pods_that_room_is_kept_for_draw_no_pod_near_and_keep_others_away() -> None:
    coming = asking(pod("x-0", node="", nominated="a1", priority=5), None, "x")
    kept = gang("kept", members=[coming], priority=5, created_at=1)
    near = gang("near", members=members(1, beside("x"), "near"), created_at=2)
    away = gang("away", members=members(1, apart_from("x"), "away"), created_at=3)
    shot = world(ZONES, [kept, near, away])
    nominated = Nominated(shot.groups[0].gangs[0].pending[0], kept.key, 5)
    shot = replace(shot, groups=shot.groups[1:], nominated=(nominated,))

    found = nodes_of(schedule(shot, BINPACK))

    assert {"away-0"} == found.keys()
    assert not found["away-0"].startswith("a")


def test_equal_classes_but_for_their_labels_are_placed_in_the_order_of_their_members() -> None:
    crowd = [*members(2, None, "b"), *members(2, None, "a")]
    watchers = [
        asking(pod(f"w-{i}", node="c1", cpu=0), rather(1, name, key), f"w{i}")
        for i, (name, key) in enumerate([("a", "zone"), ("b", "zone"), ("a", "host")])
    ]
    nodes = [node(f"n{i}", cpu=1, labels={"zone": "z"}) for i in range(4)] + [ZONES[-1]]

    found = {tuple(nodes_of(planned(crowd, nodes, watchers)).items()) for _ in range(8)}

    assert 1 == len(found)


def chained(length: int, looks_left: int) -> tuple[int, Trial]:
    """Return how many members of a chain are placed by a search with so many looks left.

    Each member is near the next one, the last near any, and each is tried before the next one.
    """
    asked = [beside(f"c{i + 1}") if i + 1 < length else None for i in range(length)]
    found = [asking(pod(f"c{i}", cpu=1), each, f"c{i}") for i, each in enumerate(asked)]
    shot = world(ZONES, [gang("g", members=found)])
    (waiting,) = shot.groups[0].gangs
    trial = Trial(shot)
    trial.effort.spend(MOST_LOOKS // PART + OVERRUN - looks_left)
    sizes = {each.pod_class: 1 for each in waiting.pending}
    placed = interdependent.assume_interdependent(sizes, 0, None, trial, BINPACK)
    return number_in(placed), trial


def test_classes_that_draw_each_other_near_are_tried_again_until_the_search_has_overrun() -> None:
    whole, _ = chained(5, looks_left=OVERRUN)
    cut, trial = chained(5, looks_left=1)

    assert (5, 1) == (whole, cut)
    assert trial.effort.cut_off


def test_a_search_that_has_overrun_begins_no_attempt() -> None:
    number, trial = chained(1, looks_left=0)

    assert (0, True) == (number, trial.effort.cut_off)
    assert (trial.free == trial.nodes.allocatable).all()
