"""Steps of surplus: one goes only with all before it, and is spared only after all behind it."""

from dataclasses import replace

from gang_scheduler.scheduler.preemption.eviction_units import SurplusSteps
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts
from support.builders import bound_pod, bound_pods, gang_key

A = gang_key("a")
PODS = [bound_pod(f"a-{i}", "n", gang="a") for i in range(6)]
THERE = replace(bound_pods(*PODS), steps={A: (("uid-a-5", "uid-a-4"), ("uid-a-3", "uid-a-2"))})


def steps(*staying: int) -> SurplusSteps:
    kept = {f"uid-a-{i}" for i in staying}
    return SurplusSteps(THERE, lambda each: each.pod.uid not in kept)


def test_a_pod_goes_with_its_step_and_all_before_it() -> None:
    found = steps()

    assert [None, None, 1, 1, 0, 0] == [found.place(each) for each in PODS]
    assert ["a-5", "a-4", "a-3", "a-2"] == [each.pod.name for each in found.up_to(A, 1)]
    assert ["a-5", "a-4"] == [each.pod.name for each in found.with_all(A, [PODS[4]]) or ()]
    assert found.with_all(A, [PODS[1], PODS[5]]) is None


def test_no_step_goes_after_one_that_must_stay() -> None:
    assert steps(2).number(A) == 2
    assert steps(5).number(A) == 0
    assert A in steps(5)


def test_the_last_step_is_spared_first() -> None:
    apart = steps().apart(A, PODS[2:])

    assert [["a-3", "a-2"], ["a-5", "a-4"]] == [[each.pod.name for each in s] for s in apart]


def test_steps_that_have_left_are_forgotten() -> None:
    found = steps()

    found.leave(A, {"uid-a-4", "uid-a-5"})

    assert found.number(A) == 2
    assert found.place(PODS[3]) == 0
    found.leave(gang_key("other"), {"uid-a-3"})
    assert found.number(A) == 2


def test_costs_take_steps_together_and_the_gang_beyond_them() -> None:
    costs = VictimCosts(THERE, 0, 0)

    assert costs.surplus(A) == 4
    assert [6, 6, 4, 4, 2, 2] == [len(costs.unit_of(each)) for each in PODS]
    closed = [costs.with_gangs({each.pod.uid: each}) for each in (PODS[4], PODS[2], PODS[0])]
    assert [2, 4, 6] == [len(each or ()) for each in closed]


def test_costs_of_what_is_left_when_a_step_has_gone() -> None:
    costs = VictimCosts(THERE, 0, 0)

    costs.leave(PODS[4:])

    assert costs.surplus(A) == 2
    assert [4, 4, 2, 2] == [len(costs.unit_of(each)) for each in PODS[:4]]


def test_a_gang_beyond_the_priority_loses_no_step() -> None:
    high = [replace(each, gangs_priority=9) for each in PODS]
    there = replace(bound_pods(*high), steps=THERE.steps)

    assert VictimCosts(there, 0, 0).evictable == []
