"""Members that their gang's pace holds back are no members for a cycle, and are told why."""

from dataclasses import replace

import pytest

from gang_scheduler.model.causes.gangs import BeyondMaxWorkers, CoolingDown, StepIncomplete
from gang_scheduler.model.gangs import ElasticSize, Gang
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.scheduler.elastic_pace import LOWERED_SECONDS, hold_back
from support.builders import gang, gang_key, group, node, pod, snapshot

NOW = 1000
ELASTIC = Elastic(2, 4, up_cooldown=60)


def paced(name: str, pods: int, size: ElasticSize) -> Gang:
    return replace(gang(name, pods=pods, min_member=2, bound=size.bound), elastic_size=size)


def names(gangs: tuple[Gang, ...]) -> dict[str, list[str]]:
    return {each.key.name: [pod.name for pod in each.pending] for each in gangs}


def test_where_no_member_is_held_back_the_snapshot_is_the_same() -> None:
    taken = snapshot([node("n")], [gang("a"), paced("b", 4, ElasticSize(ELASTIC))], taken_at=NOW)

    assert taken is hold_back(taken).snapshot
    assert not hold_back(taken).held


def test_those_beyond_the_maximum_wait_the_last_in_rank() -> None:
    taken = snapshot([node("n")], [paced("a", 6, ElasticSize(ELASTIC))], taken_at=NOW)

    found = hold_back(taken)

    assert {"a": ["a-0", "a-1", "a-2", "a-3"]} == names(found.snapshot.groups[0].gangs)
    (refused,) = found.with_held_back(Plan()).refused
    assert refused.reason is Reason.ELASTIC_LIMIT
    assert ["a-4", "a-5"] == [pod.name for pod in refused.pods]
    assert BeyondMaxWorkers(gang_key("a"), 4) == refused.cause


def test_within_the_cooldown_a_gang_waits_as_a_whole_until_it_ends() -> None:
    taken = snapshot(
        [node("n")], [paced("a", 2, ElasticSize(ELASTIC, 2, 2, NOW - 10))], taken_at=NOW
    )

    found = hold_back(taken)

    assert () == found.snapshot.groups
    (refused,) = found.with_held_back(Plan()).refused
    assert CoolingDown(gang_key("a"), NOW + 50) == refused.cause


@pytest.mark.parametrize("later", [50, 51])
def test_after_the_cooldown_it_waits_no_more(later: int) -> None:
    size = ElasticSize(ELASTIC, 2, 2, NOW - 10)
    taken = snapshot([node("n")], [paced("a", 2, size)], taken_at=NOW + later)

    assert not hold_back(taken).held


def test_fewer_than_a_step_wait_for_others() -> None:
    by_two = ELASTIC._replace(max_workers=8, up_step=2)
    taken = snapshot(
        [node("n")], [paced("a", 3, ElasticSize(by_two, 2, 2, NOW - 60))], taken_at=NOW
    )

    found = hold_back(taken)

    assert {"a": ["a-0", "a-1"]} == names(found.snapshot.groups[0].gangs)
    (refused,) = found.held.values()
    assert StepIncomplete(gang_key("a"), 2) == refused.cause


def test_a_full_gang_waits_for_no_cooldown() -> None:
    taken = snapshot([node("n")], [paced("a", 1, ElasticSize(ELASTIC, 4, 4, NOW))], taken_at=NOW)

    (refused,) = hold_back(taken).held.values()
    assert BeyondMaxWorkers(gang_key("a"), 4) == refused.cause


def test_other_gangs_of_its_group_are_decided_without_it() -> None:
    cooling, other = paced("a", 2, ElasticSize(ELASTIC, 2, 2, NOW)), gang("b")
    taken = snapshot([node("n")], [group(cooling, other)], taken_at=NOW)

    found = hold_back(taken)

    assert {"a": [], "b": ["b-0"]} == names(found.snapshot.groups[0].gangs)
    # The same group as before, so that what is known of it is found again.
    assert found.snapshot.groups == hold_back(taken).snapshot.groups
    assert found.snapshot.groups[0] is hold_back(taken).snapshot.groups[0]


def test_members_of_other_roles_are_not_held_back() -> None:
    workers = ELASTIC._replace(role="worker")
    members = [replace(pod(f"a-{i}", gang="a"), role="worker" if i else "master") for i in range(7)]
    waiting = replace(gang("a", members=members, min_member=3), elastic_size=ElasticSize(workers))
    taken = snapshot([node("n")], [waiting], taken_at=NOW)

    found = hold_back(taken)

    assert {"a": [f"a-{i}" for i in range(5)]} == names(found.snapshot.groups[0].gangs)


def test_a_gang_that_waits_for_something_else_gets_only_that_reason() -> None:
    waiting = paced("a", 6, ElasticSize(ELASTIC))
    taken = snapshot([node("n")], [waiting], taken_at=NOW)
    other = Refused(waiting, Reason.UNSCHEDULABLE, waiting.pending)

    assert (other,) == hold_back(taken).with_held_back(Plan(refused=(other,))).refused


def test_a_gang_with_a_problem_gets_that_reason() -> None:
    problem = Problem(Reason.INVALID_SPEC, BeyondMaxWorkers(gang_key("a"), 4))
    invalid = replace(paced("a", 6, ElasticSize(ELASTIC)), problem=problem)
    taken = snapshot([node("n")], [invalid], taken_at=NOW)

    assert not hold_back(taken).held


def test_in_mode_replicas_all_members_up_to_the_maximum_are_bound_as_they_come() -> None:
    elastic = ELASTIC._replace(up_step=2, by_replicas=True)
    size = ElasticSize(elastic, 2, 2, NOW - 10)
    taken = snapshot([node("n")], [paced("a", 1, size), paced("b", 4, size)], taken_at=NOW)

    found = hold_back(taken)

    gangs = [gang for each in found.snapshot.groups for gang in each.gangs]
    assert {"a": ["a-0"], "b": ["b-0", "b-1"]} == names(tuple(gangs))
    (refused,) = found.with_held_back(Plan()).refused
    assert BeyondMaxWorkers(gang_key("b"), 4) == refused.cause


def test_in_mode_replicas_those_that_replace_victims_wait_until_their_number_is_lowered() -> None:
    elastic = ELASTIC._replace(up_cooldown=0, by_replicas=True)
    size = ElasticSize(elastic, 2, 2, NOW - 10, preempted=True)

    found = hold_back(snapshot([node("n")], [paced("a", 2, size)], taken_at=NOW))

    assert () == found.snapshot.groups
    (refused,) = found.with_held_back(Plan()).refused
    until = NOW - 10 + LOWERED_SECONDS
    assert CoolingDown(gang_key("a"), until) == refused.cause
    assert not hold_back(snapshot([node("n")], [paced("a", 2, size)], taken_at=until)).held
