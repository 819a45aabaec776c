"""A JSON object that others wrote: what is wrong is noted with field and value, never raised."""

import pytest

from gang_scheduler.decode.devices.fields import SHOWN, Fields
from gang_scheduler.model.devices import Invalid, Unsupported


def test_values_are_read_by_type() -> None:
    fields = Fields.of({"a": "text", "b": True, "c": 3, "d": ["x"], "e": {"k": "v"}, "q": "1Ki"})

    assert ("text", True, 3) == (fields.text("a"), fields.flag("b"), fields.whole("c", 0))
    assert (("x",), {"k": "v"}) == (fields.texts("d"), fields.text_map("e"))
    assert fields.amount("q").nanos == 1024 * 10**9
    assert not fields.problems


def test_null_is_absent() -> None:
    fields = Fields.of({"a": None})

    assert "a" not in fields
    assert ("", (), None) == (fields.text("a"), fields.texts("a"), fields.quantity("a"))
    assert not fields.problems


@pytest.mark.parametrize(
    ("getter", "value", "expected"),
    [
        ("text", 3, "must be a string"),
        ("required", "", "must not be empty"),
        ("flag", "yes", "must be true or false"),
        ("amount", "lots", "must be a quantity"),
        ("amount", None, "must be a quantity"),
        ("amount", "-1", "must not be negative"),
        ("texts", "x", "must be a list"),
        ("child", "x", "must be an object"),
    ],
)
def test_another_type_is_noted_with_field_and_value(
    getter: str, value: object, expected: str
) -> None:
    fields = Fields({"key": value}, "spec", [])

    getattr(fields, getter)("key")

    shown = "" if value is None else str(value)
    assert [Invalid("spec.key", shown, expected)] == fields.problems


@pytest.mark.parametrize("value", [True, 2**63, -1, "5"])
def test_a_whole_number_has_64_bits_and_its_least(value: object) -> None:
    fields = Fields.of({"count": value})

    assert fields.whole("count", 1, least=0) == 1
    assert ["count"] == [each.field for each in fields.problems]


def test_objects_of_lists_and_maps_have_their_path() -> None:
    fields = Fields.of({"list": [{}, "x"], "map": {"one": {"a": 1}}})

    list(fields.items("list"))
    for _, each in fields.child("map").entries():
        each.text("a")

    assert ["list[1]", "map.one.a"] == [each.field for each in fields.problems]


def test_a_field_of_an_alpha_feature_is_refused_by_name_and_gate_if_it_is_set() -> None:
    fields = Fields.of({"empty": [], "set": ["x"]})

    fields.refuse("empty", "Gate")
    fields.refuse("set", "Gate")

    assert [Unsupported("set", "Gate")] == fields.problems


def test_a_long_value_is_cut() -> None:
    fields = Fields.of({"a": "x" * 1000})

    fields.flag("a")

    (problem,) = fields.problems
    assert isinstance(problem, Invalid)
    assert "x" * SHOWN + "..." == problem.value
