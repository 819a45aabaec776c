"""What is read of nodes."""

import pytest

from gang_scheduler.decode import cluster
from support.api_objects import node_body

AT = "1970-01-01T00:01:40Z"


@pytest.mark.parametrize(
    ("status", "since", "ready", "expected"),
    [
        ("True", AT, True, 0),
        ("False", AT, False, 100),
        ("Unknown", AT, False, 100),
        ("False", None, False, 0),
    ],
)
def test_a_node_says_since_when_it_is_not_ready(
    status: str,
    since: str | None,
    ready: bool,  # noqa: FBT001
    expected: int,
) -> None:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": since}

    found = cluster.read_node(node_body(status={"conditions": [condition]}))

    assert (ready, expected) == (found.ready, found.not_ready_since)


def test_a_node_without_conditions_is_ready() -> None:
    found = cluster.read_node(node_body(status={"conditions": []}))

    assert (True, 0) == (found.ready, found.not_ready_since)
