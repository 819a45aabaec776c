"""What Kubernetes adds to CEL, where the table of selectors does not reach."""

import itertools

import pytest

from gang_scheduler.scheduler.devices.cel_functions import (
    FUNCTIONS,
    LONGEST_SEARCHED,
    quantity,
    version,
)


def call(name: str, *given: object) -> object:
    """Call the function of this name that takes as many values."""
    (found, *_) = [each for each in FUNCTIONS if (each.name, len(each.takes)) == (name, len(given))]
    return found.of(*given)


@pytest.mark.parametrize(
    "text",
    ["1.2", "v1.2.3", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-a..b", f"{2**64}.0.0", ""],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a semantic version"):
        version(text)


def test_versions_are_ordered_as_semver_orders_them() -> None:
    ordered = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-a",
        "1.0.0-a.1",
        "1.0.0-b",
        "1.0.0",
        "1.0.1",
        "1.10.0",
    ]
    found = [version(each) for each in ordered]

    assert [-1] * (len(found) - 1) == [
        call("compareTo", one, other) for one, other in itertools.pairwise(found)
    ]


def test_a_quantity_is_no_version() -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        call("compareTo", quantity(1), version("1.0.0"))
    with pytest.raises(ValueError, match="not a version"):
        call("major", quantity(1))


def test_a_short_version_has_no_build_when_it_is_normalised() -> None:
    with pytest.raises(ValueError, match="short version"):
        call("semver", "1.2+b", True)  # noqa: FBT003 - as CEL calls it


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|b)*", "a*b*c*d*", "(?i)a", "(ab){2}"])
def test_a_pattern_that_could_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="use matches"):
        call("find", "aaaa", pattern)


@pytest.mark.parametrize(
    ("pattern", "found"), [("[0-9]+", "12"), (r"\d+$", "34"), ("(a|b)1?", "a1"), ("[(]+", "")]
)
def test_a_plain_pattern_is_found(pattern: str, found: str) -> None:
    assert found == call("find", "a12b34", pattern)


def test_a_bad_pattern_and_a_long_text_are_refused() -> None:
    with pytest.raises(ValueError, match="find: "):
        call("find", "a", "[")
    with pytest.raises(ValueError, match="at most 256 are searched"):
        call("find", "a" * (LONGEST_SEARCHED + 1), "a")


def test_an_empty_list_has_no_least() -> None:
    with pytest.raises(ValueError, match="min called on empty list"):
        call("min", [])
