"""Room is made where others stand in the way by what they are, and not by what they use."""

from collections.abc import Sequence

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import HostPort, Pod
from gang_scheduler.model.selectors import PodAffinity
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, pod
from support.selector_builders import apart_from, asking, beside, spread_over, world

BINPACK = PROFILES["binpack"]
NODES = [node(f"n{i}", cpu=8, labels={"host": f"n{i}", "zone": "ab"[i % 2]}) for i in range(4)]


def low(name: str, where: str, app: str = "x", pod_affinity: PodAffinity | None = None) -> Pod:
    return asking(pod(name, node=where, phase="Running"), pod_affinity, app)


def planned(members: Sequence[Pod], evictable: Sequence[Pod]) -> Plan:
    return schedule(world(NODES, [gang("g", members=members, priority=10)], (), evictable), BINPACK)


def members(count: int, pod_affinity: PodAffinity) -> list[Pod]:
    return [asking(pod(f"a-{i}", priority=10), pod_affinity) for i in range(count)]


def victims(plan: Plan) -> list[str]:
    return sorted(each.pod.name for found in plan.preemptions for each in found.victims)


def test_those_go_that_keep_members_away() -> None:
    others = [low(f"x-{i}", f"n{i}") for i in range(2)]
    bystanders = [low("y-2", "n2", "y"), low("y-3", "n3", "y")]

    found = victims(planned(members(3, apart_from("x", "host")), [*others, *bystanders]))

    assert [] == found  # Two nodes are free of them, and have room for three.
    four = [low(f"x-{i}", f"n{i}") for i in range(4)]
    assert 1 == len(victims(planned(members(3, apart_from("x", "host")), four)))


def test_those_go_whose_own_anti_affinity_means_the_members() -> None:
    guards = [low(f"x-{i}", f"n{i}", "x", apart_from("a", "host")) for i in range(4)]
    bystanders = [low(f"y-{i}", f"n{i}", "y") for i in range(4)]

    found = victims(planned(members(2, PodAffinity()), [*guards, *bystanders]))

    assert 1 == len(found)
    assert found[0].startswith("x-")


def test_no_more_go_than_a_gang_needs_that_is_one_a_node() -> None:
    full = [low(f"x-{i}-{j}", f"n{i}", "x") for i in range(4) for j in range(8)]

    found = victims(planned(members(4, apart_from("a", "host")), full))

    assert ["0", "1", "2", "3"] == sorted(name.split("-")[1] for name in found)


def test_room_is_made_evenly_for_members_that_are_spread() -> None:
    full = [low(f"x-{i}-{j}", f"n{i}", "x") for i in range(4) for j in range(8)]

    found = victims(planned(members(4, spread_over("zone")), full))

    assert [0, 0, 1, 1] == sorted(int(name.split("-")[1]) % 2 for name in found)


def test_ports_of_the_host_are_freed() -> None:
    holders = [pod(f"x-{i}", node=f"n{i}", phase="Running", ports=[HostPort(80)]) for i in range(4)]
    wanting = [pod(f"a-{i}", priority=10, ports=[HostPort(80)]) for i in range(2)]

    assert 2 == len(victims(planned(wanting, holders)))


def test_pods_that_an_affinity_wants_stay() -> None:
    full = [low(f"x-{j}", "n0", "x") for j in range(7)] + [low("db", "n0", "db")]

    found = victims(planned(members(2, beside("db", "host")), full))

    assert 2 == len(found)
    assert "db" not in found


def test_of_those_that_an_affinity_wants_all_but_one_may_go() -> None:
    full = [low(f"db-{j}", "n0", "db") for j in range(8)]

    found = victims(planned(members(2, beside("db", "host")), full))

    assert 2 == len(found)


def test_those_stay_that_keep_the_members_spread() -> None:
    # Without those in the other zone, two members in this one would be too many.
    nodes = [
        node("a1", cpu=2, labels={"zone": "a"}),
        node("b1", cpu=2, labels={"zone": "b"}, taints=["t:NoSchedule"]),
    ]
    held = [low(f"x-{i}", "a1", "other") for i in range(2)]
    counted = [low(f"b-{i}", "b1", "a") for i in range(2)]
    waiting = [gang("g", members=members(2, spread_over("zone")), priority=10)]

    plan = schedule(world(nodes, waiting, (), [*held, *counted]), BINPACK)

    assert ["x-0", "x-1"] == victims(plan)


def test_those_go_that_count_for_a_spread_in_the_fullest_domain() -> None:
    nodes = [
        node("a1", cpu=2, labels={"zone": "a"}),
        node("b1", cpu=4, labels={"zone": "b"}, taints=["t:NoSchedule"]),
    ]
    counted = [low(f"x-{i}", "a1", "a") for i in range(2)]
    waiting = [gang("g", members=members(1, spread_over("zone")), priority=10)]

    plan = schedule(world(nodes, waiting, (), counted), BINPACK)

    # One is in each zone at most beside an empty one: both have to make room for one.
    assert ["x-0", "x-1"] == victims(plan)


def test_among_more_than_sixteen_those_stay_that_keep_the_members_spread() -> None:
    nodes = [
        node("a1", cpu=20, labels={"zone": "a"}),
        node("b1", cpu=2, labels={"zone": "b"}, taints=["t:NoSchedule"]),
    ]
    held = [low(f"x-{i}", "a1", "other") for i in range(20)]
    counted = [low(f"b-{i}", "b1", "a") for i in range(2)]
    waiting = [gang("g", members=members(2, spread_over("zone")), priority=10)]

    plan = schedule(world(nodes, waiting, (), [*held, *counted]), BINPACK)

    assert 2 == len(victims(plan))
    assert all(name.startswith("x-") for name in victims(plan))


def test_a_large_gang_of_many_classes_evicts_what_keeps_it_away_and_no_more() -> None:
    nodes = [node(f"n{i}", cpu=8, labels={"host": f"n{i}"}) for i in range(60)]
    full = [
        low(f"{'y' if j else 'x'}-{i}-{j}", f"n{i}", "y" if j else "x")
        for i in range(60)
        for j in range(8)
    ]
    cpus = [1 + i % 6 for i in range(40)]
    away = PodAffinity(anti=(*apart_from("x", "host").anti, *apart_from("a", "host").anti))
    many = [
        asking(pod(f"a-{i}", priority=10, cpu=cpu, memory=i), away) for i, cpu in enumerate(cpus)
    ]

    plan = schedule(world(nodes, [gang("g", members=many, priority=10)], (), full), BINPACK)

    assert sum(cpus) == len(victims(plan))
