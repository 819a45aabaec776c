"""Names sort as people count."""

import itertools
import random

import pytest

from gang_scheduler.model.refs import natural_key


@pytest.mark.parametrize(
    "ordered",
    [
        ["node-9", "node-10", "node-100"],
        ["a", "a-0", "a-1", "b"],
        ["1", "2", "10", "a"],
        ["", "0", "a"],
        ["rack-2-node-10", "rack-10-node-2"],
        ["x-0-1", "x-0-2", "x-1-0"],
        ["A1", "a1"],
    ],
)
def test_runs_of_digits_compare_as_numbers(ordered: list[str]) -> None:
    shuffled = list(reversed(ordered))

    assert ordered == sorted(shuffled, key=natural_key)


def test_names_that_count_alike_compare_bytewise() -> None:
    assert ["a-01", "a-1"] == sorted(["a-1", "a-01"], key=natural_key)


def test_numbers_may_have_any_number_of_digits() -> None:
    ordered = ["a-2", "a-" + "1" * 5000, "a-" + "2" * 5000, "a-" + "1" * 5001]

    assert ordered == sorted(ordered, key=natural_key)


def test_any_two_names_can_be_compared() -> None:
    letters = random.Random(7)  # noqa: S311 - nothing secret.
    names = ["".join(letters.choices("ab019-.", k=letters.randint(0, 6))) for _ in range(60)]
    names = sorted(set(names))

    keys = {natural_key(name) for name in names}

    assert len(names) == len(keys)
    for one, other in itertools.combinations(names, 2):
        assert (natural_key(one) < natural_key(other)) != (natural_key(other) < natural_key(one))
