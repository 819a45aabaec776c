"""Which groups of a cycle wait for nodes that are bought."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.api_words import Strategy
from gang_scheduler.model.causes.queues import TooManyPodSets
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.provisioning import MOST_OUTSTANDING, Provisioning
from gang_scheduler.model.queues import (
    Flavor,
    FlavorResource,
    Product,
    ProvisioningRules,
    ResourceGroup,
)
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import provisioning
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement.placement_units import units_of
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.provisioning import REQUIREMENTS_A_LOOK, NodeRequests
from support.builders import gang, gang_key, group, node, pod, requirement, snapshot
from support.call_counts import calls_of
from support.plan_reading import reasons
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import decide, in_queue, running, world

ON = Provisioning()
A = queue_ref("a")
BOUGHT = {"": ProvisioningRules("class")}


def bought(found: Snapshot) -> Snapshot:
    return replace(found, provisioning=ON)


def named(plan: Plan) -> dict[str, bool]:
    """Return the gangs that are asked for, and whether the request is new."""
    return {each.gang.key.name: each.is_new for each in plan.node_requests}


def naming(name: str, number: int = 2, cpu: int = 4, **fields: Any) -> Gang:
    """Return a gang that names a class."""
    made = gang(name, pods=number, cpu=cpu, **fields)
    return replace(made, provisioning_class="class", object_uid=f"uid-{name}")


def scheduled(*gangs: Gang | GangGroup, known: Provisioning = ON) -> Plan:
    """Return the plan for a node of four CPUs, without queues."""
    here = snapshot([node("n", cpu=4)], gangs)
    return schedule(replace(here, provisioning=known), PROFILES["binpack"])


def test_without_queues_a_gang_without_room_asks() -> None:
    plan = scheduled(naming("a"))

    assert ({"a": True}, {"a": "WaitingForProvisioning"}) == (named(plan), reasons(plan))
    (found,) = plan.node_requests
    assert [2] == [each.number for each in found.pod_sets]
    assert ["uid-a-0", "uid-a-1"] == sorted(uid for uid, _ in found.members)


def test_gangs_of_one_namespace_keep_those_of_no_other_from_asking() -> None:
    many = [naming(f"a{i}", created_at=i) for i in range(MOST_OUTSTANDING + 1)]
    other = naming("other", created_at=100)
    other = replace(other, key=gang_key("other", "elsewhere"))

    plan = scheduled(*many, other)

    assert {"other", *(f"a{i}" for i in range(MOST_OUTSTANDING))} == {
        key for key, is_new in named(plan).items() if is_new
    }


def test_a_gang_with_room_asks_for_nothing() -> None:
    plan = scheduled(naming("a", 1))

    assert ({}, {}) == (named(plan), reasons(plan))


def test_where_nothing_can_be_bought_a_gang_is_unschedulable() -> None:
    here = snapshot([node("n", cpu=4)], [naming("a")])

    assert {"a": "Unschedulable"} == reasons(schedule(here, PROFILES["binpack"]))


def test_a_gang_that_names_no_class_is_unschedulable() -> None:
    plan = scheduled(gang("a", pods=2, cpu=4), naming("b"))

    assert ({"b": True}, "Unschedulable") == (named(plan), reasons(plan)["a"])


def test_surplus_asks_for_nothing() -> None:
    plan = scheduled(naming("a", 2, min_member=1))

    assert ({}, {"a": "Unschedulable"}) == (named(plan), reasons(plan))


def test_only_the_quorum_is_asked_for() -> None:
    plan = scheduled(naming("a", 5, min_member=3))

    (found,) = plan.node_requests
    assert ([3], 3) == ([each.number for each in found.pod_sets], len(found.members))


def test_gangs_that_start_together_ask_together() -> None:
    plan = scheduled(group(naming("a"), naming("b", 3, cpu=3)))

    assert {"a": True} == named(plan)
    assert {"a": "WaitingForProvisioning", "b": "WaitingForProvisioning"} == reasons(plan)
    (found,) = plan.node_requests
    assert [2, 3] == sorted(each.number for each in found.pod_sets)


def test_more_ways_than_a_request_can_say_are_not_asked_for() -> None:
    members = [pod(f"a-{i}", gang="a", cpu=5 + i) for i in range(33)]
    made = replace(gang("a", members=members), provisioning_class="class")

    plan = scheduled(made)

    (refused,) = plan.refused
    assert ("Unschedulable", TooManyPodSets(33, 32)) == (refused.reason.value, refused.cause)


def test_very_many_ways_are_not_compared_with_each_other() -> None:
    def digests(number: int) -> int:
        members = [pod(f"a-{i}", gang="a", cpu=5 + i) for i in range(number)]
        made = replace(gang("a", members=members), provisioning_class="class")
        return calls_of(lambda: scheduled(made))["provisioning._text"]

    assert 0 < digests(300) == digests(33) < 2 * digests(32)


def test_comparing_what_pods_ask_for_is_counted_as_work() -> None:
    def looks(requirements: int) -> float:
        wanted = tuple((requirement("zone", "In", f"z{i}"),) for i in range(requirements))
        member = pod("a-0", gang="a", cpu=5)
        member = replace(member, pod_class=replace(member.pod_class, affinity=wanted))
        effort, here = Effort(), bought(snapshot([]))
        node_requests = NodeRequests(here, effort)
        units = units_of(group(gang("a", members=[member])), here)
        assert not isinstance(units, Problem)
        node_requests.digest_of(units, ProvisioningRules("class"))
        return effort.done

    assert [0, 100] == [looks(0), looks(100 * REQUIREMENTS_A_LOOK)]


def test_a_gang_that_can_evict_asks_for_nothing() -> None:
    plan = decide(
        bought(
            world(
                [our_queue("root", 8000), our_queue("a", 8000, provisioning=BOUGHT)],
                [in_queue(A, "x", pods=4, priority=9)],
                [node("n", cpu=4)],
                [running(A, f"low-{i}", "n", priority=1) for i in range(4)],
            )
        )
    )

    assert ({}, {"x": "WaitingForVictims"}) == (named(plan), reasons(plan))


def test_what_is_asked_for_is_charged_at_once() -> None:
    queues = [our_queue("root", 8000), our_queue("a", 4000, provisioning=BOUGHT)]
    gangs = [
        in_queue(A, "x", pods=2),
        in_queue(A, "y", pods=2, created_at=1),
        in_queue(A, "z", pods=1, created_at=2),
    ]

    plan = decide(bought(world(queues, gangs, [node("n", cpu=0)])))

    assert {"x": True, "y": True} == named(plan)
    assert {
        "x": "WaitingForProvisioning",
        "y": "WaitingForProvisioning",
        "z": "WaitingForQuota",
    } == reasons(plan)


def test_gangs_alike_ask_each_for_themselves() -> None:
    queues = [our_queue("root", 80_000), our_queue("a", 80_000, provisioning=BOUGHT)]
    gangs = [in_queue(A, f"x{i}", pods=2, created_at=i) for i in range(3)]

    plan = decide(bought(world(queues, gangs, [node("n", cpu=0)])))

    assert {"x0": True, "x1": True, "x2": True} == named(plan)


def test_in_a_queue_that_keeps_its_order_others_wait_behind_a_gang_that_waits_for_nodes() -> None:
    own = our_queue("a", 8000, provisioning=BOUGHT, strategy=Strategy.STRICT_FIFO)
    gangs = [in_queue(A, "x", pods=5), in_queue(A, "y", created_at=1)]

    plan = decide(bought(world([our_queue("root", 8000), own], gangs, [node("n", cpu=4)])))

    assert {"x": "WaitingForProvisioning", "y": "WaitingForTurn"} == reasons(plan)


def test_nodes_of_the_flavor_are_asked_for_that_the_gang_would_have() -> None:
    spot = Flavor(Product.OURS, "spot", node_labels=(("kind", "spot"),))
    key = FlavorResource("spot", "cpu")
    own = our_queue(
        "a",
        8000,
        key=key,
        provisioning={"spot": ProvisioningRules("for-spot")},
        resource_groups=(ResourceGroup(("cpu",), ("spot",)),),
    )

    plan = decide(
        bought(
            world(
                [our_queue("root", 8000, key=key), own],
                [in_queue(A, "x", pods=2)],
                [node("n", cpu=4)],
                flavors=[spot],
            )
        )
    )

    (found,) = plan.node_requests
    assert found.request is not None
    assert "for-spot" == found.request.class_name
    assert [(("kind", "spot"),)] == [each.node_labels for each in found.pod_sets]
    assert {(("cpu", "spot"),)} == {flavors for _, flavors in found.members}


@pytest.mark.parametrize(
    ("managed", "asked"), [((), [2]), (("nvidia.com/gpu",), []), (("cpu", "x"), [2])]
)
def test_only_members_that_ask_for_what_is_managed_are_asked_for(
    managed: tuple[str, ...], asked: list[int]
) -> None:
    rules = ProvisioningRules("class", managed=managed)
    own = our_queue("a", 8000, provisioning={"": rules})
    gangs = [in_queue(A, "x", pods=2)]

    plan = decide(bought(world([our_queue("root", 8000), own], gangs, [node("n", cpu=0)])))

    assert asked == [each.number for found in plan.node_requests for each in found.pod_sets]


def test_the_class_of_a_gang_counts_before_that_of_its_queue() -> None:
    own = our_queue("a", 8000, provisioning={"": ProvisioningRules("of-queue")})

    assert ProvisioningRules("class") == provisioning.rules_of(group(naming("a")), own)
    assert ProvisioningRules("of-queue") == provisioning.rules_of(group(gang("a")), own)
    assert provisioning.rules_of(group(gang("a"))) is None
