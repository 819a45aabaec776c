"""The roles of a gang, as an annotation declares them on each kind of object."""

from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import elastic
from gang_scheduler.decode.gangs import pod_groups, specs
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.words.text import text_of
from support.api_objects import pod_group_body
from support.builders import pod

WHERE = f"metadata.annotations[{annotations.ROLES}]"
MASTER_AND_WORKERS = {annotations.ROLES: '{"master": 1, "worker": 2}'}


def read(text: str) -> tuple[Role, ...]:
    return elastic.read_roles({annotations.ROLES: text})


def native(policy: dict[str, Any]) -> GangSpec:
    metadata = {"name": "a", "namespace": "default", "uid": "u", "annotations": MASTER_AND_WORKERS}
    spec = {"schedulingPolicy": policy}
    return pod_groups.native_pod_group(
        {"apiVersion": "scheduling.k8s.io/v1alpha2", "metadata": metadata, "spec": spec}
    )


def light(**others: str) -> GangSpec:
    member = pod("p", annotations=MASTER_AND_WORKERS | others)
    found = specs.by_members(GangKey("annotation", "default", "g"), [member])
    assert found is not None
    return found


def wrong(spec: GangSpec) -> str:
    assert spec.problem is not None
    return text_of(spec.problem.cause)


def test_roles_are_read_in_rank_order() -> None:
    assert () == elastic.read_roles({})
    assert (Role("worker", 2), Role("a", 0), Role("Ps.1", 1)) == read(
        '{"worker": 2, "a": 0, "Ps.1": 1}'
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("master", f'{WHERE} must be JSON, not "master"'),
        ("[1]", f'{WHERE} must be an object such as {{"master": 1, "worker": 2}}, not [1]'),
        ("null", f"{WHERE} is required"),
        ("{}", f"{WHERE} must name 1 to 64 roles, not 0"),
        ('{"a": 1, "a": 2}', f'{WHERE} must not have a field twice (it has "a" twice)'),
        ('{"a": 0}', f'{WHERE} must have minima of 1 to 2147483647 in all, not {{"a": 0}}'),
        ('{"a": true}', f"{WHERE}.a must be a whole number, not true"),
        ('{"a b": 1}', f'{WHERE} must be a name that a label can have as its value, not "a b"'),
        ('{"": 1}', f'{WHERE} must be a name that a label can have as its value, not ""'),
        (
            '{"a": "1", "b": -1, "c": null}',
            (
                f'{WHERE}.a must be a whole number, not "1"; {WHERE}.b must be at least 0, '
                f"not -1; {WHERE}.c is required"
            ),
        ),
    ],
)
def test_every_fault_is_named_with_its_field_and_value(text: str, problem: str) -> None:
    with pytest.raises(InvalidField) as error:
        read(text)

    assert problem == str(error.value)


def test_so_many_roles_are_too_many() -> None:
    assert 64 == len(read(str({f"r{i}": 1 for i in range(64)}).replace("'", '"')))
    with pytest.raises(InvalidField):
        read(str({f"r{i}": 1 for i in range(65)}).replace("'", '"'))


def test_the_minimum_beside_roles_is_their_sum() -> None:
    found = (Role("a", 1), Role("b", 2))

    assert (
        3
        == elastic.quorum_of_roles(found, 3, "spec.minMember")
        == elastic.quorum_of_roles(found, None, "x")
    )
    with pytest.raises(InvalidField, match=r"spec.minMember must be 3, the sum of the minima"):
        elastic.quorum_of_roles(found, 4, "spec.minMember")


def test_a_pod_group_has_roles() -> None:
    metadata = {"annotations": MASTER_AND_WORKERS}

    found = pod_groups.pod_group(pod_group_body(min_member=3, metadata=metadata))

    assert (3, (Role("master", 1), Role("worker", 2))) == (found.min_member, found.roles)


def test_all_that_is_wrong_with_a_pod_group_is_said() -> None:
    present = MASTER_AND_WORKERS | {annotations.GANG_MODE: "Loose"}
    metadata = {"annotations": present}

    said = wrong(pod_groups.pod_group(pod_group_body(min_member=2, metadata=metadata)))

    assert annotations.GANG_MODE in said
    assert f"spec.minMember must be 3, the sum of the minima in {WHERE}, not 2" in said


def test_a_native_pod_group_has_roles() -> None:
    found = native({"gang": {"minCount": 3}})

    assert (3, (Role("master", 1), Role("worker", 2))) == (found.min_member, found.roles)
    assert "minCount must be 3" in wrong(native({"gang": {"minCount": 2}}))
    assert f"spec.schedulingPolicy.gang is required with {WHERE}" == wrong(native({"basic": {}}))


def test_a_gang_of_members_alone_has_roles() -> None:
    for found in (light(), light(**{annotations.GANG_MIN_AVAILABLE: "3"})):
        assert (3, (Role("master", 1), Role("worker", 2))) == (found.min_member, found.roles)

    said = wrong(light(**{annotations.GANG_MIN_AVAILABLE: "2"}))
    assert f"metadata.annotations[{annotations.GANG_MIN_AVAILABLE}] must be 3" in said
