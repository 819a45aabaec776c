"""The nodes of the members of a workload, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.decode.workloads import planned_nodes

NAMES = st.sampled_from(["", "a", "node-1", "gpu-7.example.com"])


@given(st.lists(NAMES).filter(any))
def test_what_was_written_is_read_again(nodes: list[str]) -> None:
    assert tuple(nodes) == planned_nodes.read(planned_nodes.written(nodes))


def test_members_of_one_node_beside_each_other_are_written_as_a_number() -> None:
    assert "a*2,,b,a" == planned_nodes.written(["a", "a", "", "b", "a"])


def test_what_is_too_long_is_not_written() -> None:
    assert "" == planned_nodes.written(f"node-{number}" for number in range(20_000))


@pytest.mark.parametrize(
    "text", ["", "a*", "a*x", "a*1000000000", "a*90000,b*90000", "a," * 60_000]
)
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    assert () == planned_nodes.read(text)
