"""The model of evictions between queues decides the worked cases as they are written down.

The law that holds the scheduler against the model is worth what the model is.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from conformance import queue_manifests
from property import eviction_cases, naive_evictions
from property.eviction_cases import Case, Gang, World
from property.naive_evictions import Answer, Plan

CASES = [case for case in queue_manifests.DATA["cases"] if "reclaim" in case["needs"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: Case) -> None:
    expected = case["expect"]
    world = eviction_cases.world(case, queue_manifests.DATA["sets"])
    going: set[str] = set()
    nominated, pods = [], 0
    for gang, answer in decided(world):
        if answer.fits or answer.plans:
            nominated.append(gang.name)
        if answer.plans:
            plan = wanted(answer, expected)
            going |= set(plan.members)
            pods += sum(plan.members.values())
            classes = {**expected.get("classes", {}), **plan.shown}
            assert classes == {**plan.shown, **expected.get("classes", {})}
        for name, flavors in expected.get("flavors", {}).items():
            assert name != gang.name or flavors == answer.flavors

    assert sorted(expected["nominated"]) == sorted(nominated)
    assert sorted(going) in list(map(sorted, sets_of(expected)))
    assert expected.get("victim_pods", pods) == pods


def sets_of(expected: Case) -> list[list[str]]:
    """Return the sets of victims that a case allows."""
    return expected.get("victims_any") or [expected["victims"]]


def wanted(answer: Answer, expected: Case) -> Plan:
    """Return the plan that a case asks for, if it is one of the cheapest, else any of these."""
    sets = [set(each) for each in sets_of(expected)]
    return next((plan for plan in answer.plans if set(plan.members) in sets), answer.plans[0])


def decided(world: World) -> Iterator[tuple[Gang, Answer]]:
    """Yield what becomes of each gang that waits, the highest and oldest first."""
    for gang in sorted(world.pending, key=lambda gang: (-gang.priority, -gang.age)):
        answer = naive_evictions.answer(world, gang)
        yield gang, answer
        if not answer.fits and not answer.plans:
            continue
        gone = answer.plans[0].members if answer.plans else {}
        world.running = [each for each in world.running if each.name not in gone]
        there = replace(gang, nodes=("",) * gang.pods, evictable=False, requests=gang.requests)
        world.running.append(replace(there, flavors=answer.flavors or {}))
