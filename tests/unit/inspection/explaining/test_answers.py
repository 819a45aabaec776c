"""What is told of a gang where only one namespace may be read."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cases.test_cases import expanded
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.explaining import text
from gang_scheduler.inspection.explaining.answers import answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.document_fields import as_json
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.settings.policy import Policy
from support import listed_clusters, yaml_texts

MESSAGE = "Needs 2 nodes with 8 free nvidia.com/gpu, 1 has them. 0/3 nodes are available."
STATUS = {
    "queue": {"name": "team-a", "position": 3, "pending": 17},
    "conditions": [
        {
            "type": "Scheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": MESSAGE,
            "lastTransitionTime": "2026-01-01T12:00:00Z",
        }
    ],
}
MEMBERS = {"kind": "Pod", "copies": 2, "name": "a", "gang": "a", "requests": {"cpu": 1}}


def told(tmp_path: Any, *manifests: Any) -> tuple[dict[str, Any], str]:
    """Return the document and the text of gang a, from these objects alone."""
    file = tmp_path / "objects.yaml"
    file.write_text(yaml_texts.written_all([*expanded(manifests)]))
    read = files.read([str(file)], Policy())
    cluster = replace(read, source=Source.WRITTEN, namespace="default")
    document = answer_for("a", "default", Question(cluster)).document
    assert document is not None
    made = json.loads(json.dumps(as_json(document)))
    listed_clusters.hold(made)
    return made, text.render(document, View(), inspection_cluster.origin_line(cluster))


@pytest.fixture
def waiting(tmp_path: Any) -> tuple[dict[str, Any], str]:
    return told(
        tmp_path, {"kind": "PodGroup", "name": "a", "minMember": 2, "status": STATUS}, MEMBERS
    )


def test_the_first_sentence_is_that_of_the_condition(waiting: tuple[dict[str, Any], str]) -> None:
    document, _ = waiting

    assert ("Unschedulable", "Waiting", "Waits") == tuple(
        document[each] for each in ("reason", "state", "verdict")
    )
    assert (
        "It lacks room: needs 2 nodes with 8 free nvidia.com/gpu, 1 has them."
        == document["summary"]
    )


def test_what_needs_more_rights_is_not_left_out_in_silence(
    waiting: tuple[dict[str, Any], str],
) -> None:
    _, printed = waiting

    assert "POSITION    3rd of 17 in team-a\n" in printed
    for part in ("WHERE       ", "NODES       ", "PREEMPTION  ", "IT WOULD START NOW WITH  "):
        assert f"{part}not known with your rights\n" in printed
    assert "\nas the scheduler wrote it in namespace default" in printed


def test_where_nothing_is_written_that_is_said(tmp_path: Any) -> None:
    document, _ = told(tmp_path, {"kind": "PodGroup", "name": "a", "minMember": 2}, MEMBERS)

    assert "The scheduler has written nothing about it yet." == document["summary"]


def test_a_gang_that_runs_has_its_nodes(tmp_path: Any) -> None:
    bound = {**MEMBERS, "nodeName": "n"}
    document, _ = told(tmp_path, {"kind": "PodGroup", "name": "a", "minMember": 2}, bound)

    assert "Running" == document["state"]
    assert [{"node": "n", "ranks": [0, 1]}] == document["running"]["ranks"]
