"""What a gang does that does not fit, and what others of the same cycle see of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import BlockCause, Gang, GangGroup, PreemptionBlock
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.rules import PreemptionRules, Rules
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.messages import NOT_HELPFUL
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import topology_builders
from support.builders import bound_pod, bound_pods, gang, group, node, pod, snapshot
from support.plan_reading import nodes_of, nominations_of, reasons, said_of, victims_of
from support.topology_builders import BLOCK, SPINE, TREE_SPEC, TWELVE, must

NOW = 10_000


def decide(
    nodes: Sequence[Node], held: BoundPods | None, *gangs: Gang | GangGroup, most_victims: int = 0
) -> Plan:
    rules = PreemptionRules(max_victims=most_victims)
    profile = replace(PROFILES["binpack"], rules=Rules(preemption=rules))
    return schedule(
        snapshot(nodes, gangs, tree_specs=[TREE_SPEC], bound_pods=held, taken_at=NOW), profile
    )


def low(name: str, where: str, *, cpu: int = 4, priority: int = 1, **others: Any) -> BoundPod:
    return bound_pod(name, where, cpu=cpu, priority=priority, **others)


def high(
    name: str = "a", *, pods: int = 1, priority: int = 10, block: PreemptionBlock | None = None
) -> Gang:
    return gang(name, pods=pods, cpu=4, priority=priority, preemption_block=block)


def never(pod: str) -> PreemptionBlock:
    return PreemptionBlock(BlockCause.POLICY_NEVER, pod=pod)


def words(plan: Plan) -> dict[str, str]:
    return {refused.gang.key.name: said_of(refused) for refused in plan.refused}


# Words.


def test_a_gang_that_makes_room_waits_for_victims() -> None:
    plan = decide([node("n1", cpu=4)], bound_pods(low("x", "n1")), high())

    assert ({"x"}, {"a-0": "n1"}, {}) == (victims_of(plan), nominations_of(plan), nodes_of(plan))
    assert {"a": "WaitingForVictims"} == reasons(plan)
    assert {"a": "1 pod is evicted to make room."} == words(plan)


def test_without_any_pod_below_nothing_is_said() -> None:
    plan = decide([node("n1", cpu=4)], bound_pods(low("x", "n1", priority=10)), high())

    assert ({"a": "Unschedulable"}, {"a": ""}) == (reasons(plan), words(plan))


def test_where_no_gang_looks_for_victims_no_pod_goes() -> None:
    plan = decide([node("n1", cpu=4)], None, high(pods=2))

    assert ({"a": "Unschedulable"}, {"a": ""}) == (reasons(plan), words(plan))


def test_where_all_would_be_too_few_no_pod_goes() -> None:
    plan = decide([node("n1", cpu=4)], bound_pods(low("x", "n1")), high(pods=2))

    assert set() == victims_of(plan)
    assert {"a": NOT_HELPFUL} == words(plan)


def test_a_refusal_says_what_the_domains_would_offer_at_best() -> None:
    held = (low(f"x-{i}", f"node-{i}", cpu=8, priority=99 * (i == 5)) for i in range(12))
    wide = group(gang("a", pods=4, cpu=8, priority=10), topology_request=must(BLOCK))

    said = words(decide(topology_builders.nodes(TWELVE, cpu=8), bound_pods(*held), wide))["a"]

    assert said.startswith(f"{NOT_HELPFUL} At best: ")
    assert "BlockLayer/block-0: 3" in said
    assert "BlockLayer/block-2: 1" in said


def test_the_other_gangs_of_a_group_say_which_gang_tried() -> None:
    one, other = high("a"), high("b")

    said = words(decide([node("n1", cpu=4)], bound_pods(low("x", "n1")), group(one, other)))

    attempted = f"preemption already attempted by default/a with message {NOT_HELPFUL}"
    assert {"a": NOT_HELPFUL, "b": attempted} == said


def test_the_refusal_of_a_gang_that_may_not_evict_says_why() -> None:
    proud = high(block=never("default/a-0"))

    plan = decide([node("n1", cpu=4)], bound_pods(low("x", "n1")), proud)

    assert set() == victims_of(plan)
    assert {"a": "Unschedulable"} == reasons(plan)
    assert {"a": "pod default/a-0 has preemptionPolicy Never"} == words(plan)


def test_one_gang_that_may_not_evict_stops_its_group() -> None:
    several = group(high("a"), high("b", block=never("default/b-0")))

    plan = decide([node("n1")], bound_pods(low("x", "n1", cpu=8)), several)

    assert set() == victims_of(plan)
    assert "pod default/b-0 has preemptionPolicy Never" == words(plan)["a"]


def test_the_like_of_a_gang_that_may_not_evict_is_tried_all_the_same() -> None:
    nodes, held = [node("n1", cpu=4)], bound_pods(low("x", "n1"))

    plan = decide(nodes, held, high("a", block=never("default/a-0")), high("b"))

    assert {"b-0": "n1"} == nominations_of(plan)
    assert {"a": "Unschedulable", "b": "WaitingForVictims"} == reasons(plan)


def test_the_surplus_of_a_running_gang_makes_no_pod_go() -> None:
    running = gang("a", pods=2, min_member=2, bound=2, cpu=4, priority=10)

    plan = decide([node("n1", cpu=4)], bound_pods(low("x", "n1")), running)

    assert (set(), {}) == (victims_of(plan), nominations_of(plan))
    assert {"a": "Unschedulable"} == reasons(plan)


def test_the_missing_member_of_a_running_gang_makes_room() -> None:
    running = gang("a", pods=1, min_member=3, bound=2, cpu=4, priority=10)

    plan = decide([node("n1", cpu=4)], bound_pods(low("x", "n1")), running)

    assert ({"x"}, {"a-0": "n1"}) == (victims_of(plan), nominations_of(plan))


# Those that leave already.


def test_a_pod_that_terminates_makes_room() -> None:
    leaving = low("leaving", "n2", deleting=True)

    plan = decide(
        [node("n1", cpu=4), node("n2", cpu=4)], bound_pods(low("x", "n1"), leaving), high()
    )

    assert (set(), {"a-0": "n2"}) == (victims_of(plan), nominations_of(plan))
    assert ({"a": "WaitingForVictims"}, {"a": messages.UNDER_WAY}) == (reasons(plan), words(plan))


def test_a_pod_that_terminates_makes_room_whatever_its_priority() -> None:
    leaving = low("leaving", "n1", priority=99, deleting=True, evictable=False)

    plan = decide([node("n1", cpu=4)], bound_pods(leaving), high())

    assert {"a-0": "n1"} == nominations_of(plan)


def test_a_gang_that_may_not_evict_may_wait_for_pods_that_leave() -> None:
    plan = decide(
        [node("n1", cpu=4)],
        bound_pods(low("x", "n1", deleting=True)),
        high(block=never("default/a-0")),
    )

    assert {"a-0": "n1"} == nominations_of(plan)


def test_with_those_that_leave_fewer_must_go() -> None:
    held = bound_pods(low("leaving", "n1", deleting=True), low("x", "n2"), low("y", "n3"))

    plan = decide([node(f"n{i}", cpu=4) for i in (1, 2, 3)], held, high(pods=2))

    assert 1 == len(victims_of(plan))
    assert "n1" in nominations_of(plan).values()


def test_victims_of_one_member_are_named_though_another_one_waits_for_a_pod_that_leaves() -> None:
    members = (
        pod("a-0", gang="a", cpu=4, priority=10, nominated="n1"),
        pod("a-1", gang="a", cpu=2, priority=10),
        pod("a-2", gang="a", cpu=9, priority=10),
    )
    each_by_itself = replace(gang("a", members=members, priority=10), each_alone=True)
    held = bound_pods(low("x", "n1", priority=99, deleting=True), low("y", "n2", cpu=2))

    plan = decide([node("n1", cpu=4), node("n2", cpu=2)], held, each_by_itself)

    assert ({"y"}, {"a-1": "n2"}) == (victims_of(plan), nominations_of(plan))
    assert {"a": "1 pod is evicted to make room."} == words(plan)


def test_members_that_go_one_by_one_make_room_where_a_gang_like_them_cannot() -> None:
    whole = gang("a", pods=3, priority=10)
    each_by_itself = replace(gang("b", pods=3, priority=10, created_at=1), each_alone=True)
    held = bound_pods(low("x", "n1", cpu=1), low("y", "n1", cpu=1))

    plan = decide([node("n1", cpu=2)], held, whole, each_by_itself)

    assert {"b-0": "n1", "b-1": "n1"} == nominations_of(plan)
    assert {"a": "Unschedulable", "b": "WaitingForVictims"} == reasons(plan)


# Several gangs in one cycle.


def test_two_gangs_do_not_share_a_victim() -> None:
    held = bound_pods(low("x", "n1"), low("y", "n2", priority=2))

    plan = decide([node("n1", cpu=4), node("n2", cpu=4)], held, high("a"), high("b", priority=9))

    assert {"a-0": "n1", "b-0": "n2"} == nominations_of(plan)
    assert [{"x"}, {"y"}] == [{v.pod.name for v in made.victims} for made in plan.preemptions]


def test_the_second_uses_what_the_victims_of_the_first_leave_over() -> None:
    plan = decide([node("n1")], bound_pods(low("x", "n1", cpu=8)), high("a"), high("b", priority=9))

    assert ({"x"}, {"a-0": "n1", "b-0": "n1"}) == (victims_of(plan), nominations_of(plan))


def test_the_second_waits_for_the_victims_of_the_first_and_evicts_no_pod_for_it() -> None:
    held = bound_pods(low("x", "n1", cpu=8), low("y", "n2", priority=5))

    plan = decide([node("n1"), node("n2", cpu=4)], held, high("a"), high("b", priority=9))

    assert ({"x"}, {"a-0": "n1", "b-0": "n1"}) == (victims_of(plan), nominations_of(plan))
    assert {"a": "1 pod is evicted to make room.", "b": messages.UNDER_WAY} == words(plan)


def test_a_lower_gang_does_not_take_room_that_is_kept_since_this_cycle() -> None:
    held = bound_pods(low("leaving", "n1", cpu=4, deleting=True))

    plan = decide([node("n1", cpu=4)], held, high("a"), high("b", priority=9))

    assert {"a-0": "n1"} == nominations_of(plan)
    assert {"a": "WaitingForVictims", "b": "Unschedulable"} == reasons(plan)


def test_the_second_finds_the_surplus_used_up() -> None:
    elastic = [low(f"e-{i}", f"n{i}", gang="e") for i in range(3)]
    nodes = [node(f"n{i}", cpu=4) for i in range(4)]
    held = bound_pods(*elastic, low("x", "n3", priority=1), surplus={"e": 1})

    plan = decide(nodes, held, high("a"), high("b", priority=9))

    first, second = ({each.pod.name for each in made.victims} for made in plan.preemptions)
    assert (1, {"x"}) == (len(first), second)
    assert first < {"e-0", "e-1", "e-2"}


def test_the_second_finds_the_budget_used_up() -> None:
    covered = [low(f"c-{i}", f"n{i}", budgets=["b"]) for i in range(2)]
    held = bound_pods(*covered, low("x", "n2", priority=5), allowed={"b": 1})

    plan = decide([node(f"n{i}", cpu=4) for i in range(3)], held, high("a"), high("b", priority=9))

    first, second = ({each.pod.name for each in made.victims} for made in plan.preemptions)
    assert (1, {"x"}) == (len(first), second)
    assert first < {"c-0", "c-1"}


def test_a_preemption_that_is_too_large_leaves_its_like_alone_too() -> None:
    held = bound_pods(*(low(f"x-{i}", "n1", cpu=1) for i in range(4)))

    plan = decide([node("n1", cpu=4)], held, high("a"), high("b"), most_victims=3)

    assert set() == victims_of(plan)
    assert {"needs 4 victims, and at most 3 are allowed."} == set(words(plan).values())


def test_a_gang_that_fits_is_placed_beside_one_that_makes_room() -> None:
    small = gang("small", cpu=1)
    wide = group(gang("a", pods=2, cpu=8, priority=10), topology_request=must(SPINE))
    nodes = topology_builders.nodes({"spine-0/block-0": (0, 1), "spine-1/block-1": (2,)}, cpu=8)

    plan = decide(nodes, bound_pods(low("x", "node-0", cpu=8)), wide, small)

    assert {"a-0", "a-1"} == set(nominations_of(plan))
    assert {"small-0": "node-2"} == nodes_of(plan)
