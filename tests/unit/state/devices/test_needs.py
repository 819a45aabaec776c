"""What the claims of a waiting pod need, by their state."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.device_needs import NO_NEEDS, DeviceNeed, DeviceNeeds
from gang_scheduler.model.extended_resources import claim_name
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import container, pod_body
from support.builders import SCHEDULER
from support.device_objects import (
    allocated,
    by_name,
    by_template,
    claim,
    device_class,
    naming,
    request,
    template,
)
from support.in_memory_cluster import native_body


def cluster(*bodies: dict[str, Any]) -> Cache:
    """Return a cache of objects in a cluster that serves devices."""
    cache = Cache([SCHEDULER], Changes())
    cache.serve_devices(served=True)
    handlers = cache_feeding.event_handlers(cache)
    for body in bodies:
        cache_feeding.tell(handlers, "ADDED", body)
    return cache


def pod(name: str, *entries: Any, created: dict[str, str] | None = None, **spec: Any) -> Any:
    named = naming(*entries, created=created)
    return pod_body(name, status=named["status"], **named["spec"], **spec)


def needs(cache: Cache, name: str = "w") -> DeviceNeeds:
    """Return the needs of a pod, as they are in its class."""
    cache.snapshot(0)
    found = cache.pod(f"uid-{name}")
    assert found is not None
    assert () == found.pod_class.unsupported
    assert found.pod_class.devices is not None
    return found.pod_class.devices


def problem(cache: Cache) -> Problem:
    found = needs(cache).problem
    assert found is not None
    assert DeviceNeeds(problem=found) == needs(cache)
    return found


def test_a_pod_needs_what_its_unallocated_claims_ask_for_in_its_order() -> None:
    two, one = claim("two", request(2)), claim("one", request(1))
    cache = cluster(
        device_class(), one, two, pod("w", by_name("two", "first"), by_name("one", "second"))
    )

    specs = [cache.devices.claims.get(f"default/{name}") for name in ("two", "one")]
    assert DeviceNeeds(tuple(DeviceNeed(each.spec) for each in specs if each)) == needs(cache)


def test_members_with_claims_of_one_template_are_of_one_class() -> None:
    pods = [
        pod(name, by_template("gpus"), created={"gpu": f"{name}-gpu"}) for name in ("w-0", "w-1")
    ]
    claims = [claim(f"{name}-gpu", owner=name) for name in ("w-0", "w-1")]
    cache = cluster(device_class(), template("gpus"), *claims, *pods)
    cache.snapshot(0)
    classes = {found.pod_class for name in ("w-0", "w-1") if (found := cache.pod(f"uid-{name}"))}

    assert 1 == len(classes)
    assert 1 == len(needs(cache, "w-0").claims)


def test_a_claim_that_another_pod_names_too_is_named() -> None:
    cache = cluster(device_class(), claim("both"), pod("w", by_name("both")))
    alone = needs(cache)
    cache_feeding.tell(
        cache_feeding.event_handlers(cache), "ADDED", pod("v", by_name("both"), nodeName="n0")
    )

    assert ["", "default/both"] == [each.claims[0].shared for each in (alone, needs(cache))]


def test_an_allocated_claim_limits_the_nodes() -> None:
    there = allocated(claim("there"), "n0", "gpu-0")
    cache = cluster(device_class(), there, pod("w", by_name("there")))

    found = needs(cache)
    assert () == found.claims
    assert [("metadata.name", ("n0",))] == [
        (each.key, each.values) for nodes in found.nodes for term in nodes for each in term
    ]
    assert ("default/there",) == found.used


def test_an_entry_for_which_no_claim_is_needed_asks_for_nothing() -> None:
    cache = cluster(pod("w", by_template("gpus"), created={"gpu": ""}))

    assert NO_NEEDS == needs(cache)


def test_a_pod_on_a_node_needs_nothing_more() -> None:
    found = cluster(pod("w", by_name("lost"), nodeName="n0")).pod("uid-w")

    assert found is not None
    assert (None, ()) == (found.pod_class.devices, found.pod_class.unsupported)


GENERATED = pod("w", by_template("gpus"), created={"gpu": "w-gpu"})
NAMED = "which spec.resourceClaims[name=gpu] of pod default/w names, does not exist"
DERIVED = "spec.devices.requests[0].exactly.derivedAttributes"
UNSUPPORTED = "cannot be honoured by this scheduler yet"
MANY = claim("a", request(17, "x"), request(16, "y"))
ODD = claim("a")
ODD["spec"]["devices"]["requests"][0]["exactly"]["derivedAttributes"] = [{}]


@pytest.mark.parametrize(
    ("reason", "words", "bodies"),
    [
        (
            Reason.WAITING_FOR_CLAIMS,
            "claim gpu of pod default/w is not created yet",
            [template("gpus"), pod("w", by_template("gpus"))],
        ),
        (
            Reason.CLAIM_NOT_FOUND,
            f'ResourceClaimTemplate "gpus", {NAMED}',
            [pod("w", by_template("gpus"))],
        ),
        # The pod is seen before the claim that was created for it.
        (
            Reason.WAITING_FOR_CLAIMS,
            "claim gpu of pod default/w is not created yet",
            [GENERATED],
        ),
        (
            Reason.CLAIM_NOT_FOUND,
            "ResourceClaim default/w-gpu was not created for pod default/w",
            [claim("w-gpu", owner="earlier"), GENERATED],
        ),
        (
            Reason.CLAIM_NOT_FOUND,
            f'ResourceClaim "lost", {NAMED}',
            [pod("w", by_name("lost"))],
        ),
        (
            Reason.WAITING_FOR_CLAIMS,
            "ResourceClaim default/going of pod default/w is being deleted",
            [
                claim("going", deletionTimestamp="2026-11-29T00:00:00Z"),
                pod("w", by_name("going")),
            ],
        ),
        (
            Reason.INVALID_CLAIM,
            "claim default/a, request gpu: device class other does not exist",
            [claim("a", request(device_class="other")), pod("w", by_name("a"))],
        ),
        (
            Reason.INVALID_CLAIM,
            "claim default/a: it asks for 33 devices, and a claim can have at most 32",
            [MANY, device_class(), pod("w", by_name("a"))],
        ),
        (
            Reason.UNSUPPORTED_FEATURE,
            f"claim default/a: {DERIVED} {UNSUPPORTED} (feature DRADerivedAttributes)",
            [ODD, device_class(), pod("w", by_name("a"))],
        ),
        (
            Reason.INVALID_CLAIM,
            "claim default/a, request gpu: DeviceClass gpu: spec.selectors all must be a list",
            [claim("a"), device_class(selectors="all"), pod("w", by_name("a"))],
        ),
    ],
)
def test_a_claim_that_cannot_be_allocated_is_a_problem(
    reason: Reason, words: str, bodies: list[Any]
) -> None:
    found = problem(cluster(*bodies))

    assert (reason, words) == (found.reason, found.cause.text())


def test_no_more_pods_than_a_claim_can_hold_may_use_it() -> None:
    users = tuple(f"u-{each}" for each in range(255))
    there = allocated(claim("there"), "n0", "gpu-0", pods=users)
    pods = [pod(name, by_name("there")) for name in ("w-9", "w-10")]
    cache = cluster(there, *pods)

    assert None is needs(cache, "w-9").problem
    found = needs(cache, "w-10").problem
    assert found is not None
    text = "claim default/there: at most 256 pods can use it: use resourceClaims of the PodGroup"
    assert (Reason.INVALID_CLAIM, text) == (found.reason, found.cause.text())


def test_claims_are_refused_where_devices_are_not_known() -> None:
    cache = cluster(device_class(), claim("a"), pod("w", by_name("a")))
    assert 1 == len(needs(cache).claims)

    seen = []
    for served in (False, True):
        cache.serve_devices(served=served)
        cache.snapshot(0)
        found = cache.pod("uid-w")
        assert found is not None
        seen.append((found.pod_class.unsupported, found.pod_class.devices is not None))

    assert [(("spec.resourceClaims",), False), ((), True)] == seen


def test_another_pod_like_one_that_runs_needs_a_claim_of_its_own() -> None:
    there = allocated(claim("there"), "n0", "gpu-0")
    made = allocated(claim("w-gpus", owner="w"), "n0", "gpu-1", pods=("w",))
    running = pod(
        *("w", by_template("gpus"), by_name("there", "shared")),
        created={"gpu": "w-gpus"},
        nodeName="n0",
    )
    cache = cluster(device_class(), template("gpus", request(2)), there, made, running)
    found = cache.pod("uid-w")
    assert found is not None
    assert found.pod_class.devices is None

    another = cache.devices.needs_of_another(found)

    assert another is not None
    assert [2] == [each.spec.requests[0].alternatives[0].count for each in another.claims]
    assert [""] == [each.shared for each in another.claims]
    assert ("default/there",) == another.used
    assert 1 == len(another.nodes)


# Extended resources that stand for devices.

GPU = "nvidia.com/gpu"
ASKING = pod_body("w", containers=[container(requests={"cpu": "1", GPU: "2"})])
OFFERING = device_class(extendedResourceName=GPU)


def special(number: int = 2, *, owner: str = "w", **metadata: Any) -> Any:
    """Return the claim for extended resources that an attempt before has left."""
    asked = request(number, "container-0-request-1")
    return claim(claim_name("w", "uid-w"), asked, owner=owner, **metadata)


def test_a_resource_that_a_class_offers_is_a_need_for_devices() -> None:
    (found,) = needs(cluster(OFFERING, ASKING)).extended

    assert (GPU, "gpu", 2) == (found.resource, found.device_class, found.count)
    assert ["container-0-request-1"] == [each.name for each in found.requests]


def test_the_need_comes_and_goes_with_the_class() -> None:
    cache = cluster(ASKING)
    handlers = cache_feeding.event_handlers(cache)
    cache.snapshot(0)
    before = cache.pod("uid-w")
    cache_feeding.tell(handlers, "ADDED", OFFERING)
    with_class = needs(cache)
    cache_feeding.tell(handlers, "DELETED", OFFERING)
    cache.snapshot(0)
    after = cache.pod("uid-w")

    assert before is not None
    assert after is not None
    assert (None, None) == (before.pod_class.devices, after.pod_class.devices)
    assert [GPU] == [each.resource for each in with_class.extended]


def test_the_name_of_the_class_is_a_resource_of_its_own() -> None:
    name = "deviceclass.resource.kubernetes.io/gpu"
    asking = pod_body("w", containers=[container(requests={name: "1"})])
    (found,) = needs(cluster(device_class(), asking)).extended

    assert (name, "gpu") == (found.resource, found.device_class)


def test_nodes_count_only_resources_that_pods_ask_for() -> None:
    cache = cluster(OFFERING)
    before = cache.snapshot(0).nodes.asked
    cache_feeding.tell(cache_feeding.event_handlers(cache), "ADDED", ASKING)

    assert ((), (GPU,)) == (before, cache.snapshot(0).nodes.asked)


def test_without_the_kinds_of_devices_a_resource_stands_for_nothing() -> None:
    cache = cluster(OFFERING, ASKING)
    cache.serve_devices(served=False)
    nodes = cache.snapshot(0).nodes
    found = cache.pod("uid-w")

    assert () == nodes.asked
    assert found is not None
    assert found.pod_class.devices is None


def test_a_claim_that_an_attempt_has_left_is_kept_on_its_node() -> None:
    left = allocated(special(), "n0", "gpu-0", "gpu-1", pods=("w",))
    found = needs(cluster(OFFERING, ASKING, left))

    assert () == found.extended
    assert [GPU] == [each.resource for each in found.kept]
    assert 1 == len(found.nodes)


def test_a_claim_without_devices_changes_nothing() -> None:
    assert needs(cluster(OFFERING, ASKING)) == needs(cluster(OFFERING, ASKING, special()))


def test_the_claim_of_another_pod_of_the_name_is_not_the_pods() -> None:
    left = allocated(special(owner="another"), "n0", "gpu-0", pods=("another",))

    assert needs(cluster(OFFERING, ASKING)) == needs(cluster(OFFERING, ASKING, left))


def test_a_claim_that_is_being_deleted_is_waited_for() -> None:
    going = special(deletionTimestamp="2026-01-01T10:00:00Z")

    assert Reason.WAITING_FOR_CLAIMS is problem(cluster(OFFERING, ASKING, going)).reason


def test_devices_that_reach_every_node_do_not_keep_a_claim_that_was_left() -> None:
    left = allocated(special(), "n0", "gpu-0", pods=("w",))
    del left["status"]["allocation"]["nodeSelector"]

    assert Reason.WAITING_FOR_CLAIMS is problem(cluster(OFFERING, ASKING, left)).reason


# Claims of native PodGroups.


def of_group(name: str, group: str = "g") -> Any:
    """Return a claim that was made for a native PodGroup."""
    made = claim(name)
    owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": group}
    made["metadata"]["ownerReferences"] = [{**owner, "uid": f"uid-{group}", "controller": True}]
    return made


def in_group(name: str, *entries: Any, created: dict[str, str] | None = None) -> Any:
    return pod(name, *entries, created=created, schedulingGroup={"podGroupName": "g"})


def test_a_claim_that_was_made_for_the_group_is_shared_by_its_pods() -> None:
    members = [in_group(name, by_template("t"), created={"gpu": "g-gpu"}) for name in ("v", "w")]
    found = needs(cluster(device_class(), of_group("g-gpu"), *members))

    (need,) = found.claims
    assert (None, "default/g-gpu") == (found.problem, need.shared)


@pytest.mark.parametrize(
    "member",
    [
        pod("w", by_template("t"), created={"gpu": "g-gpu"}),
        pod("w", by_template("t"), created={"gpu": "g-gpu"}, schedulingGroup={"podGroupName": "h"}),
    ],
    ids=["no group", "another group"],
)
def test_a_claim_that_was_made_for_another_group_is_not_of_the_pod(member: Any) -> None:
    found = problem(cluster(device_class(), of_group("g-gpu"), member))

    assert Reason.CLAIM_NOT_FOUND is found.reason


def test_another_pod_of_a_group_uses_the_claim_of_the_group() -> None:
    member = in_group("w", by_template("t"), created={"gpu": "g-gpu"})
    cache = cluster(device_class(), template("t"), of_group("g-gpu"), member)
    like = cache.pod("uid-w")
    assert like is not None

    found = cache.devices.needs_of_another(like)

    assert found is not None
    assert ["default/g-gpu"] == [each.shared for each in found.claims]


def test_pods_that_do_not_exist_yet_share_the_claim_that_their_group_will_have() -> None:
    entries = by_template("t"), by_template("t", "own")
    group = native_body("g", None, resourceClaims=[by_template("t")])
    cache = cluster(device_class(), template("t"), dict(group), in_group("w", *entries))
    like = cache.pod("uid-w")
    assert like is not None

    others = (cache.devices.needs_of_another(replace(like, name=name)) for name in ("v", "w"))

    shared = [[each.shared for each in found.claims] for found in others if found is not None]
    assert shared[0] == shared[1]
    of_group, own = shared[0]
    assert of_group
    assert "" == own
    assert of_group not in {each.key for each in cache.devices.claims}


def test_more_pods_than_a_claim_has_entries_may_share_that_of_their_group() -> None:
    members = [
        in_group(f"w-{each}", by_template("t"), created={"gpu": "g-gpu"}) for each in range(258)
    ]
    cache = cluster(device_class(), of_group("g-gpu"), *members)

    assert needs(cache, "w-257").problem is None


def test_members_of_a_native_group_that_share_a_claim_of_their_own_are_counted() -> None:
    group = native_body("g", None)
    members = [
        pod(f"w-{each}", by_name("there"), schedulingGroup={"podGroupName": "g"})
        for each in range(257)
    ]
    cache = cluster(device_class(), claim("there"), dict(group), *members)

    assert None is needs(cache, "w-255").problem
    found = needs(cache, "w-256").problem
    assert found is not None
    assert Reason.INVALID_CLAIM is found.reason
