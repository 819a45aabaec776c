"""JSON in an annotation is read as it is meant, or what is wrong is named by the way to it."""

import pytest

from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import JsonField


def error_of(text: str) -> str:
    with pytest.raises(InvalidField) as caught:
        fields.read_json("here", text)
    return str(caught.value)


def test_a_value_is_read_with_the_way_to_it() -> None:
    (entry,) = fields.read_json("here", ' [ {"name": "\\u00e9\\ud83d\\ude00"} ] ').items(1)

    assert {"name": JsonField("here[0].name", "é😀")} == entry.fields("name", faults=Faults())


def test_null_and_nothing_are_absent() -> None:
    found = fields.read_json("here", '{"name": null}').fields("name", "size", faults=Faults())

    assert [None, None] == [each.value for each in found.values()]
    assert "here.size is required" == str(found["size"].wrong("must be more"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x",
        "{",
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": 1} {"b": 2}',
        "NaN",
        "[Infinity]",
        "[1e999]",
        "[01]",
        '"\\ud800"',
        '"\udc80"',
        '"\x00"',
        "\ufeff{}",
        "9" * 5000,
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_what_is_no_json_is_refused_with_the_text(text: str) -> None:
    assert error_of(text).startswith('here must be JSON, not "')


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 0, "a": null}}]'])
def test_a_field_that_is_there_twice_is_refused(text: str) -> None:
    assert 'here must not have a field twice (it has "a" twice)' == error_of(text)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "here must be an object, not []"),
        ("x", 'here must be an object, not "x"'),
        (None, "here is required"),
        ({"size": 1, "weight": 2}, 'here must have no fields but size and name, not "weight"'),
        ({"Size": 1}, 'here must have no fields but size and name, not "Size"'),
    ],
)
def test_what_is_no_such_object_is_refused(value: object, problem: str) -> None:
    faults = Faults()
    faults.read(lambda: JsonField("here", value).fields("size", "name", faults=faults), None)

    with pytest.raises(InvalidField) as caught:
        faults.check()

    assert problem == str(caught.value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "here must be a list, not {}"),
        (None, "here is required"),
        ([1, 2, 3], "here must have at most 2 entries, not 3"),
    ],
)
def test_what_is_no_such_list_is_refused(value: object, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        JsonField("here", value).items(2)

    assert problem == str(caught.value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "here is required"),
        (3, "here must be a string, not 3"),
        ([[["x"]]], 'here must be a string, not [[["x"]]]'),
        ("", "here must not be empty"),
        ("x" * 254, "here must have at most 253 characters, not "),
    ],
)
def test_what_is_no_name_is_refused(value: object, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        JsonField("here", value).text()

    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("number", [-5, 0, 1, 2**31 - 1])
def test_a_whole_number_is_read(number: int) -> None:
    assert number == fields.read_json("here", str(number)).whole_number()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"8"', 'here must be a whole number, not "8"'),
        ("8.0", "here must be a whole number, not 8.0"),
        ("8e0", "here must be a whole number, not 8.0"),
        ("true", "here must be a whole number, not true"),
        ("[8]", "here must be a whole number, not [8]"),
        ("null", "here is required"),
        (str(2**31), "here must be at most 2147483647, not 2147483648"),
        (str(-(10**18)), "here must be at most 2147483647, not -1000000000000000000"),
    ],
)
def test_what_is_no_number_of_pods_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        fields.read_json("here", text).whole_number()

    assert problem == str(caught.value)
