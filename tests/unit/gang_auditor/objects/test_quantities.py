"""Amounts of resources, counted as the product counts them, without its code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gang_auditor import objects
from gang_scheduler.model import resources

NUMBERS = st.one_of(
    st.integers(0, 10**12).map(str),
    st.decimals(0, 10**6, places=4, allow_nan=False, allow_infinity=False).map("{:f}".format),
)
SUFFIXES = st.sampled_from(("", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E2"))


@given(number=NUMBERS, suffix=SUFFIXES, resource=st.sampled_from(("cpu", "memory", "x.com/gpu")))
def test_they_are_read_as_by_the_product(number: str, suffix: str, resource: str) -> None:
    text = number + suffix

    assert resources.amount_of(resource, text) == objects.amount(resource, text)


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "1", 1000),
        ("cpu", "100m", 100),
        ("cpu", "0.0001", 1),
        ("memory", "1Gi", 2**30),
        ("memory", "1.5Ki", 1536),
        ("memory", "1E", 10**18),
        ("memory", "1Ei", 2**60),
        ("pods", "110", 110),
        ("memory", "16Ei", 2**63 - 1),
        ("cpu", "9E", 2**63 - 1),
        ("cpu", "1e19", 2**63 - 1),
        ("pods", "1e99999999999", 2**63 - 1),
        ("cpu", "much", 0),
        ("cpu", "", 0),
        ("cpu", "NaN", 0),
    ],
)
def test_examples(resource: str, text: str, expected: int) -> None:
    assert expected == objects.amount(resource, text)


def test_sums_and_maxima_are_by_resource() -> None:
    parts = ({"cpu": 1, "memory": 5}, {"cpu": 2})

    assert {"cpu": 3, "memory": 5} == objects.total(parts)
    assert {"cpu": 2, "memory": 5} == objects.largest(parts)
    assert {} == objects.amounts(None)


def test_cpu_is_shown_in_cores() -> None:
    assert ("1.5", "1500") == (objects.shown("cpu", 1500), objects.shown("memory", 1500))
