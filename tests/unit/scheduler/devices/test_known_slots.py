"""KnownSlots of nodes that are kept from cycle to cycle are those that a first cycle would give."""

import asyncio
import gc
import random
import weakref
from dataclasses import replace

import numpy as np
import pytest

from gang_scheduler.model.changed_mapping import FollowedDict
from gang_scheduler.model.device_needs import DeviceNeeds, Devices, Holders
from gang_scheduler.model.devices import Allocation, Claim, Consumer, Device, DeviceResult, Slice
from gang_scheduler.model.extended_resources import ContainerRequest, need_of
from gang_scheduler.model.nodes import Node, NodeTable
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.devices import free_devices
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.device_ledger import DeviceLedger
from gang_scheduler.scheduler.devices.known_slots import UNKNOWN, KnownSlots
from gang_scheduler.scheduler.devices.pools import Pools
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, pod, snapshot
from support.call_counts import Calls, at_most, calls_of
from support.device_builders import CLASSES, DRIVER, attributes, devices, request, slice_of
from support.large_cluster import SHAPES, Scale
from support.large_device_cluster import LargeDeviceCluster
from unit.scheduler.devices.test_device_ledger import needs

GPU = "nvidia.com/gpu"
NODES = 4
LARGE = f"device.attributes['{DRIVER}'].size == 'large'"
FAULTY = f"device.attributes['{DRIVER}'].nothing == 'x'"
EXTENDED = need_of(GPU, "gpu", (ContainerRequest("main", 0, GPU, 0, 1),))
assert EXTENDED is not None
ASKING = [
    needs(),
    needs(request(count=2)),
    needs(request(selectors=(LARGE,))),
    needs(request(selectors=(FAULTY,))),
    needs(shared="default/x"),
    DeviceNeeds(extended=(EXTENDED,)),
    DeviceNeeds(needs().claims, extended=(EXTENDED,)),
]


class World:
    """Nodes, slices and claims that change at random."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - a world, not a secret.
        self.nodes = {f"n{i}": self._node(i) for i in range(NODES)}
        self.table = self._table()
        self.slices: dict[str, Slice] = {}
        self.claims: FollowedDict[Claim] = FollowedDict()
        self.holders: FollowedDict[Holders] = FollowedDict()
        self.is_networked = seed % 5 == 0
        for _ in range(3 * NODES):
            self.change()

    def _node(self, number: int) -> Node:
        extra = {GPU: 2} if self.dice.random() < 0.2 else {}
        return node(f"n{number}", labels={"version": str(self.dice.random())}, extra=extra)

    def _table(self) -> NodeTable:
        table = NodeTable(self.nodes.values(), {GPU: "gpu"}, [GPU])
        offers = table.allocatable[:, table.axis[GPU]] == 0
        return table.with_devices({GPU: np.full(len(table), 8)}) if offers.any() else table

    def change(self) -> None:
        """Let something change."""
        which = self.dice.choices(["slice", "claim", "node", "nothing"], [5, 8, 2, 1])[0]
        at = f"n{self.dice.randrange(NODES)}"
        if which == "slice":
            name = f"s{self.dice.randrange(NODES)}"
            found = self._slice(name, at)
            self.slices.pop(name, None)
            if self.dice.random() < 0.8:
                self.slices[name] = found
        elif which == "claim":
            name = f"c{self.dice.randrange(3 * NODES)}"
            device = DeviceResult("r", DRIVER, at, f"gpu-{self.dice.randrange(4)}")
            given = Allocation((device,)) if self.dice.random() < 0.6 else None
            claim = Claim("default", name, allocation=given)
            user = Consumer("", "pods", name, f"uid-{name}")
            is_used = given is not None
            self.claims.put(claim.key, replace(claim, reserved_for=(user,)) if is_used else None)
            self.holders.put(
                claim.key, Holders(frozenset({user.uid}), others=False) if is_used else None
            )
        elif which == "node":
            if self.dice.random() < 0.3 and len(self.nodes) > 1:
                self.nodes.pop(at, None)
            else:
                self.nodes[at] = self._node(int(at[1:]))
            self.table = self._table()

    def _slice(self, name: str, at: str) -> Slice:
        given = [
            Device(f"gpu-{i}", attributes(size=self.dice.choice(["large", "small"])))
            for i in range(self.dice.randrange(5))
        ]
        whole = self.dice.random() < 0.9
        networked = self.is_networked and self.dice.random() < 0.2
        reach = {"node_name": at} if not networked else {"all_nodes": True}
        fields = {"node_name": "", "slice_count": 1 if whole else 2, **reach}
        return slice_of(given, name=name, pool=at, **fields)

    def devices(self) -> Devices:
        """Return the devices of a snapshot."""
        return Devices(
            classes=CLASSES,
            slices=tuple(self.slices.values()),
            claims=self.claims.view(),
            holders=self.holders.view(),
        )


def told(world: World, seed: int, monkeypatch: pytest.MonkeyPatch, *, anew: bool) -> list[object]:
    """Return the room and the lacks of all nodes while members come and claims become free."""
    dice = random.Random(seed)  # noqa: S311 - a world, not a secret.
    with monkeypatch.context() as patch:
        if anew:
            patch.setattr(free_devices, "_KEPT", free_devices._Kept())
            patch.setattr(free_devices.FreeDevices, "known_slots", lambda *_: None)
        ledger = DeviceLedger(world.devices(), world.table)
        everywhere = np.ones(len(world.table), dtype=np.bool_)
        found: list[object] = []
        for _ in range(4):
            for each in ASKING:
                found.append(ledger.room(each, everywhere).tolist())
                found.append(list(ledger.lacks(each, range(len(world.table)))))
                found.append(ledger.free_devices.failed.get(each))
            row = dice.randrange(len(world.table))
            asking, by = dice.choice(ASKING), dice.choice([1, 2])
            if dice.random() < 0.6:
                ledger.apply(PodClass(devices=asking), np.array([row]), np.array([by]))
            else:
                leaving = dice.sample(sorted(world.claims), len(world.claims) // 2)
                uses = tuple((each, uid) for each in leaving for uid in world.holders[each].pods)
                ledger.use(uses, -1)
            if dice.random() < 0.4:
                ledger.next_gang()
    return found


@pytest.mark.parametrize("seed", range(20))
def test_answers_that_were_kept_are_those_of_a_first_cycle(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(seed)
    for step in range(8):
        for _ in range(world.dice.randrange(4)):
            world.change()
        kept = told(world, step, monkeypatch, anew=False)
        assert told(world, step, monkeypatch, anew=True) == kept


def second_cycle(nodes: int, *, a_slice: bool = False, a_node: bool = False) -> Calls:
    """Return what the room of all nodes costs once something changed, and it was known before."""
    names = [f"n{i}" for i in range(nodes)]
    slices = [slice_of(devices(8), name=at, pool=at, node_name=at) for at in names]
    found = Devices(classes=CLASSES, slices=tuple(slices))
    made = [node(at) for at in names]
    table, everywhere = NodeTable(made), np.ones(nodes, dtype=np.bool_)
    DeviceLedger(found, table).room(ASKING[0], everywhere)
    if a_slice:
        slices[0] = replace(slices[0], devices=tuple(devices(7)))
    if a_node:
        table = NodeTable([node("n0", cpu=1), *made[1:]])
    now = DeviceLedger(replace(found, slices=tuple(slices)), table)
    return calls_of(lambda: now.room(ASKING[0], everywhere))


def test_a_later_cycle_looks_at_changed_nodes_alone_however_many_there_are() -> None:
    second_cycle(3, a_slice=True)  # What is computed once for all clusters is not counted.
    few, many = second_cycle(10, a_slice=True), second_cycle(100, a_slice=True)

    assert (
        few["free_devices.FreeDevices.signature"] == many["free_devices.FreeDevices.signature"] == 1
    )
    at_most(few.total(), many)


def test_a_later_cycle_looks_at_no_node_if_nothing_changed() -> None:
    assert second_cycle(10)["free_devices.FreeDevices.signature"] == 0


def test_of_a_new_table_only_nodes_that_differ_are_looked_at() -> None:
    assert second_cycle(10, a_node=True)["free_devices.FreeDevices.signature"] == 1


def test_nothing_is_remembered_of_nodes_that_are_gone() -> None:
    found = Devices(classes=CLASSES, slices=())
    for number in range(20):
        names = [f"n{number}", f"n{number + 1}"]
        ledger = DeviceLedger(found, NodeTable([node(at) for at in names]))
        ledger.room(ASKING[0], np.ones(2, dtype=np.bool_))

    assert len(free_devices._KEPT._pools._offered) <= 2 * 2 + 1
    known = [len(each._known) for each in free_devices._KEPT._signatures.values()]
    assert 0 < max(known) <= 2 * 2 + 1


def test_what_is_known_once_claims_are_free_does_not_depend_on_their_order() -> None:
    known = KnownSlots(NodeTable([node("n0")]), Pools(()), Taken())
    known.note(0, ("default/a", "default/b"), 3)

    assert known.slots_of(0, ("default/b", "default/a")) == 3
    assert known.slots_of(0, ("default/b",)) == UNKNOWN


def test_answers_do_not_keep_tables_that_were_replaced() -> None:
    found = Devices(classes=CLASSES, slices=(slice_of(devices(1)),))
    tables = []
    for asking in ASKING[:3]:
        table = NodeTable([node("n0")])
        tables.append(weakref.ref(table))
        DeviceLedger(found, table).room(asking, np.ones(1, dtype=np.bool_))
        del table
    gc.collect()

    assert [None] * 3 == [each() for each in tables]


# Cycles of a large cluster.


def cycle_of_many(nodes: int, gangs: int = 40) -> Calls:
    """Return what a cycle costs to which a claim was freed, and every gang is tried again."""
    cluster = LargeDeviceCluster("claims", Scale(nodes=nodes, gangs=gangs))
    for _ in range(3):
        asyncio.run(cluster.cycle())
    cluster.happens()
    snapshot = cluster.snapshot()
    plans: list[Plan] = []
    calls = calls_of(lambda: plans.append(cluster.decide(snapshot)))
    assert gangs == len(plans[0].refused)
    return calls


def test_gangs_that_wait_for_devices_are_tried_again_at_the_same_cost_on_more_nodes() -> None:
    """Only the node whose slice changed is looked at, for each of the eight shapes of gangs.

    Up to 200 nodes are asked what they lack, which is remembered.
    """
    few, many = cycle_of_many(20), cycle_of_many(120)

    assert few["free_devices.FreeDevices.signature"] == many["free_devices.FreeDevices.signature"]
    assert few["search.allocate"] == many["search.allocate"]
    at_most(few.total() + 100 * SHAPES * 25, many)


def test_gangs_of_a_shape_share_what_is_looked_up_for_it() -> None:
    few, many = cycle_of_many(20, gangs=16), cycle_of_many(20, gangs=80)

    assert few["search.allocate"] == many["search.allocate"]
    at_most(few.total() + 64 * 120, many)


def whole_nodes(nodes: int, members: int) -> Calls:
    """Return what a first cycle costs for a gang whose members each claim all devices of a node."""
    names = [f"n{i}" for i in range(nodes)]
    slices = [slice_of(devices(8), name=at, pool=at, node_name=at) for at in names]
    asking = PodClass((("pods", 1),), devices=needs(request(count=8)))
    pods = [replace(pod(f"g-{i}", gang="g"), pod_class=asking) for i in range(members)]
    found = snapshot([node(at) for at in names], [gang("g", members=pods)])
    found = replace(found, devices=Devices(classes=CLASSES, slices=tuple(slices)))
    plans: list[Plan] = []
    calls = calls_of(lambda: plans.append(schedule(found, PROFILES["binpack"])))
    assert [members] == [len(each.binds) for each in plans[0].placed]
    return calls


def test_of_nodes_alike_one_is_searched_for_room_and_one_for_the_names_of_devices() -> None:
    few, many = whole_nodes(60, 20), whole_nodes(120, 20)

    assert few["search.allocate"] == many["search.allocate"] == 1 + 1
    # A node that is new costs a look at its devices.
    at_most(few.total() + 60 * 500, many)
