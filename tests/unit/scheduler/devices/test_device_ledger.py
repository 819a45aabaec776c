"""What members of gangs take of the devices of nodes, in a trial."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from gang_scheduler.model.device_needs import (
    DeviceNeed,
    DeviceNeeds,
    Devices,
    Holders,
    Uses,
)
from gang_scheduler.model.devices import (
    Claim,
    ClaimSpec,
    Consumer,
    Device,
    DeviceClass,
    DeviceId,
    DeviceTaint,
    Request,
    Slice,
    TaintRule,
)
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.devices.device_ledger import MOST_PODS, DeviceLedger
from gang_scheduler.scheduler.devices.free_devices import claims_of
from gang_scheduler.scheduler.devices.outcomes import Cut, NoFit
from support.builders import node
from support.call_counts import calls_of
from support.device_builders import (
    CLASSES,
    DRIVER,
    allocated,
    asked,
    attributes,
    devices,
    first_available,
    request,
    slice_of,
)


def needs(*requests: Request, shared: str = "") -> DeviceNeeds:
    """Return the needs of a pod with a claim of these requests."""
    return DeviceNeeds((DeviceNeed(ClaimSpec(requests or (request(),)), shared),))


def pool(at: str, given: Sequence[Device], **fields: object) -> Slice:
    """Return the pool of a node."""
    return slice_of(given, **{"name": at, "pool": at, "node_name": at, **fields})


def ledger(*slices: Slice, nodes: int = 2) -> DeviceLedger:
    """Return a ledger of nodes n0, n1 and so on."""
    found = Devices(classes=CLASSES, slices=slices)
    return DeviceLedger(found, NodeTable(node(f"n{i}") for i in range(nodes)))


def room(of: DeviceLedger, asking: DeviceNeeds) -> list[int]:
    """Return the room of all nodes."""
    everywhere = np.ones(len(of.nodes), dtype=np.bool_)
    return [int(each) for each in of.room(asking, everywhere)]


def assume(on: DeviceLedger, asking: DeviceNeeds, row: int, count: int = 1) -> None:
    """Assume members on a node; a negative count releases them."""
    on.apply(PodClass(devices=asking), np.array([row]), np.array([count]))


LARGE = f"device.attributes['{DRIVER}'].size == 'large'"
SIZES = [Device("a", attributes(size="large")), Device("b", attributes(size="small"))]
ONE, TWO = needs(), needs(request(count=2))
USER = Consumer("", "pods", "x", "x")


def test_a_node_has_room_for_as_many_members_as_its_devices() -> None:
    found = ledger(pool("n0", devices(5)), pool("n1", devices(1)))

    assert room(found, ONE) == [5, 1]
    assert room(found, TWO) == [2, 0]


def test_nodes_that_are_not_asked_for_are_not_searched() -> None:
    found = ledger(pool("n0", devices(5)), pool("n1", devices(1)))

    assert found.room(ONE, np.array([False, True])).tolist() == [0, 1]
    assert room(found, ONE) == [5, 1]


def test_members_take_devices_until_they_are_released() -> None:
    found = ledger(pool("n0", devices(5)), pool("n1", devices(1)))

    assume(found, TWO, 0)
    assert room(found, ONE) == [3, 1]
    assume(found, TWO, 0, -1)
    assert room(found, ONE) == [5, 1]


def test_a_member_of_the_same_gang_leaves_what_another_must_have() -> None:
    found = ledger(pool("n0", SIZES), nodes=1)
    large = needs(request(selectors=(LARGE,)))

    assume(found, ONE, 0)

    assert room(found, large) == [1]


def test_a_later_gang_gets_what_an_earlier_one_left() -> None:
    found = ledger(pool("n0", SIZES), nodes=1)
    large = needs(request(selectors=(LARGE,)))
    assume(found, ONE, 0)

    found.next_gang()

    assert room(found, large) == [0]
    assert room(found, ONE) == [1]
    assert isinstance(found.lack(large, 0), NoFit)


def test_a_gang_that_comes_again_takes_devices_at_its_old_turn() -> None:
    found = ledger(pool("n0", SIZES), nodes=1)
    large = needs(request(selectors=(LARGE,)))
    assume(found, large, 0)
    found.next_gang()
    assume(found, ONE, 0)

    assume(found, large, 0, -1)
    assume(found, large, 0)

    assert room(found, ONE) == [0]
    assert found.lack(ONE, 0) is not None


def test_a_shared_claim_takes_its_devices_once_and_keeps_its_users_on_one_node() -> None:
    found = ledger(pool("n0", devices(1)), pool("n1", devices(1)))
    fabric = needs(shared="default/fabric")
    assert found.is_coupled(fabric)
    assert found.is_undecided(fabric)

    assume(found, fabric, 1)

    assert not found.is_undecided(fabric)
    assert room(found, fabric) == [0, 1]
    assert room(found, ONE) == [1, 0]
    assume(found, fabric, 1)
    assume(found, fabric, 1, -1)
    assert room(found, fabric) == [0, 1]
    assume(found, fabric, 1, -1)
    assert found.is_undecided(fabric)


def test_devices_that_several_nodes_reach_are_one_stock() -> None:
    everywhere = slice_of(devices(3), pool="net", node_name="", all_nodes=True)
    found = ledger(everywhere)
    assert found.is_coupled(ONE)
    assert room(found, ONE) == [1, 1]

    for row in (0, 1, 1):
        assume(found, ONE, row)
    assert room(found, ONE) == [0, 0]

    assume(found, ONE, 1, -1)
    assert room(found, ONE) == [1, 1]


def test_users_of_a_shared_claim_may_be_wherever_its_devices_reach() -> None:
    everywhere = slice_of(devices(1), pool="net", node_name="", all_nodes=True)
    found = ledger(everywhere)
    fabric = needs(shared="default/fabric")

    assume(found, fabric, 0)

    assert room(found, fabric) == [1, 1]
    assert found.most_slots(fabric, np.array([True, True])).tolist() != [0, 0]
    assert room(found, ONE) == [0, 0]


def test_a_copy_changes_alone() -> None:
    found = ledger(pool("n0", devices(5)), nodes=1)
    assume(found, ONE, 0)

    other = found.copy()
    assume(other, ONE, 0, 4)

    assert room(other, ONE) == [0]
    assert room(found, ONE) == [4]


def test_shares_have_no_end_of_their_own() -> None:
    found = ledger(pool("n0", devices(1, allow_multiple=True)), nodes=1)

    assert room(found, ONE) == [MOST_PODS]


def test_a_claim_of_no_class_fails_and_is_remembered() -> None:
    found = ledger(pool("n0", devices(1)), nodes=1)
    wrong = needs(request(device_class="nope"))

    assert room(found, wrong) == [0]
    assert "nope" in found.free_devices.failed[wrong].why


@pytest.mark.parametrize("seed", range(20))
def test_changes_can_be_undone_in_any_world(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a world, not a secret.
    kinds = [Device(f"d{i}", attributes(size=dice.choice(["large", "small"]))) for i in range(6)]
    found = ledger(pool("n0", kinds[:4]), pool("n1", kinds[4:]))
    asking = [
        *(ONE, TWO, needs(request(selectors=(LARGE,)))),
        needs(first_available(asked("two", count=2), asked("one"))),
        needs(shared="default/x"),
    ]
    done: list[tuple[DeviceNeeds, int]] = []
    before: list[list[list[int]]] = []
    for _ in range(12):
        before.append([room(found, each) for each in asking])
        each, row = dice.choice(asking), dice.randrange(2)
        assume(found, each, row)
        done.append((each, row))
    while done:
        each, row = done.pop()
        assume(found, each, row, -1)
        assert before.pop() == [room(found, each) for each in asking]


def test_devices_that_failed_a_gang_are_left_to_others() -> None:
    attached = [Device("later", binding_conditions=("example.com/attached",)), Device("here")]
    found = ledger(pool("n0", attached), nodes=1)
    avoiding = replace(ONE, avoided=(DeviceId(DRIVER, "n0", "later"),))

    assert room(found, ONE) == [2]
    assert room(found, avoiding) == [1]
    assume(found, avoiding, 0)
    assert room(found, avoiding) == [0]
    found.next_gang()
    assert room(found, ONE) == [1]


def test_a_rule_taints_devices() -> None:
    rule = TaintRule("r", DeviceTaint("bad", effect="NoSchedule"), device="gpu-0")
    known = Devices(classes=CLASSES, slices=(pool("n0", devices(2)),), taint_rules=(rule,))

    assert room(DeviceLedger(known, NodeTable([node("n0")])), ONE) == [1]


def test_of_nodes_that_are_alike_one_is_searched_for_users_of_a_shared_claim() -> None:
    shared = needs(shared="default/one")

    def searched(nodes: int) -> int:
        found = ledger(*(pool(f"n{i}", devices(2)) for i in range(nodes)), nodes=nodes)
        calls = calls_of(lambda: room(found, shared))
        assert [1] * nodes == room(found, shared)
        return calls["free_devices.FreeDevices.search"]

    assert searched(2) == searched(20) == 1


def test_only_the_node_of_a_shared_claim_is_looked_at_for_its_further_users() -> None:
    shared = needs(shared="default/one")

    def looked_at(nodes: int) -> int:
        found = ledger(*(pool(f"n{i}", devices(2)) for i in range(nodes)), nodes=nodes)
        room(found, shared)
        assume(found, shared, 1)
        calls = calls_of(lambda: room(found, shared))
        assert room(found, shared) == [int(row == 1) for row in range(nodes)]
        return calls["device_ledger.DeviceLedger._slots"]

    assert looked_at(3) == looked_at(30) == 1


def test_of_nodes_that_are_alike_one_is_searched_though_their_members_have_several_needs() -> None:
    large = needs(request(selectors=(LARGE,)))

    def searched(nodes: int) -> int:
        found = ledger(*(pool(f"n{i}", SIZES) for i in range(nodes)), nodes=nodes)
        for row in range(nodes):
            assume(found, large, row)
        found.next_gang()
        calls = calls_of(lambda: room(found, ONE))
        assert [1] * nodes == room(found, ONE)
        return calls["free_devices.FreeDevices.search"]

    assert searched(2) == searched(20)


@pytest.mark.parametrize("seed", range(30))
def test_answers_that_nodes_share_are_those_of_each_node_alone(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a world, not a secret.
    kinds = [attributes(size="large", rank=1), attributes(size="small", rank=1), attributes(rank=2)]
    slices = [
        pool(f"n{i}", [Device(f"d{j}", dice.choice(kinds)) for j in range(3)]) for i in range(6)
    ]
    asking = [
        *(ONE, TWO, needs(request(selectors=(LARGE,)))),
        needs(request(selectors=(f"device.attributes['{DRIVER}'].rank == 1",), count=2)),
        needs(first_available(asked("two", count=2), asked("one"))),
    ]
    steps = [
        (dice.choice(asking), dice.randrange(6), dice.random() < 0.3)
        for _ in range(dice.randrange(9))
    ]

    def rooms(of: DeviceLedger, rows: Sequence[int]) -> list[list[int]]:
        for each, row, is_next in steps:
            if is_next:
                of.next_gang()
            if row in rows:
                assume(of, each, row)
        return [[room(of, each)[row] for row in rows] for each in asking]

    together = rooms(ledger(*slices, nodes=6), range(6))
    for row in range(6):
        alone = rooms(ledger(*slices, nodes=6), [row])
        assert [[each[row]] for each in together] == alone


def test_nodes_for_which_there_is_no_time_have_no_room_until_they_are_searched() -> None:
    found = ledger(pool("n0", devices(1)), pool("n1", devices(1)))
    assume(found, ONE, 0)
    everywhere = np.ones(2, dtype=np.bool_)

    assert [0, 1] == found.room(ONE, everywhere, lambda rows: iter(rows[1:])).tolist()
    assume(found, ONE, 0, -1)
    assert [0, 1] == found.room(ONE, everywhere, lambda rows: iter(rows[1:])).tolist()
    assert [1, 1] == room(found, ONE)


def test_reading_devices_and_claims_counts_as_looks_beside_the_steps() -> None:
    def looks(of: int, members: int) -> float:
        found = ledger(pool("n0", devices(of)), nodes=1)
        found.free_devices.search(0, claims_of(ONE) * members, ())
        return found.free_devices.looks()

    assert looks(100, 1) - looks(1, 1) > 10
    assert looks(1, 100) - looks(1, 1) > 10

    known = ledger(pool("n0", devices(100)), nodes=1)
    known.free_devices.signature(0, TWO)
    first = known.free_devices.looks()
    known.free_devices.signature(0, TWO)
    assert 0 < known.free_devices.looks() < first / 10


def test_steps_of_searches_are_counted_with_those_that_were_cut_off() -> None:
    found = ledger(pool("n0", SIZES), nodes=1)
    large = needs(request(selectors=(LARGE,)))
    room(found, large)
    steps, cut = found.free_devices.searched
    assert steps > 0
    assert cut == 0

    found.free_devices._budget.left = -1
    assert isinstance(found.free_devices.search(0, claims_of(large), ()), Cut)
    assert found.free_devices.searched > (steps, 0)
    assert found.free_devices.searched.cut == 1


def test_what_a_gang_had_too_few_steps_for_is_searched_again_for_the_next_gang() -> None:
    found = ledger(pool("n0", devices(4)), pool("n1", devices(4)))
    found.free_devices._budget.left = 0

    assert [0, 0] == room(found, TWO) == room(found, TWO)
    # One search for two members on n0, and one for one: the answer stands for n1, which is alike.
    assert found.free_devices.searched.cut == 2
    found.next_gang()
    assert [2, 2] == room(found, TWO)


def test_a_search_that_is_too_long_for_any_gang_is_made_once_in_a_cycle() -> None:
    found = ledger(pool("n0", devices(4)), pool("n1", devices(4)))
    found.free_devices._budget.of_a_search = 0

    assert [0, 0] == room(found, TWO)
    found.next_gang()
    assert [0, 0] == room(found, TWO)
    assert found.free_devices.searched.cut == 2  # For two members and for one, on one of the nodes.


@pytest.mark.parametrize("steps", ["left", "of_a_search"])
def test_answers_of_searches_that_were_cut_off_are_not_kept(steps: str) -> None:
    """Nor are those for nodes that are like one whose search was cut off."""
    found = Devices(classes=CLASSES, slices=(pool("n0", devices(4)), pool("n1", devices(4))))
    nodes = NodeTable([node("n0"), node("n1")])
    first = DeviceLedger(found, nodes)
    setattr(first.free_devices._budget, steps, 0)

    assert [0, 0] == room(first, TWO)
    assert [2, 2] == room(DeviceLedger(found, nodes), TWO)


def test_a_ledger_answers_for_its_own_snapshot_though_another_was_read_since() -> None:
    """Classes and slices are kept from cycle to cycle, and two ledgers may be asked in turns."""
    first = ledger(pool("n0", devices(4)), pool("n1", devices(2)))
    large = {**CLASSES, "gpu": DeviceClass("gpu", (LARGE,))}
    slices = (pool("n0", devices(1)), pool("n1", devices(1)))
    second = ledger(*slices)

    assert [1, 1] == room(second, ONE)
    assert [4, 2] == room(first, ONE)
    third = DeviceLedger(Devices(classes=large, slices=slices), first.nodes)
    assert [0, 0] == room(third, TWO)
    assert [2, 1] == room(first, TWO)


def in_use(*users: str, others: bool = False, slices: int = 1) -> DeviceLedger:
    """Return a ledger in which a claim of these pods has the only device of each node."""
    given = [pool(f"n{i}", devices(1)) for i in range(slices)]
    claim = Claim("default", "c", allocation=allocated("gpu-0"), reserved_for=(USER,))
    found = Devices(
        classes=CLASSES,
        slices=tuple(given),
        claims={claim.key: claim},
        holders={claim.key: Holders(frozenset(users), others)},
    )
    return DeviceLedger(found, NodeTable(node(f"n{i}") for i in range(slices)))


def uses(*users: str) -> Uses:
    """Return the uses of the claim by these pods."""
    return tuple(("default/c", each) for each in users)


def test_devices_are_free_once_the_last_user_of_their_claim_has_left() -> None:
    found = in_use("x", "y")
    assert room(found, ONE) == [0]

    found.use(uses("x"), -1)
    assert room(found, ONE) == [0]
    found.use(uses("y"), -1)
    assert room(found, ONE) == [1]
    found.use(uses("x"), 1)
    assert room(found, ONE) == [0]


def test_a_copy_does_not_see_who_leaves_later() -> None:
    found = in_use("x")
    copied = found.copy()

    found.use(uses("x"), -1)

    assert (room(found, ONE), room(copied, ONE)) == ([1], [0])


def test_only_members_with_reserved_room_may_have_devices_of_leaving_pods() -> None:
    found = in_use("x")
    found.expect(uses("x"))
    assert room(found, ONE) == [0]
    assert [f"{DRIVER}/n0/gpu-0"] == [str(each) for each in found.freed_by(uses("x"))]

    found.apply(PodClass(devices=ONE), np.array([0]), np.array([1]), nominated=True)
    later = found.copy()
    later.use(uses("x"), -1)

    # Once the pod is gone, its device is still kept for the nominated member.
    assert room(later, ONE) == [0]
    later.apply(PodClass(devices=ONE), np.array([0]), np.array([-1]), nominated=True)
    assert room(later, ONE) == [1]


def test_pods_free_the_same_if_their_devices_differ_in_nothing_but_names() -> None:
    given = pool("n0", [*devices(2), Device("other", attributes(size="large"))])
    claims = {
        f"default/{each}": Claim("default", each, allocation=allocated(each))
        for each in ("gpu-0", "gpu-1", "other")
    }
    holders = {key: Holders(frozenset([key])) for key in claims}
    known = Devices(classes=CLASSES, slices=(given,), claims=claims, holders=holders)
    found = DeviceLedger(known, NodeTable([node("n0")]))

    first, second, third = [[*found.kinds_of(((key, key),))] for key in claims]

    assert first == second != third
    assert ["default/gpu-0"] == [*found.kinds_of((("default/gpu-0", "another pod"),))]
