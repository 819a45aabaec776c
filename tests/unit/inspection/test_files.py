"""Clusters of files."""

from pathlib import Path

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.objects import UnreadableInput
from support import yaml_texts

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "pods": "10"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "a"},
    "spec": {"schedulerName": "py-gang-scheduler", "containers": [{"name": "c"}]},
}


def written(tmp_path: Path, *bodies: object) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml_texts.written_all(bodies))
    return str(path)


def test_a_cluster_of_files_has_its_nodes_and_what_waits(tmp_path: Path) -> None:
    cluster = files.read([written(tmp_path, NODE, POD)], Policy(), at=1_000_000)

    snapshot = cluster.snapshot()
    assert (1, Source.FILES) == (len(snapshot.nodes), cluster.source)
    assert ["a/p"] == [pod.key for group in snapshot.groups for pod in group.gangs[0].pending]
    assert (cluster.read_at, 1_000_000) == (snapshot.taken_at, cluster.read_at)


def test_what_cannot_be_read_is_reported_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput) as raised:
        files.read(
            [written(tmp_path, NODE | {"status": {"allocatable": {"cpu": "lots"}}})], Policy()
        )

    assert "document 1" in raised.value.lines[0]
    assert "lots" in raised.value.lines[0]
