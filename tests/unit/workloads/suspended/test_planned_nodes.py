"""The nodes of the members of a workload, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.workloads import suspended

NAMES = st.sampled_from(["", "a", "node-1", "gpu-7.example.com"])


@given(st.lists(NAMES).filter(any))
def test_what_was_written_is_read_again(nodes: list[str]) -> None:
    assert tuple(nodes) == suspended.read_planned_nodes(suspended.written_planned_nodes(nodes))


def test_members_of_one_node_beside_each_other_are_written_as_a_number() -> None:
    assert "a*2,,b,a" == suspended.written_planned_nodes(["a", "a", "", "b", "a"])


def test_what_is_too_long_is_not_written() -> None:
    assert "" == suspended.written_planned_nodes(f"node-{number}" for number in range(20_000))


@pytest.mark.parametrize(
    "text", ["", "a*", "a*x", "a*1000000000", "a*90000,b*90000", "a," * 60_000]
)
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    assert () == suspended.read_planned_nodes(text)
