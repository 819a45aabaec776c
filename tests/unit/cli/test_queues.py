"""`queues` on the command line: the tree with its bars, and what waits in one queue."""

from pathlib import Path

import pytest

from support.listed_clusters import asked, document, gang, node, queue

NODES = [node(f"node-{number}") for number in range(4)]
TREE = [queue("lab", 0), queue("blue", 16, "lab"), queue("red", 16, "lab")]
RUNS = gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"])
WAITS = gang("waits", 2, queue="blue", created="2026-01-01T12:30:00Z")
CLUSTER = [*NODES, *TREE, *RUNS, *WAITS]


def test_the_tree_has_a_line_a_queue_with_a_bar(tmp_path: Path) -> None:
    result = asked("queues", tmp_path, CLUSTER)

    heading, *lines = result.stdout.splitlines()
    assert "QUEUE     RESOURCE        QUOTA         USED  NOMINAL  BORROWED  LENT  SHARE" in heading
    root, lab, blue, red, *legend, closing = lines
    assert "root      nvidia.com/gpu  [#######---]    24       32         0     0   0.75" in root
    assert "  lab     nvidia.com/gpu  [#######---]    24       32         0     0   0.75" in lab
    assert "    blue  nvidia.com/gpu  [#######===]    24       16         8     0" in blue
    assert "    red   nvidia.com/gpu  [-----.....]     0       16         0     8      0" in red
    assert (
        "QUOTA [####==--..]: of its own # used, - free, . lent; = borrowed from others" == legend[0]
    )
    assert "computed from 4 nodes and 5 pods, as of 12:30:01 UTC" == closing


def test_the_last_sentence_is_no_wider_than_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    closing = asked("queues", tmp_path, CLUSTER).stdout.splitlines()[-2:]

    assert ["computed from 4 nodes and 5 pods, as of", "12:30:01 UTC"] == closing


def test_a_document_has_the_figures_and_what_waits(tmp_path: Path) -> None:
    found = document("queues", tmp_path, CLUSTER)

    _, lab, blue, red = found["items"]
    assert (1, 1, 0, 1) == (blue["pending"], lab["pending"], red["pending"], blue["running"])
    assert (["team/waits"], 2, "lab") == (blue["gangs"], blue["depth"], blue["parent"])
    (resource,) = red["resources"]
    assert ("16", "0", "8") == (resource["nominal"], resource["used"], resource["lent"])


def test_a_name_shows_what_waits_there(tmp_path: Path) -> None:
    lines = asked("queues", tmp_path, CLUSTER, "blue").stdout.splitlines()

    assert lines[1].startswith("blue ")
    assert any(line.startswith("team/waits") for line in lines)
    below = document("queues", tmp_path, CLUSTER, "lab")["items"]
    assert ["lab", "blue", "red"] == [each["queue"] for each in below]


def test_a_queue_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    result = asked("queues", tmp_path, CLUSTER, "green")

    assert (
        3,
        'Error from server (NotFound): queue "green" not found; there are blue, lab, red, root',
    ) == (
        result.exit_code,
        result.stderr.splitlines()[-1],
    )


def test_names_are_for_other_programs(tmp_path: Path) -> None:
    assert "root\nlab\nblue\nred\n" == asked("queues", tmp_path, CLUSTER, "-o", "name").stdout


def test_without_queues_that_is_reported(tmp_path: Path) -> None:
    assert "no queues" == asked("queues", tmp_path, NODES).stdout.splitlines()[0]


def test_a_queue_that_is_not_there_may_be_misspelt(tmp_path: Path) -> None:
    result = asked("queues", tmp_path, CLUSTER, "bleu")

    assert 3 == result.exit_code
    assert 'queue "bleu" not found; did you mean blue?' in result.stderr
