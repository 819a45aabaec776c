"""Which cluster an example needs, and what `make up` makes of the words that say so."""

from pathlib import Path

import pytest

from tools.demo import cluster, examples


def test_nodes_are_named_or_a_file(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.touch()

    assert own == examples.nodes_file(str(own))
    assert examples.GPU_NODES == examples.nodes_file("gpu-nodes")
    assert examples.CLUSTERS / "racks.yaml" == examples.nodes_file("racks")


def test_nodes_that_are_nowhere_are_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no file moon, .*: gpu-nodes, nvl72, pools, racks, "):
        examples.nodes_file("moon")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("01-gang", "make up"),
        ("08-jobset", "make up WITH=jobset"),
        ("13-job-preferred-topology", "make up NODES=racks"),
        ("31-pytorch-job", "make up WITH=training-operator"),
        ("32-leader-worker-set", "make up WITH=lws"),
    ],
)
def test_an_example_names_the_command_for_its_cluster(name: str, command: str) -> None:
    assert command == examples.load(examples.EXAMPLES / name).make_up


def test_only_examples_that_fit_are_offered() -> None:
    racks = [each.directory.name for each in examples.fitting(examples.nodes_file("racks"), ())]
    plain = {each.directory.name for each in examples.fitting(examples.GPU_NODES, ())}
    more = {each.directory.name for each in examples.fitting(examples.GPU_NODES, ("jobset",))}

    assert ["13-job-preferred-topology", "14-job-in-slices", "17-gang-for-gang"] == racks
    assert {"08-jobset"} == more - plain


def test_every_example_is_offered_somewhere() -> None:
    everything = tuple(examples.NEEDS)
    files = examples.CLUSTERS.glob("*.yaml")
    offered = {each.directory for file in files for each in examples.fitting(file, everything)}

    assert set(examples.directories()) == offered


def test_the_labels_of_nodes_are_shown_as_columns() -> None:
    spine_and_block = cluster.label_keys(examples.GPU_NODES)

    assert [
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/block",
    ] == spine_and_block
