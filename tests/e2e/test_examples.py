"""Every directory of examples/ is run, each on the demo's cluster, and ends as it declares."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.support.gang_watcher import GangWatcher
from tools import controlplane
from tools.demo import cluster, differences, examples, placements

pytestmark = pytest.mark.e2e

DELETE_SECONDS = 30.0
DECIDED_BY = {"ClusterNetworkTopology": "Ready", "Queue": "Active", "ResourceFlavor": ""}
"""Kinds that gangs are decided by, and the condition of those that are used."""
Kind = tuple[tuple[str, ...], Path]


class Planes:
    """The demo's cluster, with the nodes and whatever else an example needs. One at a time."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._running: tuple[Kind, controlplane.ControlPlane] | None = None

    def close(self) -> None:
        """End what runs."""
        self._running = None
        self._stack.close()

    def fit_for(self, example: examples.Example) -> controlplane.ControlPlane:
        """Return the one that runs, if it is of the right kind, else a new one in its place."""
        kind = kind_of(example)
        if self._running is None or self._running[0] != kind:
            self.close()
            self._running = (kind, self._start(example))
        return self._running[1]

    def _start(self, example: examples.Example) -> controlplane.ControlPlane:
        running = cluster.running(nodes_file=example.nodes_file, needs=example.needs)
        plane, _ = self._stack.enter_context(running)
        return plane


def kind_of(example: examples.Example) -> Kind:
    """Return what tells the planes for examples from each other."""
    return example.needs, example.nodes_file


def in_order_of_planes() -> list[Path]:
    """Return the directories of all examples, so that few planes must be started."""
    return sorted(examples.directories(), key=lambda each: (kind_of(examples.load(each)), each))


def marked(directory: Path) -> object:
    """Return an example as a parameter, marked if it needs real controllers of jobs."""
    needed = examples.load(directory).needs_controllers
    marks = [pytest.mark.controllers] if needed else []
    return pytest.param(directory, id=directory.name, marks=marks)


@pytest.fixture(scope="module")
def planes() -> Iterator[Planes]:
    made = Planes()
    yield made
    made.close()


@pytest.fixture
def plane(planes: Planes, directory: Path) -> controlplane.ControlPlane:
    return planes.fit_for(examples.load(directory))


@pytest.fixture
def namespace(plane: controlplane.ControlPlane, directory: Path) -> Iterator[str]:
    """Where the example is applied; afterwards nothing of it is left."""
    example = examples.load(directory)
    name = f"example-{directory.name}"
    plane.kubectl("create", "namespace", name)
    yield name
    # By manifest, for the sake of what has no namespace. The next example needs all nodes empty.
    plane.kubectl("delete", *_where(example, name), "--ignore-not-found", "-f", str(directory))
    # A namespace that goes ends its pods first. A Job with backoffLimitPerIndex keeps a failed pod
    # until there is another one in its place, and no pod can be created there any more.
    plane.kubectl("delete", "jobs", "--all", f"--namespace={name}")
    plane.kubectl("delete", "namespace", name, "--wait=false")
    deadline = time.monotonic() + DELETE_SECONDS
    while any(placements.pods(plane, each) for each in example.prefixes(name)):
        assert time.monotonic() < deadline, f"pods of {directory.name} are still there"
        time.sleep(0.1)


@pytest.mark.parametrize("directory", [marked(each) for each in in_order_of_planes()])
def test_an_example_ends_as_it_declares(
    plane: controlplane.ControlPlane, namespace: str, directory: Path
) -> None:
    example = examples.load(directory)
    prefixes = example.prefixes(namespace)

    with GangWatcher(plane) as watcher:
        _make_known(plane, directory)
        plane.kubectl("apply", *_where(example, namespace), "-f", str(directory))
        differences.wait(plane, prefixes, example.outcome)
        waiting = [_called(example, namespace, gang) for gang in example.outcome.waiting]
        bound_while_waiting = {gang: watcher.ever_bound(gang) for gang in waiting}
        if example.then:
            manifest = str(example.then.manifest)
            plane.kubectl("delete", *_where(example, namespace), "-f", manifest)
            differences.wait(plane, prefixes, example.then.outcome)
        partial = watcher.partial_gangs(_quorums(example, namespace))

    assert not any(bound_while_waiting.values())
    assert [] == partial


@pytest.mark.parametrize("directory", examples.directories(), ids=lambda path: path.name)
def test_an_example_tells_how_to_run_it(directory: Path) -> None:
    readme = (directory / "README.md").read_text()
    example = examples.load(directory)

    assert f"kubectl apply -f examples/{directory.name}\n" in readme
    assert f"kubectl delete -f examples/{directory.name}" in readme
    assert example.runs_on_the_demo or f"`{example.make_up}`" in readme


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
        "needs = ['the moon']\n[bound]\na = 4",
        "needs = 'jobset'\n[bound]\na = 4",
        "namespaces = [1]\n[bound]\na = 4",
        "cluster = 'nowhere'\n[bound]\na = 4",
        "cluster = 1\n[bound]\na = 4",
        "[bound]\na = 1\n[nodes]\na = 'node-1'",
        "[bound]\na = 1\n[nodes]\na = [1]",
        "[bound]\na = 1\n[spans]\na = 1",
        "[bound]\na = 1\n[spans.a]\nrack = 'one'",
        "[bound]\na = 1\n[domain]\na = ['rack-1']",
    ],
)
def test_an_expectation_that_no_test_reads_is_refused(tmp_path: Path, expected: str) -> None:
    (tmp_path / "README.md").write_text("# An example\n")
    (tmp_path / examples.EXPECTED).write_text(expected)

    with pytest.raises(examples.InvalidExample, match=examples.EXPECTED):
        examples.load(tmp_path)


def _make_known(plane: controlplane.ControlPlane, directory: Path) -> None:
    """Apply what gangs are decided by, and wait until the operator uses it.

    Watches of several kinds tell in no order: a gang that is seen before the network is placed
    without it, and one that is seen before a queue may get what the queue was promised.
    """
    for manifest in examples.manifests(directory):
        kinds = {document["kind"] for document in yaml.safe_load_all(manifest.read_text())}
        if kinds <= DECIDED_BY.keys():
            plane.kubectl("apply", "-f", str(manifest))
            for kind in kinds:
                _wait_for(plane, kind, manifest)


def _wait_for(plane: controlplane.ControlPlane, kind: str, manifest: Path) -> None:
    """Wait until the objects of a kind have the condition that says that they are used."""
    condition = DECIDED_BY[kind]
    for document in yaml.safe_load_all(manifest.read_text()):
        if document["kind"] == kind and condition:
            group = document["apiVersion"].partition("/")[0]
            name = f"{kind.lower()}.{group}/{document['metadata']['name']}"
            plane.kubectl("wait", f"--for=condition={condition}", "--timeout=30s", name)


def _where(example: examples.Example, namespace: str) -> list[str]:
    return [] if example.namespaces else [f"--namespace={namespace}"]


def _called(example: examples.Example, namespace: str, gang: str) -> str:
    """Return the name of a gang as the watcher says it."""
    return gang if example.namespaces else f"{namespace}/{gang}"


def _quorums(example: examples.Example, namespace: str) -> dict[str, int]:
    """Return how many members of each gang start together: all, where no PodGroup says less."""
    documents = (
        document
        for manifest in examples.manifests(example.directory)
        for document in yaml.safe_load_all(manifest.read_text())
    )
    outcomes = [example.outcome, *([example.then.outcome] if example.then else [])]
    quorums = {
        _called(example, namespace, gang): count
        for outcome in outcomes
        for gang, count in outcome.bound.items()
        if count
    }
    for document in documents:
        if "minMember" in document.get("spec", {}):
            metadata = document["metadata"]
            where = metadata.get("namespace", next(iter(example.prefixes(namespace))))
            quorums[f"{where}/{metadata['name']}"] = document["spec"]["minMember"]
    return quorums
