"""Text is read as kubectl reads it."""

import itertools
import math
from typing import Any

import pytest

from gang_scheduler.simulation import syntax


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("---\n# nothing\n---\na: 1\n", [None, {"a": 1}]),
        ('{"a": 1}\n{"b":\t2}', [{"a": 1}, {"b": 2}]),
        ("{a: 1}", [{"a": 1}]),
        ("", []),
    ],
)
def test_a_text_is_its_documents(text: str, expected: list[Any]) -> None:
    assert expected == list(syntax.values(text))


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("1e3", 1000.0),
        (310 * "1", math.inf),
        ("-" + 310 * "1", -math.inf),
        ("0.5", 0.5),
        ("yes", True),
        ("'yes'", "yes"),
        ("0644", 420),
        ("100m", "100m"),
        ("y", "y"),
    ],
)
def test_a_scalar_is_what_kubectl_makes_of_it(scalar: str, expected: object) -> None:
    assert [{"a": expected}] == list(syntax.values(f"a: {scalar}"))


def test_a_null_field_is_absent_and_a_null_label_is_empty() -> None:
    text = "metadata: {name: null, labels: {a: null}}\nspec:\nitems: [null]"

    assert [{"metadata": {"labels": {"a": ""}}, "items": [None]}] == list(syntax.values(text))


def test_keys_are_strings() -> None:
    assert [{"1": "a", "false": "b"}] == list(syntax.values("1: a\nfalse: b"))


def test_a_merged_key_may_be_replaced() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc: {<<: *b, y: 4}"

    assert {"x": 1, "y": 4} == next(syntax.values(text))["c"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "line 2, column 1: did not find expected node content"),
        ("a: 1\nb: 2\na: 3", 'line 3, column 1: key "a" is there twice'),
        ('{"a": 1, "a": 2}', 'line 1, column 10: key "a" is there twice'),
        ("a: &a [*a]", "it contains itself"),
        ("[" * 100_000, "it is nested more than 100 levels deep"),
        ("? [1]\n: 2", "line 1, column 3: found unhashable key"),
        ("~: 1", "a key must be a string, not None"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(syntax.UnreadableText) as caught:
        list(syntax.values(text))

    assert problem == str(caught.value)


def test_documents_before_a_broken_one_are_read() -> None:
    values = syntax.values("a: 1\n---\nb: [")

    assert {"a": 1} == next(values)


HALF = "found invalid Unicode character escape code"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in itertools.pairwise("abcdefghi")
)
MERGED = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
    for before, name in itertools.pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, "its aliases make it too large"),
        (MERGED, "line 6, column 4: merge keys make it too large"),
        (r'{"a": "\ud800"}', f"line 1, column 10: {HALF}"),
        (r'{"\udc00": 1}', f"line 1, column 5: {HALF}"),
        ("a: !!timestamp 2024-01-01", "a value must be one of JSON, not 2024-01-01"),
        ('{"a": ' + "[" * 500 + "]" * 500 + "}", "it is nested more than 100 levels deep"),
    ],
    ids=("aliases", "merges", "value", "key", "tag", "depth"),
)
def test_what_would_harm_later_is_refused_at_once(text: str, problem: str) -> None:
    with pytest.raises(syntax.UnreadableText) as caught:
        list(syntax.values(text))

    assert problem == str(caught.value)
