"""Names of nodes in short."""

import pytest

from gang_scheduler.report.texts import node_ranges


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["node-1"], "node-1"),
        (["node-1", "node-0", "node-2", "node-9"], "node-[0-2,9]"),
        (["node-9", "node-10"], "node-[9-10]"),
        (["n-08", "n-09", "n-10"], "n-[08-10]"),
        (["n-009", "n-10"], "n-[009,10]"),
        (["r1-gpu", "r2-gpu", "r1-cpu"], "r1-cpu,r[1-2]-gpu"),
        (["a", "b-1"], "a,b-1"),
    ],
)
def test_names_that_differ_in_one_number_are_ranges(names: list[str], text: str) -> None:
    assert text == node_ranges.folded(names)
