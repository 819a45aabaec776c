"""Law: victims free the devices that a gang needs, none in vain, and no device is given twice.

The checker tries all sets of victims and all nodes of members. It knows two kinds of devices, large
and small ones, and looks at none of the scheduler's own answers but its plan.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from random import Random

from hypothesis import example, given

from gang_scheduler.model.devices import Device, Request
from gang_scheduler.model.plan import Plan
from property.random_cases import SEEDS, dice_of
from support.device_builders import DRIVER, attributes, request
from support.device_worlds import DeviceWorld, devices_of, nominated_devices
from support.plan_reading import nodes_of, nominations_of, victims_of

LARGE = f"device.attributes['{DRIVER}'].size == 'large'"
CPU = 8
HIGH = 10
"""The priority of the gangs that wait. Some of the others have a higher one, and stay."""


def world_of(dice: Random, *, mixed: bool = False) -> DeviceWorld:
    """Return up to three nodes, pods with claims of their own or shared, and a gang that waits.

    Its members are equal, unless `mixed`.
    """
    given = {
        f"n{i}": [
            Device(f"d{j}", attributes(size=dice.choice(["large", "small"])))
            for j in range(dice.randint(1, 4))
        ]
        for i in range(dice.randint(1, 3))
    }
    world = DeviceWorld(given, cpu=CPU)
    for at, some in given.items():
        free = [each.name for each in some]
        while free and dice.random() < 0.8:
            taken = [free.pop() for _ in range(min(len(free), dice.randint(1, 2)))]
            name = f"{at}-{len(world.claims)}"
            world.allocated(name, at, *taken)
            for number in range(dice.choice([1, 1, 1, 2])):
                own = dice.choice(["", "", "w"])
                priority = dice.choice([1, 1, 2, 3, 20])
                fields = {"gang": own} if own else {}
                priority = 2 if own else priority
                world.running(
                    f"{name}-{number}",
                    at,
                    name,
                    priority=priority,
                    cpu=dice.randint(1, 2),
                    **fields,
                )
            if dice.random() < 0.1:
                world.others.add(name)
    number = dice.randint(1, 3)
    asked = [_request(dice) for _ in range(number)] if mixed else [_request(dice)] * number
    world.asking("a", *asked, priority=HIGH, cpu=dice.randint(1, 3))
    return world


def _request(dice: Random) -> Request:
    return request(count=dice.randint(1, 2), selectors=dice.choice([(), (), (LARGE,)]))


def units_of(world: DeviceWorld) -> list[list[str]]:
    """Return the pods that may be evicted, by name, in sets that are evicted together."""
    by_gang: dict[object, list[str]] = {}
    for each in world.there:
        if each.priority < HIGH:
            by_gang.setdefault(each.gang, []).append(each.pod.name)
    return list(by_gang.values())


def left(world: DeviceWorld, gone: Collection[str]) -> dict[str, Counter[str]]:
    """Return how many devices of each size are free on each node without some pods."""
    found = {}
    for at, some in world.given.items():
        taken: set[str] = set()
        for claim in world.claims.values():
            users = [
                each.pod.name
                for each in world.there
                if any(entry.claim == claim.name for entry in each.pod.claims)
            ]
            is_held = claim.name in world.others or any(each not in gone for each in users)
            assert claim.allocation is not None
            results = claim.allocation.results
            taken |= {each.device for each in results if each.pool == at and is_held}
        sizes = (str(each.attributes["size"].value) for each in some if each.name not in taken)
        found[at] = Counter(sizes)
    return found


def cpu_left(world: DeviceWorld, gone: Collection[str]) -> dict[str, int]:
    """Return the free CPU of each node without some pods, in thousandths."""
    free = dict.fromkeys(world.given, CPU * 1000)
    for each in world.there:
        if each.pod.name not in gone:
            free[each.pod.node] -= dict(each.pod.pod_class.requests)["cpu"]
    return free


def fits(world: DeviceWorld, gone: Collection[str]) -> bool:
    """Return whether all members find nodes with devices and CPU without some pods."""
    members = world.gangs[0].pending
    asked = [world.waiting[f"default/{each.name}"].requests[0] for each in members]
    devices, cpu = left(world, gone), cpu_left(world, gone)
    need = dict(members[0].pod_class.requests)["cpu"]
    for places in itertools.product(world.given, repeat=len(members)):
        if all(
            _suffice(
                [it for it, place in zip(asked, places, strict=True) if place == at],
                devices[at],
                max(0, cpu[at] // need),
            )
            for at in world.given
        ):
            return True
    return False


def _suffice(asked: Sequence[Request], free: Counter[str], pods: int) -> bool:
    large = sum(each.alternatives[0].count for each in asked if each.alternatives[0].selectors)
    every = sum(each.alternatives[0].count for each in asked)
    return len(asked) <= pods and large <= free["large"] and every <= free.total()


def sets_of(units: Sequence[Sequence[str]]) -> Iterator[set[str]]:
    """Yield all sets of victims."""
    for number in range(len(units) + 1):
        for some in itertools.combinations(units, number):
            yield {name for unit in some for name in unit}


def check_devices(world: DeviceWorld, plan: Plan) -> None:
    """Check that no device is given to two members, or to one while a pod that stays uses it."""
    binds = [bind for placed in plan.placed for bind in placed.binds]
    gone = victims_of(plan)
    held = Counter(
        f"{each.pool}/{each.device}"
        for claim in world.claims.values()
        for each in (claim.allocation.results if claim.allocation else ())
        if claim.name in world.others
        or any(
            entry.claim == claim.name and each.pod.name not in gone
            for each in world.there
            for entry in each.pod.claims
        )
    )
    for gets in (devices_of(binds), nominated_devices(plan)):
        held.update(device for some in gets.values() for device in some)
    assert max(held.values(), default=1) == 1


@given(seed=SEEDS)
def test_victims_are_as_few_as_suffice_and_are_found_if_any_suffice(seed: int) -> None:
    world = world_of(dice_of(seed))
    plan = world.decide()
    units = units_of(world)
    victims = victims_of(plan)

    check_devices(world, plan)
    if fits(world, ()):
        assert victims == set()
        assert len(nodes_of(plan)) == len(world.gangs[0].pending)
    elif not any(fits(world, some) for some in sets_of(units)):
        assert (set(), {}, {}) == (victims, nodes_of(plan), nominations_of(plan))
    else:
        assert nominations_of(plan)
        assert fits(world, victims)
        chosen = [unit for unit in units if victims.issuperset(unit)]
        assert victims == {name for unit in chosen for name in unit}
        for spared in chosen:
            assert not fits(world, victims.difference(spared))


@example(seed=1354)
@given(seed=SEEDS)
def test_victims_suffice_for_members_that_ask_for_different_devices(seed: int) -> None:
    world = world_of(dice_of(seed), mixed=True)
    plan = world.decide()

    check_devices(world, plan)
    if plan.placed or plan.preemptions:
        assert fits(world, victims_of(plan))
    if fits(world, ()):
        assert victims_of(plan) == set()
        assert len(nodes_of(plan)) == len(world.gangs[0].pending)
    else:
        suffices = any(fits(world, some) for some in sets_of(units_of(world)))
        assert suffices == bool(nominations_of(plan))
