"""What users do in a storm: the same for a seed, of every source, each gang once."""

from collections import Counter

import pytest

from tools.chaos import witness, workload
from tools.chaos.workload import Step

SECONDS, PACE = 600.0, 12.0


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return workload.steps(1, SECONDS, "chaos", PACE)


def test_the_same_seed_gives_the_same_steps(steps: list[Step]) -> None:
    assert steps == workload.steps(1, SECONDS, "chaos", PACE)
    assert steps != workload.steps(2, SECONDS, "chaos", PACE)


def test_gangs_of_every_source_come_at_the_pace(steps: list[Step]) -> None:
    gangs = [gang for each in steps if each.do == "create" for gang in each.gangs]

    assert set(workload.SOURCES) == {each.source for each in gangs}
    pods = sum(each.pods for each in gangs)
    assert abs(pods - SECONDS * PACE) < 20
    names = Counter(each.name for each in gangs)
    assert {1} == set(names.values())


def test_what_is_deleted_or_loses_a_member_was_created_before(steps: list[Step]) -> None:
    there: set[str] = set()
    for step in steps:
        names = {each.name for each in step.gangs}
        if step.do == "create":
            there |= names
        else:
            assert names <= there
        if step.do == "delete":
            there -= names
    assert there


def test_steps_are_in_the_order_of_time(steps: list[Step]) -> None:
    times = [each.at for each in steps]

    assert times == sorted(times)
    of_users, of_nodes = {"create", "delete", "replace", "resize"}, {"cordon", "uncordon"}
    assert of_users | of_nodes | {"fail", "remove", "return"} == {each.do for each in steps}


def test_every_pod_says_in_its_name_what_it_asks_for(steps: list[Step]) -> None:
    for step in steps:
        for gang in step.gangs:
            for pod in gang.members:
                (container,) = pod["spec"]["containers"]
                asked = int(container["resources"]["requests"]["cpu"])
                assert asked == witness.cpu_of(pod["metadata"]["name"])


def test_nodes_are_in_use_again_in_the_end(steps: list[Step]) -> None:
    cordoned: dict[str, bool] = {}
    for step in steps:
        if step.do in {"cordon", "uncordon"}:
            cordoned[step.name] = step.do == "cordon"
    assert not any(cordoned.values())


def test_nodes_that_fail_are_deleted_and_come_back_one_after_the_other(steps: list[Step]) -> None:
    seen = [each for each in steps if each.do in {"fail", "remove", "return"}]

    for fail, remove, back in zip(*(seen[place::3] for place in range(3)), strict=True):
        assert ("fail", "remove", "return") == (fail.do, remove.do, back.do)
        assert {fail.name} == {remove.name, back.name}
