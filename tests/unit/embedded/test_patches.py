"""What each kind of patch makes of an object."""

from typing import Any

import pytest

from gang_scheduler.embedded import patches
from gang_scheduler.embedded.refusals import Refused


def strategic(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    return patches.patched(document, patches.STRATEGIC, patch, is_custom=False)


def operations(document: dict[str, Any], *patch: dict[str, Any]) -> dict[str, Any]:
    return patches.patched(document, patches.JSON, list(patch), is_custom=True)


def condition(kind: str, status: str) -> dict[str, str]:
    return {"type": kind, "status": status}


def test_conditions_are_merged_by_type() -> None:
    document = {"status": {"conditions": [condition("A", "True"), condition("B", "True")]}}

    changed = strategic(document, {"status": {"conditions": [condition("B", "False")]}})

    found = [(each["type"], each["status"]) for each in changed["status"]["conditions"]]
    assert [("A", "True"), ("B", "False")] == found


def test_a_new_element_of_a_merged_list_is_added() -> None:
    changed = strategic({"spec": {"taints": [{"key": "a"}]}}, {"spec": {"taints": [{"key": "b"}]}})

    # As an API server orders them: what it does not know before comes first.
    assert [{"key": "b"}, {"key": "a"}] == changed["spec"]["taints"]


def test_an_element_is_deleted_by_its_key() -> None:
    patch = {"spec": {"taints": [{"key": "a", "$patch": "delete"}]}}

    assert {"spec": {"taints": [{"key": "b"}]}} == strategic(
        {"spec": {"taints": [{"key": "a"}, {"key": "b"}]}}, patch
    )


def test_a_list_is_replaced_where_that_is_asked_for() -> None:
    patch = {"spec": {"taints": [{"key": "c"}, {"$patch": "replace"}]}}

    assert {"spec": {"taints": [{"key": "c"}]}} == strategic(
        {"spec": {"taints": [{"key": "a"}]}}, patch
    )


def test_a_list_without_keys_is_replaced() -> None:
    assert {"args": ["b"]} == strategic({"args": ["a"]}, {"args": ["b"]})


def test_finalizers_are_added() -> None:
    patch = {"metadata": {"finalizers": ["b"]}}

    assert ["a", "b"] == strategic({"metadata": {"finalizers": ["a"]}}, patch)["metadata"][
        "finalizers"
    ]


def test_null_removes_a_field() -> None:
    assert {"spec": {"b": 1}} == strategic({"spec": {"a": 1, "b": 1}}, {"spec": {"a": None}})


def test_what_is_patched_stays_as_it_is() -> None:
    document = {"spec": {"taints": [{"key": "a", "effect": "x"}]}}

    strategic(document, {"spec": {"taints": [{"key": "a", "effect": "y"}]}})

    assert {"spec": {"taints": [{"key": "a", "effect": "x"}]}} == document


def test_a_crd_knows_no_strategic_patch() -> None:
    with pytest.raises(Refused) as refused:
        patches.patched({}, patches.STRATEGIC, {}, is_custom=True)

    assert 415 == refused.value.status


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ({"op": "add", "path": "/a/-", "value": 3}, {"a": [1, 2, 3], "b/c": 1}),
        ({"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1, 2], "b/c": 1}),
        ({"op": "remove", "path": "/a/0"}, {"a": [2], "b/c": 1}),
        ({"op": "replace", "path": "/a/1", "value": 5}, {"a": [1, 5], "b/c": 1}),
        ({"op": "replace", "path": "/b~1c", "value": 2}, {"a": [1, 2], "b/c": 2}),
        ({"op": "move", "from": "/b~1c", "path": "/d"}, {"a": [1, 2], "d": 1}),
        ({"op": "copy", "from": "/a/0", "path": "/d"}, {"a": [1, 2], "b/c": 1, "d": 1}),
        ({"op": "test", "path": "/a/0", "value": 1}, {"a": [1, 2], "b/c": 1}),
    ],
)
def test_the_operations_of_a_json_patch(operation: dict[str, Any], after: dict[str, Any]) -> None:
    assert after == operations({"a": [1, 2], "b/c": 1}, operation)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/a/7", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "boil", "path": "/a"},
        {"path": "/a"},
    ],
)
def test_an_operation_without_a_place_is_refused(operation: dict[str, Any]) -> None:
    document = {"a": [1, 2]}

    with pytest.raises(Refused) as refused:
        operations(document, operation)

    assert (422, {"a": [1, 2]}) == (refused.value.status, document)
