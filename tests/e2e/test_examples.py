"""Every directory of examples/ is run, each on the demo's cluster, and ends as it declares."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import controlplane
from demo import cluster, examples, placements

pytestmark = pytest.mark.e2e

DELETE_SECONDS = 30.0


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    with cluster.running() as (plane, _):
        yield plane


@pytest.fixture
def namespace(plane: controlplane.ControlPlane, directory: Path) -> Iterator[str]:
    name = f"example-{directory.name}"
    plane.kubectl("create", "namespace", name)
    yield name
    # By manifest, for the sake of what has no namespace. The next example needs all nodes empty.
    plane.kubectl("delete", "-n", name, "--ignore-not-found", "-f", str(directory))
    plane.kubectl("delete", "namespace", name, "--wait=false")
    deadline = time.monotonic() + DELETE_SECONDS
    while placements.pods(plane, name):
        assert time.monotonic() < deadline, f"pods of {directory.name} are still there"
        time.sleep(0.1)


@pytest.mark.parametrize("directory", examples.directories(), ids=lambda path: path.name)
def test_an_example_ends_as_it_declares(
    plane: controlplane.ControlPlane, namespace: str, directory: Path
) -> None:
    example = examples.load(directory)
    min_members = _min_members(directory)

    with controlplane.Watcher(plane, namespace) as watcher:
        plane.kubectl("apply", "-n", namespace, "-f", str(directory))
        placements.wait(plane, namespace, example.outcome)
        bound_while_waiting = {gang: watcher.ever_bound(gang) for gang in example.outcome.waiting}
        if example.then:
            plane.kubectl("delete", "-n", namespace, "-f", str(example.then.manifest))
            placements.wait(plane, namespace, example.then.outcome)
        partial = watcher.partial_gangs(min_members)

    assert not any(bound_while_waiting.values())
    assert [] == partial


@pytest.mark.parametrize("directory", examples.directories(), ids=lambda path: path.name)
def test_an_example_tells_how_to_run_it(directory: Path) -> None:
    readme = (directory / "README.md").read_text()

    assert f"kubectl apply -f examples/{directory.name}\n" in readme
    assert f"kubectl delete -f examples/{directory.name}" in readme


@pytest.mark.parametrize("missing", ["README.md", examples.EXPECTED])
def test_an_example_that_declares_nothing_is_refused(tmp_path: Path, missing: str) -> None:
    copy = shutil.copytree(examples.directories()[0], tmp_path / "05-copy")
    (copy / missing).unlink()

    with pytest.raises(examples.InvalidExample, match=f"05-copy has no {missing}"):
        examples.load(copy)


@pytest.mark.parametrize(
    "expected",
    [
        "bound = 4",
        "[waiting.a]\nreason = 'Unschedulable'\nmessage = 'x'",
        "[bound]\na = 4\n[waiting.a]\nwhy = 'Unschedulable'",
        "[bound]\na = 4\n[surprise]\nb = 1",
        "[bound]\na = 4\n[then]\ndelete = 'nothing.yaml'\nbound = { a = 0 }",
    ],
)
def test_an_expectation_that_nobody_reads_is_refused(tmp_path: Path, expected: str) -> None:
    (tmp_path / "README.md").write_text("# An example\n")
    (tmp_path / examples.EXPECTED).write_text(expected)

    with pytest.raises(examples.InvalidExample, match=examples.EXPECTED):
        examples.load(tmp_path)


def _min_members(directory: Path) -> dict[str, int]:
    documents = (
        document
        for manifest in examples.manifests(directory)
        for document in yaml.safe_load_all(manifest.read_text())
    )
    return {
        document["metadata"]["name"]: document["spec"]["minMember"]
        for document in documents
        if document["kind"] == "PodGroup"
    }
