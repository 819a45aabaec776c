"""What the decisions do not show of the input is said beside them."""

import pytest

from gang_scheduler.simulation import documents, objects, remarks

NODE = "{kind: Node, apiVersion: v1, metadata: {name: n}}"
POD = "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {schedulerName: ours}}"
ASSUMED = (
    "1 pod without spec.schedulerName: taken as ours, mine; on a cluster they are "
    "default-scheduler's (--no-assume-scheduler-name)"
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([NODE, POD], []),
        ([], ["the input has no nodes", "the input has no pods"]),
        ([NODE], ["the input has no pods"]),
        ([POD], ["the input has no nodes"]),
        (
            [NODE, POD.replace("ours", "other")],
            ["none of the 1 pod in the input has schedulerName mine or ours"],
        ),
        ([NODE, POD.replace("schedulerName: ours", "")], [ASSUMED]),
    ],
)
def test_what_is_assumed_and_missing_is_said(texts: list[str], expected: list[str]) -> None:
    found = objects.load(documents.parse("f", "\n---\n".join(texts)), "mine")

    assert expected == [*remarks.of(found, ("mine", "ours"))]
