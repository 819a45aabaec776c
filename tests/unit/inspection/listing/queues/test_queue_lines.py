"""A line a queue: what is computed is what the scheduler writes."""

from pathlib import Path

from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import decisions_now, queues
from gang_scheduler.report.queues import status as queue_status
from gang_scheduler.report.queues.status import View
from gang_scheduler.settings.policy import Policy
from support.listed_clusters import gang, node, queue, written

BODIES = [
    *(node(f"node-{number}") for number in range(4)),
    *(queue("lab", 0), queue("blue", 16, "lab"), queue("red", 16, "lab")),
    *gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"]),
    *gang("waits", 2, queue="blue", created="2026-01-01T12:30:00Z"),
]


def cluster_of(directory: Path) -> Cluster:
    return files.read([written(directory, BODIES)], Policy())


def test_queues_above_each_other_are_in_the_tree(tmp_path: Path) -> None:
    bodies = [queue("a", 8, "b"), queue("b", 8, "a"), queue("c", 8)]
    cluster = files.read([written(tmp_path, bodies)], Policy())
    found = queues.lines_of_queues(cluster, decisions_now.decide(cluster))

    assert {"a": "Cycle", "b": "Cycle", "c": ""} == {
        each.name: each.problem for each in found if each.name in "abc"
    }


def test_figures_are_those_of_the_status(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path)
    decided = decisions_now.decide(cluster)
    pending = queue_status.pending_in_trees(decided.figures)

    for figures in decided.figures:
        number = pending[figures.queue.ref]
        status = queue_status.status_of(figures, View(pending=number))
        parent = figures.queue.parent
        read = queues.of_object(
            {
                "metadata": {"name": figures.queue.ref.name},
                "spec": {"parent": parent.name if parent else None},
                "status": status,
            }
        )
        made = queues.of_figures(figures, number)
        assert (made.name, made.parent, made.amounts, made.share, made.problem) == (
            read.name,
            read.parent,
            read.amounts,
            read.share,
            read.problem,
        )
        assert (made.running, made.pending) == (read.running, read.pending)


def test_queues_come_before_those_below_them(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path)
    found = queues.lines_of_queues(cluster, decisions_now.decide(cluster))

    assert [("root", 0), ("lab", 1), ("blue", 2), ("red", 2)] == [
        (each.name, each.depth) for each in found
    ]
    assert ["blue"] == [each.name for each in queues.below(found, "blue")]
    assert ["lab", "blue", "red"] == [each.name for each in queues.below(found, "lab")]
    assert [] == queues.below(found, "green")


def test_a_queue_that_admits_nothing_says_why() -> None:
    stopped = {"type": "Active", "status": "False", "reason": "Stopped"}
    body = {"metadata": {"name": "blue"}, "status": {"conditions": [stopped]}}

    assert "Stopped" == queues.of_object(body).problem
