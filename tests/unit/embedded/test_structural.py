"""What the schema of a CRD makes of an object."""

from typing import Any

import pytest

from gang_scheduler.embedded import structural


def wrong(value: Any, schema: dict[str, Any]) -> list[str]:
    return [each.field for each in structural.wrong(value, schema, "spec")]


def test_unknown_fields_are_dropped_and_named() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"items": {"properties": {"b": {}}}}}}
    unknown: list[str] = []

    kept = structural.pruned({"a": [{"b": 1, "c": 2}], "d": 3}, schema, unknown, "spec")

    assert ({"a": [{"b": 1}]}, ["spec.a[0].c", "spec.d"]) == (kept, unknown)


@pytest.mark.parametrize(
    "schema",
    [
        {"x-kubernetes-preserve-unknown-fields": True},
        {"additionalProperties": True},
        {"additionalProperties": {"type": "integer"}},
    ],
)
def test_fields_of_any_name_are_kept_where_the_schema_says_so(schema: dict[str, Any]) -> None:
    unknown: list[str] = []

    assert ({"a": 1}, []) == (structural.pruned({"a": 1}, schema, unknown, "spec"), unknown)


def test_what_each_object_has_is_known() -> None:
    unknown: list[str] = []
    document = {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": 1}

    kept = structural.pruned(document, {"properties": {}}, unknown)

    assert ("metadata" in kept, ["spec"]) == (True, unknown)


def test_defaults_are_filled_in_as_deep_as_there_are_objects() -> None:
    inner = {"properties": {"b": {"default": 1}}}
    schema = {"properties": {"a": {"default": {}, **inner}, "list": {"items": inner}, "no": inner}}

    assert {"a": {"b": 1}, "list": [{"b": 1}, {"b": 2}]} == structural.defaulted(
        {"list": [{}, {"b": 2}]}, schema
    )


def test_a_null_counts_as_absent_unless_it_is_allowed() -> None:
    schema = {"properties": {"a": {"default": 1}, "b": {"nullable": True}, "c": {"type": "string"}}}

    cleaned = structural.without_nulls({"a": None, "b": None, "c": None}, schema)

    assert {"a": 1, "b": None} == structural.defaulted(cleaned, schema)


@pytest.mark.parametrize(
    ("schema", "right", "not_right"),
    [
        ({"type": "integer"}, [1, 2.0], ["1", 1.5, True, None]),
        ({"type": "boolean"}, [True], [1, "true"]),
        ({"type": "string"}, ["", "a"], [1, [], {}]),
        ({"type": "array"}, [[]], [{}, "a"]),
        ({"type": "object"}, [{}], [[], 1]),
        ({"type": "string", "nullable": True}, [None, "a"], [1]),
        ({"x-kubernetes-int-or-string": True}, [1, "50%"], [1.5, True, []]),
        ({"type": "string", "enum": ["a", "b"]}, ["a"], ["c", ""]),
        ({"type": "string", "pattern": "^a+$"}, ["aa"], ["ab"]),
        ({"type": "string", "minLength": 1, "maxLength": 2}, ["a", "ab"], ["", "abc"]),
        ({"type": "integer", "minimum": 1, "maximum": 3}, [1, 3], [0, 4]),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, [0.1], [0, -1]),
        ({"type": "array", "minItems": 1, "maxItems": 2}, [[1]], [[], [1, 2, 3]]),
        ({"type": "object", "maxProperties": 1}, [{"a": 1}], [{"a": 1, "b": 2}]),
        ({"type": "object", "required": ["a"]}, [{"a": 1}], [{}, {"b": 1}]),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"b": 1}], [{}]),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"b": 1}], [{"a": 1, "b": 1}]),
        ({"not": {"required": ["a"]}}, [{}], [{"a": 1}]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1], [3]),
    ],
)
def test_values(schema: dict[str, Any], right: list[Any], not_right: list[Any]) -> None:
    assert [[]] * len(right) == [wrong(each, schema) for each in right]
    assert all(wrong(each, schema) for each in not_right)


def test_what_is_wrong_is_named_by_its_path() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"items": {"properties": {"b": {"type": "string"}}}}}
    }

    assert ["spec.a[1].b"] == wrong({"a": [{"b": "x"}, {"b": 1}]}, schema)
