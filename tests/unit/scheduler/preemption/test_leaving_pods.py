"""Room that is kept for those that are nominated."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.model.rules import PreemptionRules, Rules
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.report.words import messages
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.preemption.leaving_pods import NominatedRoom
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support.builders import bound_pod, bound_pods, gang, gang_key, node, pod, snapshot
from support.plan_reading import (
    gangs_placed,
    nodes_of,
    nominations_of,
    reasons,
    said_of,
    victims_of,
)

IS_UNDER_WAY = PreemptionBlock(BlockCause.UNDER_WAY)


def decide(
    nodes: Sequence[Node],
    *gangs: Gang,
    held: BoundPods | None = None,
    nominations: Sequence[Nominated] = (),
    rules: PreemptionRules | None = None,
) -> Plan:
    seen = snapshot(nodes, gangs, bound_pods=held or bound_pods(), nominated=nominations)
    return schedule(
        seen, replace(PROFILES["binpack"], rules=Rules(preemption=rules or PreemptionRules()))
    )


def one(name: str, *, priority: int = 10, cpu: int = 4, nominated: str = "") -> Gang:
    return gang(name, cpu=cpu, priority=priority, nominated=nominated)


def to(
    *where: str, name: str = "a", priority: int = 10, block: PreemptionBlock | None = None
) -> Gang:
    """Return a gang that is nominated."""
    members = [
        pod(f"{name}-{i}", gang=name, cpu=4, priority=priority, nominated=each)
        for i, each in enumerate(where)
    ]
    return gang(name, members=members, priority=priority, preemption_block=block)


def elsewhere(where: str, *, priority: int = 10) -> Nominated:
    """Return a nominated pod of a gang that is not tried now."""
    kept = pod("kept-0", gang="kept", cpu=4, priority=priority, nominated=where)
    return Nominated(kept, gang_key("kept"), priority)


def low(name: str, where: str, *, priority: int = 1, deleting: bool = False) -> BoundPod:
    return bound_pod(name, where, cpu=4, priority=priority, deleting=deleting)


def displaced(plan: Plan) -> list[str]:
    return [each.name for made in plan.preemptions for each in made.displaced]


def four(*names: str) -> list[Node]:
    return [node(name, cpu=4) for name in names]


# Nominated gangs.


def test_a_nominated_gang_goes_where_it_is_nominated() -> None:
    # By itself it would go to n1 and n2.
    plan = decide(four("n1", "n2", "n3"), to("n3", "n2"))

    assert {"a-0": "n3", "a-1": "n2"} == nodes_of(plan)


def test_it_waits_on_while_its_room_is_not_free() -> None:
    plan = decide(four("n1"), to("n1"), held=bound_pods(low("x", "n1", deleting=True)))

    assert {"a": "WaitingForVictims"} == reasons(plan)
    assert [messages.UNDER_WAY] == [said_of(each) for each in plan.refused]
    assert () == plan.preemptions


def test_it_waits_for_victims_that_are_marked_and_not_yet_deleted() -> None:
    marked = bound_pod("x", "n1", cpu=4, priority=1, marked_as_victim=True)

    plan = decide(four("n1"), to("n1", block=IS_UNDER_WAY), held=bound_pods(marked))

    assert {"a": "WaitingForVictims"} == reasons(plan)
    assert () == plan.preemptions


def test_the_room_of_one_that_waits_stays_kept() -> None:
    marked = bound_pod("x", "n1", cpu=4, priority=1, marked_as_victim=True)
    nodes, waiting = [node("n1", cpu=8)], to("n1", "n1", block=IS_UNDER_WAY)

    plan = decide(nodes, waiting, one("b"), held=bound_pods(marked))

    assert {} == nodes_of(plan)
    assert "Unschedulable" == reasons(plan)["b"]


def test_it_takes_other_room_that_is_free() -> None:
    plan = decide(four("n1", "n2"), to("n1"), held=bound_pods(low("x", "n1")))

    assert {"a-0": "n2"} == nodes_of(plan)


def test_a_nomination_to_a_node_that_is_gone_is_worth_nothing() -> None:
    plan = decide(four("n1"), to("gone"))

    assert {"a-0": "n1"} == nodes_of(plan)


def test_planned_again_it_stays_where_victims_are_marked() -> None:
    cheap = low("cheap", "n1")
    marked = bound_pod("marked", "n2", cpu=4, priority=9, marked_as_victim=True)

    plan = decide(four("n1", "n2"), to("n2"), held=bound_pods(cheap, marked))

    assert ({"marked"}, {"a-0": "n2"}) == (victims_of(plan), nominations_of(plan))


def test_it_stays_where_marks_say_that_its_plan_had_begun() -> None:
    cheap = low("cheap", "n1")
    marked = bound_pod("marked", "n2", cpu=2, priority=1, marked_as_victim=True)
    other = bound_pod("other", "n2", cpu=2, priority=9)

    plan = decide(four("n1", "n2"), to("n2"), held=bound_pods(cheap, marked, other))

    assert ({"marked", "other"}, {"a-0": "n2"}) == (victims_of(plan), nominations_of(plan))


def test_what_must_stay_there_sends_it_elsewhere() -> None:
    cheap = low("cheap", "n1")
    marked = bound_pod("marked", "n2", cpu=2, priority=1, marked_as_victim=True)
    equal = bound_pod("equal", "n2", cpu=2, priority=10)

    plan = decide(four("n1", "n2"), to("n2"), held=bound_pods(cheap, marked, equal))

    assert ({"cheap"}, {"a-0": "n1"}) == (victims_of(plan), nominations_of(plan))


def test_a_gang_that_waits_for_the_room_of_others_does_not_move_to_other_such_room() -> None:
    leaving = [low("x", "n1", deleting=True), low("y", "n2", deleting=True)]

    plan = decide(four("n1", "n2"), to("n2"), held=bound_pods(*leaving))

    assert ({"a": "WaitingForVictims"}, ()) == (reasons(plan), plan.preemptions)


# Other gangs.


def test_an_equal_gang_does_not_take_kept_room() -> None:
    plan = decide(four("n1"), one("b"), nominations=[elsewhere("n1")])

    assert {"b": "Unschedulable"} == reasons(plan)


def test_a_lower_gang_does_not_take_kept_room() -> None:
    plan = decide(four("n1"), one("b", priority=9), nominations=[elsewhere("n1")])

    assert {"b": "Unschedulable"} == reasons(plan)


def test_beside_kept_room_others_are_placed() -> None:
    plan = decide(four("n1", "n2"), one("b"), nominations=[elsewhere("n1")])

    assert {"b-0": "n2"} == nodes_of(plan)


def test_a_higher_gang_leaves_kept_room_alone_where_there_is_other() -> None:
    plan = decide(four("n1", "n2"), one("top", priority=20), nominations=[elsewhere("n1")])

    assert {"top-0": "n2"} == nodes_of(plan)
    assert [] == displaced(plan)


def test_a_higher_gang_takes_kept_room_where_there_is_no_other() -> None:
    plan = decide(four("n1"), one("top", priority=20), nominations=[elsewhere("n1")])

    assert {"top-0": "n1"} == nodes_of(plan)
    assert ["kept-0"] == displaced(plan)


def test_a_higher_gang_evicts_beside_kept_room_where_that_costs_the_same() -> None:
    held = bound_pods(low("x", "n1"), low("y", "n2"))

    plan = decide(
        four("n1", "n2"), one("top", priority=20), held=held, nominations=[elsewhere("n1")]
    )

    assert {"top-0": "n2"} == nominations_of(plan)
    assert [] == displaced(plan)


def test_a_higher_gang_takes_kept_room_before_it_evicts_the_dearer() -> None:
    held = bound_pods(low("x", "n1"), low("dear", "n2", priority=15))

    plan = decide(
        four("n1", "n2"), one("top", priority=20), held=held, nominations=[elsewhere("n1")]
    )

    assert ({"x"}, {"top-0": "n1"}) == (victims_of(plan), nominations_of(plan))
    assert ["kept-0"] == displaced(plan)


def test_a_higher_gang_takes_free_room_that_is_kept_rather_than_evict() -> None:
    held = bound_pods(low("x", "n2"))

    plan = decide(
        four("n1", "n2"), one("top", priority=20), held=held, nominations=[elsewhere("n1")]
    )

    assert (["top"], set()) == (gangs_placed(plan), victims_of(plan))
    assert ["kept-0"] == displaced(plan)


def test_the_loser_plans_again_in_the_same_cycle() -> None:
    nodes, held = four("n1", "n2"), bound_pods(low("x", "n2"))

    plan = decide(nodes, one("top", priority=20), to("n1"), held=held)

    assert {"top-0": "n1"} == nodes_of(plan)
    assert (["a-0"], {"a-0": "n2"}) == (displaced(plan), nominations_of(plan))


def test_a_plan_that_is_too_large_displaces_no_pod() -> None:
    crowd = [bound_pod(f"x-{i}", "n1", cpu=1, priority=1) for i in range(8)]
    nodes = [node("n1", cpu=8), node("n2", cpu=4)]
    wide, small = one("top", priority=20, cpu=8), one("next", priority=19)
    held, rules = bound_pods(*crowd, low("y", "n2")), PreemptionRules(max_victims=3)

    plan = decide(nodes, wide, small, held=held, nominations=[elsewhere("n1")], rules=rules)

    assert ({"y"}, {"next-0": "n2"}) == (victims_of(plan), nominations_of(plan))
    assert [] == displaced(plan)


def test_only_those_are_displaced_whose_room_is_taken() -> None:
    nodes = [node("n1", cpu=4), node("n2", cpu=8)]
    second = pod("other-0", gang="other", cpu=8, priority=5, nominated="n2")
    nominations = [elsewhere("n1"), Nominated(second, gang_key("other"), 5)]

    plan = decide(nodes, one("top", priority=20, cpu=8), nominations=nominations)

    assert ({"top-0": "n2"}, ["other-0"]) == (nodes_of(plan), displaced(plan))


# The ledger.


def _kept(pods: Sequence[Pod]) -> tuple[Trial, NominatedRoom]:
    trial = Trial(snapshot([node("n1", cpu=8)]))
    nominated = [Nominated(each, gang_key("kept"), 5) for each in pods]
    return trial, NominatedRoom(nominated, trial)


def _cpu(trial: Trial) -> int:
    return int(trial.free[0, trial.nodes.axis["cpu"]]) // 1000


def test_kept_room_is_not_free_until_it_is_released() -> None:
    trial, nominated_room = _kept([pod("kept-0", cpu=3, nominated="n1")])
    before = _cpu(trial)

    released = nominated_room.release([gang_key("kept")])
    after = _cpu(trial)
    nominated_room.keep(released)

    assert (5, 8, 5) == (before, after, _cpu(trial))


def test_what_is_released_is_not_released_again() -> None:
    trial, nominated_room = _kept([pod("kept-0", cpu=3, nominated="n1")])

    assert 1 == len(nominated_room.release([gang_key("kept")]))
    assert [] == nominated_room.release([gang_key("kept")])
    assert 8 == _cpu(trial)


def test_only_lower_gangs_can_lose_their_room() -> None:
    _, nominated_room = _kept([pod("kept-0", cpu=3, nominated="n1")])

    assert [gang_key("kept")] == nominated_room.below(6)
    assert [] == nominated_room.below(5)


def test_a_gang_takes_room_that_is_reserved_in_its_own_queue_only() -> None:
    a, b = (QueueRef(QueueKind.QUEUE, name) for name in "ab")
    reserved = [Nominated(pod(f"{name}-0", nominated="n"), gang_key(name), 0) for name in "yz"]
    queues = {gang_key("y"): a, gang_key("z"): b}
    trial = Trial(snapshot([node("n")]))

    assert [gang_key("y")] == NominatedRoom(reserved, trial, lambda: queues).below(1, a)
    assert [gang_key("y"), gang_key("z")] == NominatedRoom(reserved, trial).below(1)


SPENT = PreemptionBlock(BlockCause.UNDER_WAY, rounds=3)
STAYS = "staying"


def waits_on(nodes: list[Node], block: PreemptionBlock) -> Plan:
    """Decide for a gang that is nominated to n1, which a pod leaves; one of n2 could go, too."""
    leaving = [low("leaving", each.name, deleting=True) for each in nodes]
    held = bound_pods(*leaving, low(STAYS, "n2", priority=5))
    return decide([*nodes, *four("n2")], to("n1", block=block), held=held)


@pytest.mark.parametrize(
    "lost",
    [
        [node("n1", cpu=4, unschedulable=True)],
        [node("n1", cpu=4, taints=["broken:NoSchedule"])],
        [node("n1", cpu=4, ready=False)],
        [node("n1", cpu=3)],
        [],
    ],
    ids=["cordoned", "tainted", "not ready", "too small", "gone"],
)
def test_room_on_a_node_that_takes_the_pod_no_more_is_not_waited_for(lost: list[Node]) -> None:
    plan = waits_on(lost, IS_UNDER_WAY)

    assert ({STAYS}, {"a-0": "n2"}) == (victims_of(plan), nominations_of(plan))


def test_a_gang_that_has_preempted_often_enough_evicts_no_more_for_that() -> None:
    plan = waits_on([node("n1", cpu=4, unschedulable=True)], SPENT)

    assert (set(), {"a": "Unschedulable"}) == (victims_of(plan), reasons(plan))


def test_room_on_a_node_that_would_take_the_pod_is_waited_for() -> None:
    plan = waits_on(four("n1"), IS_UNDER_WAY)

    assert (set(), {"a": "WaitingForVictims"}) == (victims_of(plan), reasons(plan))
