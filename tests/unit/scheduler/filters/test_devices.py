"""Members of a gang find devices on a node together, or the reason says what is short."""

from dataclasses import replace
from unittest.mock import patch

from gang_scheduler.model.causes.devices import ClaimInvalid
from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices, PodClaim
from gang_scheduler.model.devices import (
    Claim,
    ClaimSpec,
    Constraint,
    Device,
    DeviceId,
    DeviceTaint,
    Request,
)
from gang_scheduler.model.plan import DevicesMissing, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import bound_pod, bound_pods, gang, node, pod, snapshot
from support.device_builders import (
    CLASSES,
    DRIVER,
    asked,
    attributes,
    devices,
    first_available,
    request,
    slice_of,
)


def member(name: str, of: str, claim: Claim, cpu: int = 1) -> Pod:
    """Return a waiting pod with one claim."""
    made = pod(name, gang=of, cpu=cpu)
    needs = DeviceNeeds((DeviceNeed(ClaimSpec(claim.requests)),))
    pod_class = replace(made.pod_class, devices=needs)
    return replace(made, pod_class=pod_class, claims=(PodClaim("gpu", claim.name),))


def decide(gangs_asked: dict[str, list[Request]], given: list[Device], nodes: int = 1) -> Plan:
    """Decide on gangs, each with a member for each of its requests, on nodes with devices."""
    slices = [slice_of(given, name=f"n{i}", pool=f"n{i}", node_name=f"n{i}") for i in range(nodes)]
    claims = {
        f"{name}-{i}": Claim("default", f"{name}-{i}", uid=f"{name}-{i}", requests=(each,))
        for name, requests in gangs_asked.items()
        for i, each in enumerate(requests)
    }
    gangs = [
        gang(name, members=[member(each, name, claims[each]) for each in claims if each[0] == name])
        for name in gangs_asked
    ]
    known = Devices(
        classes=CLASSES,
        slices=tuple(slices),
        waiting={each.key: each for each in claims.values()},
    )
    cluster = replace(snapshot([node(f"n{i}") for i in range(nodes)], gangs), devices=known)
    return schedule(cluster, PROFILES["binpack"])


def given(plan: Plan) -> dict[str, list[str]]:
    """Return the node and the devices of each pod of a plan."""
    return {
        bind.pod.name: [
            *(bind.node,),
            *(each.device for claim in bind.claims for each in claim.allocation.results),
        ]
        for placed in plan.placed
        for bind in placed.binds
    }


LARGE = request(selectors=(f"device.attributes['{DRIVER}'].size == 'large'",))
SIZES = [Device("a", attributes(size="large")), Device("b", attributes(size="small"))]


def test_devices_are_searched_for_only_for_the_work_of_a_cycle() -> None:
    asking = {"a": [request(count=2)] * 9}
    whole = decide(asking, devices(2), nodes=9)

    with patch.object(effort, "MOST_OF_CYCLE", 5):
        cut = decide(asking, devices(2), nodes=9)

    assert (9, {}) == (len(given(whole)), given(cut))
    assert "search" in describe(cut.refused[0])


def test_each_member_gets_the_devices_of_its_node() -> None:
    plan = decide({"a": [request(count=2)] * 3}, devices(4), nodes=2)

    assert given(plan) == {
        "a-0": ["n0", "gpu-0", "gpu-1"],
        "a-1": ["n0", "gpu-2", "gpu-3"],
        "a-2": ["n1", "gpu-0", "gpu-1"],
    }
    claims = [bind.claims[0] for placed in plan.placed for bind in placed.binds]
    assert [(each.entry, each.claim, each.is_new) for each in claims] == [
        ("gpu", f"default/a-{i}", True) for i in range(3)
    ]


def test_no_member_gets_devices_if_the_quorum_does_not() -> None:
    plan = decide({"a": [request()] * 3, "b": [request()] * 2}, devices(2))

    assert given(plan) == {"b-0": ["n0", "gpu-0"], "b-1": ["n0", "gpu-1"]}
    (refused,) = plan.refused
    assert refused.reason is Reason.UNSCHEDULABLE
    assert refused.misfit is not None
    assert refused.misfit.rejections == (
        ("cannot allocate all claims (request gpu: 2 of 2 devices match, 0 free, 1 needed)", 1),
    )
    assert refused.misfit.shortage is not None
    # The two other members need both devices of the node.
    assert DevicesMissing("gpu", "", needed=1, there=2, free=0) == refused.misfit.shortage.devices


def missing(given: list[Device], *requests: Request, nodes: int = 1) -> DevicesMissing | None:
    """Return what the only gang is told to miss."""
    (refused,) = decide({"a": list(requests)}, given, nodes).refused
    assert refused.misfit is not None
    assert refused.misfit.shortage is not None
    return refused.misfit.shortage.devices


def test_the_nearest_node_says_how_many_devices_are_missing() -> None:
    given = [*devices(6, attributes=attributes(size="large")), *SIZES[1:]]
    large = request(count=8, selectors=LARGE.alternatives[0].selectors)

    assert DevicesMissing("gpu", "with size = large", needed=8, there=6, free=6) == missing(
        given, large, nodes=2
    )


def test_no_number_is_given_if_there_are_alternatives_or_a_constraint_fails() -> None:
    assert missing(devices(1), first_available(asked("a", count=3), asked("b", count=2))) is None
    two = ClaimSpec((request(count=2),), (Constraint(match_attribute=f"{DRIVER}/size"),))
    made = pod("a-0", gang="a")
    pod_class = replace(made.pod_class, devices=DeviceNeeds((DeviceNeed(two),)))
    known = Devices(classes=CLASSES, slices=(slice_of(SIZES),))
    waiting = gang("a", members=[replace(made, pod_class=pod_class)])
    plan = schedule(replace(snapshot([node("n0")], [waiting]), devices=known), PROFILES["binpack"])

    misfit = plan.refused[0].misfit
    assert misfit is not None
    assert misfit.shortage is not None
    assert misfit.shortage.devices is None


def test_devices_that_failed_the_gang_are_reported() -> None:
    spec = ClaimSpec((request(count=2),))
    avoided = (DeviceId(DRIVER, "n0", "gpu-0"),)
    made = pod("a-0", gang="a")
    needs = DeviceNeeds((DeviceNeed(spec),), avoided=avoided)
    waiting = gang("a", members=[replace(made, pod_class=replace(made.pod_class, devices=needs))])
    known = Devices(classes=CLASSES, slices=(slice_of(devices(2)),))
    plan = schedule(replace(snapshot([node("n0")], [waiting]), devices=known), PROFILES["binpack"])

    misfit = plan.refused[0].misfit
    assert misfit is not None
    avoiding = "1 could not be attached a short time ago"
    said = f"request gpu: 2 of 2 devices match, 1 free, 2 needed, {avoiding}"
    assert misfit.rejections == ((f"cannot allocate all claims ({said})", 1),)
    assert misfit.shortage is not None
    assert misfit.shortage.devices is None


def test_a_member_leaves_the_device_that_another_must_have() -> None:
    assert given(decide({"a": [request(), LARGE]}, SIZES)) == {
        "a-0": ["n0", "b"],
        "a-1": ["n0", "a"],
    }


def test_a_selector_that_fails_on_a_device_is_reported() -> None:
    plan = decide({"a": [request(selectors=(f"device.attributes['{DRIVER}'].x == 1",))]}, SIZES)

    (refused,) = plan.refused
    assert refused.reason is Reason.INVALID_CLAIM
    assert isinstance(refused.cause, ClaimInvalid)
    assert refused.cause.text().startswith(
        "claim gpu of pod default/a-0, request gpu: selector 0 on device gpu.example.com/n0/a: "
    )


def test_taints_are_reported() -> None:
    bad = [Device("a", taints=(DeviceTaint("unhealthy", "xid79", "NoSchedule"),))]

    (refused,) = decide({"a": [request()]}, bad).refused

    assert refused.misfit is not None
    tainted = "1 of 1 device match, 1 have taint unhealthy=xid79:NoSchedule"
    said = f"cannot allocate all claims (request gpu: {tainted})"
    assert refused.misfit.rejections == ((said, 1),)


def test_a_gang_that_evicts_takes_devices_after_the_gangs_that_were_placed() -> None:
    asked = {"a-0": Claim("default", "a-0", requests=(request(),))}
    asked["b-0"] = Claim("default", "b-0", requests=(LARGE,))
    gangs = [
        gang("a", members=[member("a-0", "a", asked["a-0"])], priority=10, created_at=2),
        gang("b", members=[member("b-0", "b", asked["b-0"], cpu=4)], priority=10),
    ]
    there = bound_pods(bound_pod("low", "n0", cpu=4, priority=1))
    waiting = {each.key: each for each in asked.values()}
    known = Devices(CLASSES, (slice_of(SIZES),), waiting=waiting)
    cluster = replace(snapshot([node("n0", cpu=5)], gangs, bound_pods=there), devices=known)

    plan = schedule(cluster, PROFILES["binpack"])

    # The one device that suits the second gang was given to the first.
    assert given(plan) == {"a-0": ["n0", "a"]}
    assert plan.preemptions == ()
