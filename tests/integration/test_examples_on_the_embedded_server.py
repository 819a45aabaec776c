"""Every example that needs no foreign kind ends on the embedded API server as it declares.

tests/e2e/test_examples.py holds the same on a real one. The operator is a process of its own.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.api.kinds import GVR, NAMESPACES, NODES
from gang_scheduler.client.fake.cluster import Document
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import DemoFailed, Embedded
from gang_scheduler.embedded import kinds
from support import yaml_texts
from tools.controlplane import nodes
from tools.demo import differences, examples, placements
from tools.demo.examples import Example

PATIENCE_SECONDS = 30.0
DECIDED_BY = {"ClusterNetworkTopology": "Ready", "Queue": "Active", "ResourceFlavor": ""}
"""Kinds that gangs are decided by, and the condition of those that are used."""
NAMESPACE = "example"
FLAGS = ("--manage-job=JobSet", "--queue-deletion-grace-seconds=0")
"""As those of `make up`; and no queue of an example counts in the next one."""
SERVED = {(each.gvr.api_version, each.kind): each for each in kinds.BUILT_IN}
OURS = {each.body["spec"]["names"]["kind"]: each.body["spec"] for each in world.definitions()}


def is_served(example: Example) -> bool:
    """Return whether the embedded server has all kinds of an example: it has none of devices."""
    manifests = (each.read_text() for each in examples.manifests(example.directory))
    found = (each for manifest in manifests for each in yaml_texts.read_all(manifest))
    return all(e["kind"] in OURS or (e["apiVersion"], e["kind"]) in SERVED for e in found)


def fitting() -> list[Path]:
    """Return the examples of kinds that are served, ordered so that few servers must be started."""
    loaded = [examples.load(each) for each in examples.directories()]
    plain = [each for each in loaded if not each.needs and is_served(each)]
    return [each.directory for each in sorted(plain, key=lambda it: (it.nodes_file, it.directory))]


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


class Clusters:
    """The embedded server with the nodes that an example supposes, and the operator. One a time."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._running: tuple[Path, Embedded] | None = None

    def close(self) -> None:
        """End what runs."""
        self._running = None
        self._stack.close()

    def fit_for(self, example: Example) -> Embedded:
        """Return the one that runs, if it has the right nodes, else a new one in its place."""
        if self._running is None or self._running[0] != example.nodes_file:
            self.close()
            self._running = (example.nodes_file, self._start(example.nodes_file))
        return self._running[1]

    def _start(self, nodes_file: Path) -> Embedded:
        found = self._stack.enter_context(cluster.embedded())
        for each in world.definitions():
            cluster.create(found, each.gvr, each.body)
        for each in yaml_texts.read_all(nodes_file.read_text()):
            metadata, status = each["metadata"], each["status"]
            labels = metadata.get("labels", {})
            made = nodes.manifest(metadata["name"], labels, status["allocatable"])
            cluster.create(found, NODES, made)
        self._stack.enter_context(cluster.operator(found.kubeconfig, *FLAGS))
        return found


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    made = Clusters()
    yield made
    made.close()


@pytest.mark.parametrize("directory", [pytest.param(e, id=e.name) for e in fitting()])
def test_an_example_ends_as_it_declares(clusters: Clusters, directory: Path) -> None:
    example = examples.load(directory)
    where = clusters.fit_for(example)
    applied_in = "default" if example.namespaces else NAMESPACE
    made = [*documents(example, applied_in)]
    own = {each["metadata"]["name"] for each in made if each["kind"] == "Namespace"}
    namespaces = {*(example.namespaces or (NAMESPACE,))} - {"default", *own}
    for name in namespaces:
        cluster.create(where, NAMESPACES, {"metadata": {"name": name}})

    for each in sorted(made, key=lambda it: it["kind"] not in DECIDED_BY):
        create(where, each)
    differences.wait(where, example.prefixes(NAMESPACE), example.outcome)
    if example.then:
        for each in read(example.then.manifest, applied_in):
            delete(where, each)
        differences.wait(where, example.prefixes(NAMESPACE), example.then.outcome)

    for each in reversed(made):
        with contextlib.suppress(DemoFailed):
            delete(where, each)
    for name in namespaces:
        where.request("DELETE", NAMESPACES.path(name=name))
    until(lambda: not placements.items(where, "api/v1/pods"), "pods are left")
    until(lambda: not (namespaces | own) & names(where, NAMESPACES), "namespaces are left")
    assert [] == where.problems()


def documents(example: Example, applied_in: str) -> Iterator[Document]:
    """Yield the objects of an example, in the order in which kubectl applies them."""
    for manifest in examples.manifests(example.directory):
        yield from read(manifest, applied_in)


def read(manifest: Path, applied_in: str) -> Iterator[Document]:
    """Yield the objects of a file; those that name no namespace are in this one, if in any."""
    for each in yaml_texts.read_all(manifest.read_text()):
        if is_namespaced(each):
            each["metadata"].setdefault("namespace", applied_in)
        yield each


def create(where: Embedded, document: Document) -> None:
    """Create an object; return once it is used, if gangs are decided by it."""
    path = path_of(document)
    where.request("POST", f"{path}?fieldValidation=Strict", document)
    condition = DECIDED_BY.get(document["kind"])
    if condition:
        name = document["metadata"]["name"]
        until(lambda: holds(where.request("GET", f"{path}/{name}"), condition), f"{name} is unused")


def delete(where: Embedded, document: Document) -> None:
    """Delete an object, as kubectl does."""
    path = f"{path_of(document)}/{document['metadata']['name']}"
    where.request("DELETE", path, {"propagationPolicy": "Background"})


def names(where: Embedded, gvr: GVR) -> set[str]:
    """Return the names of all objects of a kind."""
    return {each["metadata"]["name"] for each in cluster.items(where, gvr)}


def path_of(document: Document) -> str:
    """Return where objects of a kind are, in the namespace of one."""
    version, kind = document["apiVersion"], document["kind"]
    namespace = document["metadata"].get("namespace", "")
    if kind not in OURS:
        return SERVED[version, kind].gvr.path(namespace)
    group, _, version = version.partition("/")
    return GVR(group, version, OURS[kind]["names"]["plural"]).path(namespace)


def is_namespaced(document: Document) -> bool:
    """Return whether objects of a kind have a namespace."""
    version, kind = document["apiVersion"], document["kind"]
    if kind in OURS:
        return bool(OURS[kind]["scope"] == "Namespaced")
    return SERVED[version, kind].namespaced


def holds(document: Any, condition: str) -> bool:
    """Return whether an object has a condition."""
    found = document.get("status", {}).get("conditions", ())
    return any((each["type"], each["status"]) == (condition, "True") for each in found)


def until(done: Any, otherwise: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)
