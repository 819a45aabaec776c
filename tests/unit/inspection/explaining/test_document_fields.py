"""The JSON of the document, and the names that it hides."""

import json
from pathlib import Path

import pytest

from gang_scheduler.inspection.explaining import text
from gang_scheduler.inspection.explaining.document_fields import as_json
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.scheduler.explanation.findings import (
    Amount,
    Borrower,
    Moment,
    Start,
    StartBasis,
)
from support.listed_clusters import Body, explained, gang, node

NODES = [node(f"n-{number}") for number in range(4)]
ON = [f"n-{number}" for number in range(4)]
HIDING = ("hide-foreign-names=true",)


def running(priority: int = 0) -> list[Body]:
    """Return a gang of another namespace that has all nodes, and ends in time."""
    bodies = gang("runs", 4, nodes=ON, namespace="far", priority=priority)
    for each in bodies[1:]:
        each["spec"]["activeDeadlineSeconds"] = 3600
    return bodies


def test_amounts_are_quantities_and_times_are_rfc_3339() -> None:
    assert {"queue": "a", "borrowed": "1500m"} == as_json(Borrower("a", Amount("cpu", 1500)))
    assert {"basis": "Ends", "at": "2026-01-01T12:00:00Z", "after": "a/b"} == as_json(
        Start(StartBasis.ENDS, Moment(1_767_268_800), "a/b")
    )


@pytest.mark.parametrize("asks", [1, 4])
@pytest.mark.parametrize(("theirs", "ours"), [(0, 0), (0, 5), (5, 0)])
def test_no_object_of_another_namespace_has_a_name_where_these_are_hidden(
    tmp_path: Path, asks: int, theirs: int, ours: int
) -> None:
    bodies = [*NODES, *running(theirs), *gang("asks", asks, priority=ours)]
    found = explained(tmp_path, bodies, "team/asks")
    hidden = explained(tmp_path, bodies, "team/asks", HIDING)

    assert "far/runs" in json.dumps(as_json(found))
    assert "far/runs" not in json.dumps(as_json(hidden))
    assert "far/runs" not in text.render(hidden, View(wide=True, all_domains=True), "")
    assert len(as_json(found)) == len(as_json(hidden))
