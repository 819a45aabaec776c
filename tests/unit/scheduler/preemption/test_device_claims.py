"""Gangs evict pods for their devices: those of claims that no other pod uses."""

from dataclasses import replace

from gang_scheduler.model.devices import Device
from support.device_builders import DRIVER, attributes, devices, request
from support.device_worlds import DeviceWorld, devices_of, freed_by, nominated_devices
from support.plan_reading import reasons, victims_of


def full(nodes: int = 1, each: int = 2) -> DeviceWorld:
    """Return nodes on which a pod of its own uses each device."""
    world = DeviceWorld({f"n{i}": devices(each) for i in range(nodes)})
    for i in range(nodes):
        for j in range(each):
            world.allocated(f"c{i}{j}", f"n{i}", f"gpu-{j}")
            world.running(f"low{i}{j}", f"n{i}", f"c{i}{j}")
    return world


def test_pods_whose_devices_are_needed_are_evicted() -> None:
    world = full()
    world.asking("a", request(), request())

    plan = world.decide()

    assert victims_of(plan) == {"low00", "low01"}
    assert nominated_devices(plan) == {"a-0": ["n0/gpu-0"], "a-1": ["n0/gpu-1"]}
    assert freed_by(plan) == {"low00": ["n0/gpu-0"], "low01": ["n0/gpu-1"]}
    assert reasons(plan) == {"a": "WaitingForVictims"}


def test_no_more_pods_are_evicted_than_devices_are_needed() -> None:
    world = full(nodes=2, each=3)
    world.asking("a", request())

    assert len(victims_of(world.decide())) == 1


def test_of_free_devices_none_is_taken_from_a_pod() -> None:
    world = full()
    world.given = {"n0": devices(3)}
    world.asking("a", request())

    plan = world.decide()

    assert victims_of(plan) == set()
    assert devices_of([bind for placed in plan.placed for bind in placed.binds]) == {
        "a-0": ["n0/gpu-2"]
    }


def test_only_a_pod_with_a_suitable_device_is_evicted() -> None:
    sizes = [Device("a", attributes(size="small")), Device("b", attributes(size="large"))]
    world = full()
    world.given = {"n0": sizes}
    world.claims.clear()
    world.allocated("c00", "n0", "a")
    world.allocated("c01", "n0", "b")
    large = f"device.attributes['{DRIVER}'].size == 'large'"
    world.asking("a", request(selectors=(large,)))

    assert victims_of(world.decide()) == {"low01"}


def test_pods_that_share_a_claim_are_evicted_together_or_not_at_all() -> None:
    world = DeviceWorld({"n0": devices(1)})
    world.allocated("c", "n0", "gpu-0")
    world.running("x", "n0", "c", priority=1)
    world.running("y", "n0", "c", priority=5)
    world.asking("a", request(), priority=3)

    # The pod with the lower priority alone would leave for nothing.
    assert victims_of(world.decide()) == set()

    world.asking("b", request(), priority=9)
    plan = world.decide()
    assert victims_of(plan) == {"x", "y"}
    assert freed_by(plan) == {"x": ["n0/gpu-0"], "y": ["n0/gpu-0"]}


def test_a_claim_with_an_unknown_user_frees_nothing() -> None:
    world = full(each=1)
    world.others = {"c00"}
    world.asking("a", request())

    assert victims_of(world.decide()) == set()


def test_a_claim_that_is_reserved_for_no_pod_is_no_room() -> None:
    world = DeviceWorld({"n0": devices(1)})
    world.allocated("c", "n0", "gpu-0")
    world.running("low", "n0")
    world.asking("a", request())

    plan = world.decide()

    assert (set(), reasons(plan)) == (victims_of(plan), {"a": "Unschedulable"})


def test_a_pod_gets_no_device_of_a_claim_that_it_uses_itself() -> None:
    world = full(each=1)
    asking = world.asking("a", request())
    (member,) = asking.pending
    needs = member.pod_class.devices
    assert needs is not None
    pod_class = replace(member.pod_class, devices=replace(needs, used=("default/c00",)))
    world.gangs = [replace(asking, pending=(replace(member, pod_class=pod_class),))]

    assert victims_of(world.decide()) == set()


def test_the_devices_of_leaving_pods_are_kept_for_the_gang_that_waits_for_them() -> None:
    world = full()
    world.given = {"n0": devices(3)}
    world.there = [replace(each, pod=replace(each.pod, deleting=True)) for each in world.there]
    world.asking("a", request(), request(), request())
    world.nominate({"a-0": "n0", "a-1": "n0", "a-2": "n0"})
    world.asking("b", request(), priority=5)

    plan = world.decide()

    # The third device is free, but the gang of higher priority waits for all three.
    assert (set(), ()) == (victims_of(plan), plan.placed)
    assert reasons(plan) == {"a": "WaitingForVictims", "b": "Unschedulable"}

    world.given = {"n0": devices(4)}
    plan = world.decide()
    assert list(devices_of([bind for each in plan.placed for bind in each.binds])) == ["b-0"]


def test_a_gang_waits_for_claims_of_pods_that_have_ended() -> None:
    world = full(each=1)
    world.allocated("last", "n0", "gpu-1")
    world.given = {"n0": devices(2)}
    world.ending = {"last"}
    world.asking("a", request())

    # kube-controller-manager is about to deallocate the claim: no other pod is evicted.
    plan = world.decide()

    assert (set(), {"a-0": ["n0/gpu-1"]}) == (victims_of(plan), nominated_devices(plan))
    world.nominate({"a-0": "n0"})
    plan = world.decide()
    assert (set(), {"a": "WaitingForVictims"}) == (victims_of(plan), reasons(plan))


def test_most_of_the_devices_of_a_large_cluster_are_left_to_their_pods() -> None:
    world = full(nodes=30, each=4)
    world.asking("a", *[request(count=2)] * 4)

    plan = world.decide()

    assert len(victims_of(plan)) == 8
    assert sum(map(len, nominated_devices(plan).values())) == 8
