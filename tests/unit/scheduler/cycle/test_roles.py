"""Gangs with roles in a cycle: what the roles may have at most."""

from dataclasses import replace

from gang_scheduler.model.gangs import Gang, Role
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, pod, snapshot
from support.plan_reading import nodes_of

MASTER, WORKER = Role("master", 1, 1), Role("worker", 1, 2)


def train(*waiting: str, bound: dict[str, int] | None = None) -> Gang:
    """Return a gang of these roles, with so many bound members of each."""
    members = [replace(pod(f"{role}-{i}", gang="a"), role=role) for i, role in enumerate(waiting)]
    there = bound or {}
    found = gang("a", members=members, min_member=2, bound=sum(there.values()))
    return replace(found, roles=(MASTER, WORKER), bound_by_role=tuple(there.items()))


def decide(waiting: Gang, cpu: int = 9) -> Plan:
    return schedule(snapshot([node("n", cpu=cpu)], [waiting]), PROFILES["binpack"])


def waits(plan: Plan) -> list[tuple[str, list[str]]]:
    return [(each.reason.value, [pod.name for pod in each.pods]) for each in plan.refused]


def test_members_beyond_the_most_of_a_role_wait() -> None:
    plan = decide(train("master", "worker", "worker", "worker"))

    assert {"master-0", "worker-1", "worker-2"} == nodes_of(plan).keys()
    assert [("ElasticLimit", ["worker-3"])] == waits(plan)


def test_members_that_run_count_towards_the_most() -> None:
    plan = decide(train("worker", "worker", bound={"master": 1, "worker": 1}))

    assert {"worker-0"} == nodes_of(plan).keys()
    assert [("ElasticLimit", ["worker-1"])] == waits(plan)


def test_a_gang_of_which_no_member_may_start_waits() -> None:
    full = replace(train("worker", bound={"master": 1, "worker": 2}), was_whole=True)

    assert [("ElasticLimit", ["worker-0"])] == waits(decide(full))


def test_a_quorum_has_each_role_though_there_are_members_enough() -> None:
    plan = decide(train("worker", "worker", "worker"))

    assert {} == nodes_of(plan)
    assert ["WaitingForMembers"] == [reason for reason, _ in waits(plan)]
