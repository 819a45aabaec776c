"""A PodGroup that a controller made has the roles of its workload."""

from dataclasses import replace

import pytest

from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.specs import GangSpec, with_roles_of
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.reasons import Problem, Reason
from support.builders import gang_key

KEY = gang_key("a")
MASTER, WORKER, LATE = Role("master", 1, 1), Role("worker", 4, 4), Role("launcher", 0, 1)
EVALUATOR = Role("evaluator", 0, 1)


def group(minimum: int, **said: object) -> GangSpec:
    return GangSpec(KEY, "g", min_member=minimum, **said)  # type: ignore[arg-type]


def workload(*roles: Role, elastic: str = "worker") -> GangSpec:
    return GangSpec(KEY, "w", roles=roles, elastic_role=elastic)


@pytest.mark.parametrize(
    ("roles", "minimum", "workers"),
    [
        ((MASTER, WORKER), 5, 4),
        ((MASTER, WORKER), 3, 2),
        ((MASTER, WORKER), 1, 1),
        ((MASTER, WORKER), 9, 4),
        ((MASTER, WORKER, EVALUATOR), 6, 4),
        ((LATE, WORKER), 5, 4),
        ((LATE, WORKER), 3, 2),
    ],
)
def test_its_number_is_that_of_the_elastic_role_beside_those_before_it(
    roles: tuple[Role, ...], minimum: int, workers: int
) -> None:
    found = with_roles_of(group(minimum), workload(*roles))

    minima = {each.name: each.min_member for each in found.roles}
    assert workers == minima["worker"]
    assert sum(minima.values()) == found.min_member
    assert [each.name for each in roles] == [each.name for each in found.roles]


def test_without_an_elastic_role_the_workload_says_all() -> None:
    found = with_roles_of(group(2), workload(MASTER, WORKER, elastic=""))

    assert ((MASTER, WORKER), 5) == (found.roles, found.min_member)


def test_what_says_roles_itself_or_is_wrong_stays_as_it_is() -> None:
    own = group(2, roles=(Role("head", 2),))
    wrong = group(2, problem=Problem(Reason.INVALID_SPEC, InvalidInput("x")))

    assert [own, wrong] == [with_roles_of(each, workload(MASTER, WORKER)) for each in (own, wrong)]
    assert group(2) == with_roles_of(group(2), workload())


def test_a_workload_that_says_how_it_grows_says_its_minimum_whatever_the_number_is() -> None:
    elastic = Elastic(2, 4, role="worker")
    least = WORKER._replace(min_member=2)
    grows = replace(workload(MASTER, least), elastic=elastic)

    found = with_roles_of(group(5), grows)

    assert (elastic, (MASTER, least), 3) == (found.elastic, found.roles, found.min_member)


def test_options_that_it_does_not_say_are_those_of_the_workload() -> None:
    of_job = GangOptions(strict=False, timeout_seconds=30)
    job = replace(workload(MASTER, WORKER), options=of_job)

    assert of_job == with_roles_of(group(5), job).options
    own = group(5, options=GangOptions(timeout_seconds=60))
    assert GangOptions(strict=False, timeout_seconds=60) == with_roles_of(own, job).options
