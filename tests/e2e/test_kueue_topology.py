"""Topologies of Kueue on a real API server, whose CRD comes when the scheduler runs already."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests, operator_health
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import access

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

GROUP = "kueue.x-k8s.io"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BLOCK, RACK, HOSTNAME = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Kueue:
    """As much of Kueue as can be seen without it: its Topologies, in one version at first."""

    def __init__(self, cluster: controlplane.Cluster) -> None:
        self.cluster = cluster

    def install(self, *versions: str) -> None:
        """Have the CRD served in these versions, whatever it was served in before."""
        # The group's preferred version is that of its other kinds, as in older Kueues.
        for kind, plural, served in (
            ("LocalQueue", "localqueues", ("v1beta1",)),
            ("Topology", "topologies", versions),
        ):
            crd = _crd(kind, plural, served)
            self.cluster.kubectl("apply", "--filename=-", input=json.dumps(crd))
            name = f"crd/{crd['metadata']['name']}"
            self.cluster.kubectl("wait", "--for=condition=Established", name)

    def topology(self, *keys: str, version: str = "v1alpha1") -> None:
        """Create the Topology `default`, or give it other levels."""
        body = {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "Topology",
            "metadata": {"name": "default"},
            "spec": {"levels": [{"nodeLabel": key} for key in keys]},
        }
        self.cluster.kubectl("apply", "--filename=-", input=json.dumps(body))

    def delete(self, version: str = "v1alpha1") -> None:
        """Delete the Topology `default`."""
        self.cluster.request("DELETE", f"/apis/{GROUP}/{version}/topologies/default")

    def notes(self) -> list[str]:
        """Return what the Events say of the Topology `default`."""
        found = self.cluster.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
        about = {"kind": "Topology", "name": "default"}
        return [e["note"] for e in found["items"] if about.items() <= e["regarding"].items()]


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without Kueue."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={gang_manifests.CRDS}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


@pytest.fixture
def kueue(plane: controlplane.ControlPlane) -> Iterator[Kueue]:
    yield Kueue(plane)
    with access.Client(plane.access) as client:
        client.request("DELETE", f"{CRDS}/topologies.{GROUP}").check()
        eventually(404, lambda: client.request("GET", f"{CRDS}/topologies.{GROUP}").status)


@pytest.fixture
def racks(namespace: Namespace) -> Namespace:
    """Give a namespace with one node of two CPUs in a rack r1 of each of two blocks."""
    for block in ("b1", "b2"):
        namespace.own_nodes(1, cpu=2, labels={BLOCK: block, RACK: "r1"})
    return namespace


@pytest.mark.parametrize("versions", [["v1alpha1"], ["v1beta2", "v1beta1", "v1alpha1"]])
def test_faults_of_a_topology_are_reported(kueue: Kueue, versions: list[str]) -> None:
    kueue.install(*versions)

    kueue.topology(RACK, RACK, version=versions[-1])

    words = (
        f'spec.levels[1].nodeLabel must differ from the keys of the layers above (it is "{RACK}"); '
    )
    assert words + "no tree is made of it" in until(kueue.notes)


def test_a_gang_waits_for_its_layer_until_there_is_a_topology(
    kueue: Kueue, racks: Namespace
) -> None:
    gang_manifests.create(racks, *gang_of_a_layer("a", 2, on=racks.here))
    eventually("UnknownLayer", lambda: racks.condition_of_pod("a-0").get("reason"))

    kueue.install("v1alpha1")
    kueue.topology(BLOCK, RACK, HOSTNAME)

    eventually(2, lambda: len(racks.bound("a")))
    assert 1 == len(set(racks.bound("a").values()))


def test_racks_of_one_name_in_two_blocks_are_two_for_as_long_as_a_topology_says_so(
    kueue: Kueue, racks: Namespace
) -> None:
    kueue.install("v1beta2", "v1beta1")
    kueue.topology(BLOCK, RACK, HOSTNAME, version="v1beta1")
    gang_manifests.create(racks, *gang_of_a_layer("known", 1, on=racks.here))
    eventually(1, lambda: len(racks.bound("known")))
    racks.delete_gangs("known")

    gang_manifests.create(racks, *gang_of_a_rack("a", 3, on=racks.here))
    eventually("Unschedulable", lambda: racks.condition_of_pod("a-0").get("reason"))
    assert {} == racks.bound("a")

    kueue.delete("v1beta1")
    eventually(3, lambda: len(racks.bound("a")))


def test_a_topology_that_is_wrong_leaves_its_last_tree(
    scheduler: controlplane.Scheduler, kueue: Kueue, racks: Namespace
) -> None:
    kueue.install("v1beta2")
    kueue.topology(BLOCK, RACK, version="v1beta2")
    gang_manifests.create(racks, *gang_of_a_layer("a", 1, on=racks.here))
    eventually(1, lambda: len(racks.bound("a")))

    with operator_health.is_unharmed(scheduler):
        kueue.topology(BLOCK, BLOCK, version="v1beta2")
        until(lambda: [note for note in kueue.notes() if note.endswith("stays in use")])

        gang_manifests.create(racks, *gang_of_a_layer("b", 2, on=racks.here))
        eventually(2, lambda: len(racks.bound("b")))


def gang_of_a_layer(name: str, pods: int, **pod_fields: Any) -> list[Manifest]:
    """Return a gang that must gather in a layer called like the label of racks."""
    group, *members = manifests.gang(name, pods, **pod_fields)
    spec = {"gatherStrategy": [{"layer": RACK, "strategy": "MustGather"}]}
    return [
        gang_manifests.annotated_group(group, "network-topology-spec", json.dumps(spec)),
        *members,
    ]


def gang_of_a_rack(name: str, pods: int, **pod_fields: Any) -> list[Manifest]:
    """Return a gang whose pods ask for one rack in Kueue's words."""
    group, *members = manifests.gang(name, pods, **pod_fields)
    for each in members:
        each["metadata"]["annotations"] = {f"{GROUP}/podset-required-topology": RACK}
    return [group, *members]


def _crd(kind: str, plural: str, versions: tuple[str, ...]) -> Manifest:
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    schema = {"openAPIV3Schema": ANYTHING}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": names,
            "versions": [
                {"name": v, "served": True, "storage": v == versions[0], "schema": schema}
                for v in versions
            ],
        },
    }
