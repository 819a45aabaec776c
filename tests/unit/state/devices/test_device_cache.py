"""The devices of a snapshot: what is taken, by which pods, and what our own plans take."""

from collections.abc import Mapping
from typing import Any

import pytest

from gang_scheduler.api.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from gang_scheduler.model.api_words import Dra
from gang_scheduler.model.device_needs import NO_DEVICES, ClaimAllocation, Devices, Holders
from gang_scheduler.model.devices import Allocation, Consumer, DeviceResult
from gang_scheduler.model.extended_resources import claim_name
from gang_scheduler.model.plan import Bind, Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.rules import DeviceRules, Rules
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Change, Changes
from gang_scheduler.state.devices.device_cache import NO_USER
from support import cache_feeding
from support.api_objects import container, pod_body
from support.builders import SCHEDULER
from support.call_counts import Calls, calls_of
from support.device_objects import (
    DRIVER,
    allocated,
    by_name,
    by_template,
    claim,
    device_class,
    naming,
    resource_slice,
    template,
)
from support.in_memory_cluster import native_body
from support.volume_builders import gangs_due

TOUCHED, FREED = Change.GANGS_TOUCHED.name, Change.ROOM_FREED.name
GPU_0 = Allocation((DeviceResult("gpu", DRIVER, "n0", "gpu-0"),))


class Town:
    """A cache with devices, fed with objects. `versions` go up with every object."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.cache = Cache([SCHEDULER], self.changes)
        self.cache.serve_devices(served=True)
        self._handlers = cache_feeding.event_handlers(self.cache)
        self._version = 10
        self.see(device_class(), resource_slice("n0"))

    def see(self, *bodies: Any, change: str = "MODIFIED") -> int:
        """Let objects be seen in a new version; return the last one."""
        for body in bodies:
            self._version += 1
            metadata = {**body["metadata"], "resourceVersion": str(self._version)}
            cache_feeding.tell(self._handlers, change, {**body, "metadata": metadata})
        return self._version

    def pod(self, name: str, *claims: str, phase: str = "Pending", **spec: Any) -> None:
        """Let a pod be seen that names claims."""
        named = naming(*(by_name(each, each) for each in claims))
        self.see(pod_body(name, status={"phase": phase}, **named["spec"], **spec))

    def assume(self, name: str, *claims: str, node: str = "n0", is_new: bool = True) -> None:
        """Plan a pod on a node, with one device for each claim."""
        pod = self.cache.pod(f"uid-{name}")
        assert pod is not None
        gets = (ClaimAllocation(each, f"default/{each}", GPU_0, is_new) for each in claims)
        self.cache.assume(Bind(pod, node, claims=tuple(gets)))

    @property
    def devices(self) -> Devices:
        """The devices of a snapshot now."""
        self.cache.snapshot(0)
        return self.cache.devices.snapshot()

    @property
    def taken(self) -> dict[str, list[str]]:
        """The devices of each allocated claim."""
        return {
            key: [each.device for each in found.allocation.results]
            for key, found in self.devices.claims.items()
            if found.allocation is not None
        }


def test_a_snapshot_has_devices_only_for_gangs_that_ask_for_some() -> None:
    town = Town()
    town.see(claim("a"))
    before = town.cache.snapshot(0).devices
    town.pod("w", "a")
    found = town.cache.snapshot(1).devices

    assert NO_DEVICES is before
    assert (["gpu"], ["n0-gpu.example.com"]) == ([*found.classes], [s.name for s in found.slices])


def test_a_snapshot_is_the_same_object_while_nothing_changes() -> None:
    town = Town()
    town.see(claim("a"))
    town.pod("w", "a")
    first = town.devices
    town.pod("other")
    same = town.devices
    town.see(resource_slice("n1"))

    assert first is same
    assert same is not town.devices
    assert same.slices != town.devices.slices


def test_while_only_claims_change_classes_and_slices_are_the_same_objects() -> None:
    town = Town()
    town.see(claim("a"))
    town.pod("w", "a")
    before = town.devices
    town.see(allocated(claim("b"), "n0", "gpu-0"))
    after = town.devices

    assert before is not after
    assert before.slices is after.slices
    assert before.classes is after.classes


def test_claims_of_the_whole_cluster_take_their_devices() -> None:
    town = Town()
    strange = allocated(claim("strange", namespace="other"), "n0", "gpu-1", pods=("gone",))
    town.see(claim("free"), allocated(claim("mine"), "n0", "gpu-0"), strange)

    assert {"default/mine": ["gpu-0"], "other/strange": ["gpu-1"]} == town.taken


def test_only_claims_without_devices_that_pods_name_are_waited_for() -> None:
    town = Town()
    town.see(claim("a"), claim("unused"), allocated(claim("mine"), "n0", "gpu-0"))
    town.pod("w", "a", "mine")
    before = [*town.devices.waiting]
    town.assume("w", "a")

    assert (["default/a"], []) == (before, [*town.devices.waiting])


def test_an_assumed_allocation_takes_devices_until_it_is_forgotten() -> None:
    town = Town()
    town.see(claim("a"))
    town.pod("w", "a")
    town.assume("w", "a")
    assumed = town.taken
    town.cache.forget("uid-w")

    assert ({"default/a": ["gpu-0"]}, {}) == (assumed, town.taken)


def test_what_was_written_stays_taken_until_the_watch_shows_it() -> None:
    town = Town()
    town.see(claim("a"))
    town.pod("w", "a")
    town.assume("w", "a")
    town.cache.devices.written("default/a", 1000, GPU_0)
    town.cache.forget("uid-w")
    # An earlier version, which was on its way.
    town.see(claim("a", labels={"b": "c"}))
    before = town.taken
    town._version = 999
    town.see(claim("a"))

    assert ({"default/a": ["gpu-0"]}, {}) == (before, town.taken)


def test_a_withdrawn_allocation_is_free_once_the_watch_shows_it() -> None:
    town = Town()
    town.see(allocated(claim("a"), "n0", "gpu-0", pods=("w",)))
    town.pod("w", "a")
    town.cache.devices.written("default/a", 1000, None)
    before = town.taken
    town.see(claim("a"))

    assert ({"default/a": ["gpu-0"]}, {}) == (before, town.taken)


def test_a_claim_of_the_same_name_takes_no_devices_of_an_earlier_one() -> None:
    town = Town()
    town.see(claim("a"))
    town.pod("w", "a")
    town.assume("w", "a")
    town.see(claim("a", uid="another"))

    assert {} == town.taken


def test_the_other_users_of_an_assumed_claim_must_go_to_its_node() -> None:
    town = Town()
    town.see(claim("both"))
    town.pod("v", "both")
    town.pod("w", "both")
    town.assume("v", "both")
    town.cache.snapshot(0)
    other = town.cache.pod("uid-w")

    assert other is not None
    assert other.pod_class.devices is not None
    assert () == other.pod_class.devices.claims


def test_the_holders_of_a_claim_are_the_pods_that_have_not_ended() -> None:
    town = Town()
    users = ("runs", "ended", "deleted", "unknown")
    for name, phase in (("runs", "Running"), ("ended", "Succeeded"), ("deleted", "Running")):
        town.pod(name, name, phase=phase, nodeName="n0")
        town.see(allocated(claim(name), "n0", "gpu-0", pods=(name,)))
    town.see(allocated(claim("unknown"), "n0", "gpu-0", pods=("unknown",)))
    town.see(pod_body("deleted"), change="DELETED")
    found = town.devices.holders

    assert {
        "runs": Holders(frozenset({"uid-runs"})),
        "ended": Holders(),
        "deleted": Holders(),
        "unknown": Holders(others=True),
    } == {each: found[f"default/{each}"] for each in users}


def test_a_claim_ends_with_the_last_of_its_users() -> None:
    town = Town()
    town.pod("a", "c", phase="Running", nodeName="n0")
    town.pod("b", "c", phase="Running", nodeName="n0")
    town.see(allocated(claim("c"), "n0", "gpu-0", pods=("a", "b")))
    town.pod("w", "waiting")
    town.see(claim("waiting"), allocated(claim("idle"), "n0", "gpu-1"))
    assert [] == [*town.devices.ending]

    town.pod("a", "c", phase="Succeeded", nodeName="n0")
    assert [] == [*town.devices.ending]
    town.pod("b", "c", phase="Succeeded", nodeName="n0")
    assert ["default/c"] == [*town.devices.ending]
    town.see(claim("c"))
    assert [] == [*town.devices.ending]


def test_room_is_free_when_a_claim_loses_its_devices_and_not_when_it_gets_some() -> None:
    town = Town()
    town.pod("w", "a")
    town.see(claim("a"))
    town.cache.snapshot(0)
    store = kinds.of(RESOURCE_CLAIMS).store(town.cache)
    read = kinds.of(RESOURCE_CLAIMS).reader.read

    changes = [
        store.upsert(read(body)).name
        for body in (allocated(claim("a"), "n0", "gpu-0"), claim("a"), claim("a"))
    ]
    changes.append(store.upsert(read(allocated(claim("a"), "n0", "gpu-0"))).name)
    changes.append(store.delete("uid-claim-a").name)

    assert [TOUCHED, FREED, "NOTHING", TOUCHED, FREED] == changes


def test_a_claim_that_comes_after_its_pod_lets_the_gang_be_tried_again() -> None:
    town = Town()
    town.pod("w", "a")
    for gang in gangs_due(town.cache):
        refused = Refused(gang, Reason.WAITING_FOR_CLAIMS, gang.pending)
        town.cache.decisions.refused(refused, now=0)
    assert [] == gangs_due(town.cache)
    town.changes.cycle.clear()
    town.see(claim("a"))

    assert town.changes.cycle.is_set()
    assert ["w"] == [pod.name for gang in gangs_due(town.cache) for pod in gang.pending]


def test_a_claim_of_pods_on_nodes_wakes_nothing() -> None:
    town = Town()
    town.pod("w", "a", nodeName="n0")
    town.see(claim("other"))
    town.changes.cycle.clear()
    town.see(allocated(claim("a"), "n0", "gpu-0", pods=("w",)))

    assert not town.changes.cycle.is_set()


def test_a_slice_may_help_only_where_claims_are_in_use() -> None:
    town = Town()
    store = kinds.of(RESOURCE_SLICES).store(town.cache)
    read = kinds.of(RESOURCE_SLICES).reader.read
    before = store.upsert(read(resource_slice("n1"))).name
    town.pod("w", "a")

    assert ("NOTHING", "ROOM_FREED") == (before, store.upsert(read(resource_slice("n2"))).name)


@pytest.mark.parametrize(
    ("bound", "assumed", "expected"),
    [(False, False, ["default/a"]), (False, True, []), (True, False, [])],
    ids=["waiting", "being bound", "bound"],
)
def test_an_attempt_did_not_end_if_a_claim_is_reserved_for_a_pod_that_is_not_being_bound(
    *, bound: bool, assumed: bool, expected: list[str]
) -> None:
    town = Town()
    town.see(allocated(claim("a"), "n0", "gpu-0", pods=("w",)))
    town.pod("w", "a")
    if assumed:
        town.assume("w", "a", is_new=False)
    if bound:
        town.pod("w", "a", nodeName="n0")

    assert expected == [each.claim.key for each in town.cache.devices.unfinished()]


def test_with_the_setting_off_no_claim_is_read_and_pods_with_claims_are_refused() -> None:
    off = Cache([SCHEDULER], Changes(), Rules(devices=DeviceRules(dra=Dra.OFF)))
    off.serve_devices(served=True)
    read = {reader.kind for reader, _ in kinds.sinks(off)}
    handlers = cache_feeding.event_handlers(off)
    cache_feeding.tell(handlers, "ADDED", pod_body("w", **naming(by_name("a"))["spec"]))
    found = off.pod("uid-w")

    assert "DeviceClass" in read
    assert {"ResourceClaim", "ResourceSlice", "ResourceClaimTemplate"}.isdisjoint(read)
    assert found is not None
    assert ("spec.resourceClaims",) == found.pod_class.unsupported


def test_rules_that_taint_devices_are_known() -> None:
    town = Town()
    town.pod("a", "data")
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r", "uid": "uid-r"},
        "spec": {
            "deviceSelector": {"driver": DRIVER, "device": "gpu-0"},
            "taint": {"key": "bad", "effect": "NoExecute"},
        },
    }

    town.see(rule)
    (found,) = town.cache.devices.snapshot().taint_rules
    assert (found.name, found.device, str(found.taint)) == ("r", "gpu-0", "bad:NoExecute")

    town.see(rule, change="DELETED")
    assert () == town.cache.devices.snapshot().taint_rules


# Claims for extended resources, which plans of ours make.


def asking(town: Town) -> str:
    """Let a pod be seen that asks for an extended resource; return the key of its claim."""
    town.see(device_class(extendedResourceName="nvidia.com/gpu"))
    town.see(pod_body("w", containers=[container(requests={"nvidia.com/gpu": "1"})]))
    return f"default/{claim_name('w', 'uid-w')}"


def plan_claim(town: Town, key: str) -> None:
    pod = town.cache.pod("uid-w")
    assert pod is not None
    assert pod.pod_class.devices is not None
    extended = pod.pod_class.devices.extended
    gets = ClaimAllocation("", key, GPU_0, extended=extended)
    town.cache.assume(Bind(pod, "n0", claims=(gets,)))


def test_a_claim_that_a_plan_makes_counts_before_it_exists() -> None:
    town = Town()
    key = asking(town)
    plan_claim(town, key)

    assert GPU_0 == town.devices.claims[key].allocation
    assert Holders(frozenset({"uid-w"})) == town.devices.holders[key]
    town.cache.forget("uid-w")
    assert {} == town.devices.claims


def test_the_end_of_an_earlier_claim_of_the_name_does_not_free_what_is_planned() -> None:
    town = Town()
    key = asking(town)
    earlier = claim(key.partition("/")[2], owner="w")
    town.see(earlier)
    plan_claim(town, key)
    town.see(earlier, change="DELETED")

    assert [key] == [*town.devices.claims]


def test_a_claim_of_a_pod_that_is_not_being_bound_is_left_over() -> None:
    town = Town()
    key = asking(town)
    town.see(claim(key.partition("/")[2], owner="w"))
    before = [each.claim.key for each in town.cache.devices.unfinished()]
    plan_claim(town, key)
    town.devices  # noqa: B018 - it settles what is planned.

    assert [key] == before
    assert [] == town.cache.devices.unfinished()


# Claims of native PodGroups.

GROUP = Consumer.of_pod_group("g", "uid-native-g")


def see_group(town: Town, bound: Mapping[str, str]) -> None:
    """Let a group of two be seen, whose claim is allocated, and reserved for it."""
    entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
    town.see(native_body("g", 2, resourceClaims=[entry]))
    given = allocated(claim("g-gpu"), "n0", "gpu-0")
    user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g"}
    given["status"]["reservedFor"] = [{**user, "uid": "uid-native-g"}]
    town.see(given)
    for name in ("v", "w"):
        named = naming(by_template("t"), created={"gpu": "g-gpu"})
        named["spec"] |= {"schedulingGroup": {"podGroupName": "g"}, "nodeName": bound.get(name, "")}
        town.see(pod_body(name, status=named["status"], **named["spec"]))


def test_an_entry_that_the_group_has_too_is_reserved_for_the_group() -> None:
    town = Town()
    see_group(town, {})
    town.pod("x", "gpu", schedulingGroup={"podGroupName": "g"})
    of_group, by_name_of_pod = town.cache.pod("uid-w"), town.cache.pod("uid-x")
    assert of_group is not None
    assert by_name_of_pod is not None
    given = ClaimAllocation("gpu", "default/g-gpu", GPU_0)

    assert GROUP == town.cache.devices.user_of(of_group, given)
    # It names a claim where the group names a template.
    assert Consumer.of_pod("x", "uid-x") == town.cache.devices.user_of(by_name_of_pod, given)


@pytest.mark.parametrize(
    ("bound", "expected"), [({}, [("v", "w")]), ({"v": "n0"}, [])], ids=["none", "one"]
)
def test_a_claim_is_held_in_vain_for_a_group_as_long_as_none_of_its_pods_is_bound(
    bound: dict[str, str], expected: list[tuple[str, ...]]
) -> None:
    town = Town()
    see_group(town, bound)

    found = town.cache.devices.unfinished()
    assert expected == [tuple(sorted(pod.name for pod in each.pods)) for each in found]
    assert {GROUP.uid} >= {each.user for each in found}


def test_a_claim_of_a_group_is_freed_by_no_eviction() -> None:
    town = Town()
    see_group(town, {"v": "n0", "w": "n0"})

    assert Holders(frozenset(), others=True) == town.devices.holders["default/g-gpu"]


# Allocated claims that are reserved for nothing.


@pytest.mark.parametrize(("bound", "expected"), [("", ["w"]), ("n0", [])], ids=["waits", "runs"])
def test_a_claim_that_is_reserved_for_nothing_is_left_over_as_long_as_its_pods_wait(
    bound: str, expected: list[str]
) -> None:
    town = Town()
    town.see(allocated(claim("a"), "n0", "gpu-0"))
    assert [] == town.cache.devices.unfinished()
    town.pod("w", "a", nodeName=bound)

    found = town.cache.devices.unfinished()
    assert expected == [pod.name for each in found for pod in each.pods]
    assert {NO_USER} >= {each.user for each in found}


def of_group(number: int) -> Town:
    """Return a town with a PodGroup that has a claim, and this many pods of it."""
    town = Town()
    entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
    town.see(native_body("g", number, resourceClaims=[entry]), template("t"))
    made = claim("g-gpu")
    owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g"}
    made["metadata"]["ownerReferences"] = [{**owner, "uid": "uid-native-g", "controller": True}]
    town.see(made)
    for each in range(number):
        pod_of_group(town, each)
        town.cache.snapshot(0)
    return town


def pod_of_group(town: Town, number: int, **spec: Any) -> None:
    named = naming(by_template("t"), created={"gpu": "g-gpu"})
    fields = {**named["spec"], "schedulingGroup": {"podGroupName": "g"}, **spec}
    town.see(pod_body(f"p{number}", status=named["status"], **fields))


def in_turn(number: int) -> Calls:
    """Return the calls for the pods of a group that come, start and go one by one."""

    def work() -> None:
        town = of_group(number)
        for each in range(number):
            pod_of_group(town, each, nodeName="n0")
            town.cache.snapshot(0)
        for each in range(number):
            gone = pod_body(f"p{each}", schedulingGroup={"podGroupName": "g"}, nodeName="n0")
            town.see(gone, change="DELETED")
            town.cache.snapshot(0)

    return calls_of(work)


def test_the_work_for_pods_that_share_a_claim_grows_with_their_number_alone() -> None:
    few, many = in_turn(20), in_turn(60)

    for name in ("needs.needs_of", "charges.charged_for", "needs._place"):
        assert 0 < many[name] <= 4 * few[name], name
    assert sum(many.values()) <= 4.5 * sum(few.values())


def test_the_first_of_the_pods_that_share_a_claim_is_charged_and_then_the_next() -> None:
    town = of_group(3)

    def charged() -> list[bool]:
        town.cache.snapshot(0)
        pods = (town.cache.pod(f"uid-p{each}") for each in range(3))
        return [bool(pod.pod_class.claimed) for pod in pods if pod is not None]

    before = charged()
    town.see(pod_body("p0", schedulingGroup={"podGroupName": "g"}), change="DELETED")
    assert ([True, False, False], [True, False]) == (before, charged())
