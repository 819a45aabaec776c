"""What Jobs, JobSets and native PodGroups ask of the network, with the pods that controllers make.

No object describes the network here: the key of a node label is a layer of its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import gang_manifests
from e2e.support.manifests import Manifest, pod
from e2e.support.namespaces import Namespace
from e2e.support.networks import RACK
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.jobset import standin

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

KUEUE = "kueue.x-k8s.io"
LAST = "rack-2"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with PodGroups of its own, and a stand-in for the JobSet controller."""
    with controlplane.start(controlplane.Options(native_gangs=True)) as started:
        started.kubectl("apply", f"--filename={crds}")
        standin.install(started)
        with standin.playing(started):
            yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


@pytest.fixture
def racks(namespace: Namespace) -> Namespace:
    """Give a namespace with three racks of two nodes of 4 CPUs, half of the first two in use."""
    for number in range(3):
        namespace.own_nodes(2, cpu=4, labels={RACK: f"rack-{number}"})
    nodes = sorted(rack_by_node(namespace))[:4]
    namespace.create(*(pod(f"other-{node}", cpu=2, nodeName=node) for node in nodes))
    until(lambda: all(is_running(each) for each in namespace.every("pods")))
    return namespace


def test_a_job_that_requires_a_rack_is_in_one_and_so_is_a_replacement(racks: Namespace) -> None:
    asking = {f"{KUEUE}/podset-required-topology": RACK}
    job = annotated(gang_manifests.job("a", 3, {}, cpu=2, on=racks.here), asking)
    # Else the Job waits before it makes new pods: the longer, the more failed.
    job["spec"].update(backoffLimitPerIndex=5, podReplacementPolicy="TerminatingOrFailed")
    gang_manifests.create(racks, job)
    eventually([LAST] * 3, lambda: racks_of(racks, "a-"))

    # The room of the one that fails is taken, and nodes of other racks would suit as well.
    failed, node = min(racks.bound("a-").items())
    until(lambda: is_running(racks.get("pods", failed)))
    racks.set_phase(failed, "Failed")
    racks.create(pod("stranger", cpu=2, nodeName=node))

    eventually(4, lambda: len(racks.bound("a-")))
    assert [LAST] * 4 == racks_of(racks, "a-")


def test_a_job_without_room_in_a_rack_waits_whole(racks: Namespace) -> None:
    asking = {f"{KUEUE}/podset-required-topology": RACK}

    gang_manifests.create(
        racks, annotated(gang_manifests.job("a", 5, {}, cpu=2, on=racks.here), asking)
    )

    eventually({"Unschedulable"}, lambda: waiting_of(racks, "a-", 5))
    offer = f"desiredOfferSlot: 5, topology topologyNode {RACK}/{LAST}: 4"
    note = until(lambda: racks.notes("a", "FailedScheduling"))[0]
    assert note.startswith(f"No {RACK} has room for 5 members with 2 cpu each: {LAST} for 4")
    assert offer in note
    assert {} == racks.bound("a-")

    racks.own_nodes(1, cpu=4, labels={RACK: LAST})
    eventually([LAST] * 5, lambda: racks_of(racks, "a-"))


def test_jobs_of_one_podset_group_share_a_rack(racks: Namespace) -> None:
    asking = {f"{KUEUE}/podset-required-topology": RACK, f"{KUEUE}/podset-group-name": "together"}
    document = gang_manifests.job_set(
        "a", {"leader": (1, 1), "workers": (1, 3)}, cpu=2, on=racks.here
    )
    for each in document["spec"]["replicatedJobs"]:
        annotated(each["template"], asking)

    gang_manifests.create(racks, document)

    eventually([LAST] * 4, lambda: racks_of(racks, "a-"))


def test_slices_of_a_job_set_are_not_split(racks: Namespace) -> None:
    racks.delete("pods", *sorted(racks.bound("other-"))[:1])
    asking = {
        f"{KUEUE}/podset-slice-required-topology": RACK,
        f"{KUEUE}/podset-slice-size": "3",
    }
    document = gang_manifests.job_set("a", {"workers": (2, 3)}, cpu=2, on=racks.here)
    annotated(document["spec"]["replicatedJobs"][0]["template"], asking)

    gang_manifests.create(racks, document)

    # The racks have room for 3, 2 and 4, so for two slices of 3 in two of them.
    eventually(6, lambda: len(racks.bound("a-")))
    for replica, rack in enumerate(("rack-0", LAST)):
        assert [rack] * 3 == racks_of(racks, f"a-workers-{replica}-")


def test_a_native_pod_group_is_in_one_domain_of_its_constraint(racks: Namespace) -> None:
    group, *members = gang_manifests.native_gang("a", 4, cpu=2, on=racks.here)
    group["spec"]["schedulingConstraints"] = {"topology": [{"key": RACK}]}
    racks.create(pod("in-the-way", cpu=2, nodeName=sorted(rack_by_node(racks))[-1]))
    until(lambda: is_running(racks.get("pods", "in-the-way")))

    gang_manifests.create(racks, group, *members)

    eventually({"Unschedulable"}, lambda: waiting_of(racks, "a-", 4))
    assert {} == racks.bound("a-")
    racks.delete("pods", "in-the-way")
    eventually([LAST] * 4, lambda: racks_of(racks, "a-"))


def annotated(job: Manifest, annotations: dict[str, str]) -> Manifest:
    """Return a Job, or the template of one, whose pods have annotations and no label of ours."""
    job["spec"]["template"]["metadata"] = {"annotations": annotations}
    return job


def rack_by_node(namespace: Namespace) -> dict[str, str]:
    """Return the racks of a namespace's own nodes."""
    found: list[Any] = namespace.cluster.request("GET", "/api/v1/nodes")["items"]
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in found}
    return {n: own[RACK] for n, own in labels.items() if namespace.here.items() <= own.items()}


def racks_of(namespace: Namespace, prefix: str) -> list[str]:
    """Return the rack of every bound pod whose name begins so, sorted."""
    racks = rack_by_node(namespace)
    return sorted(racks[node] for node in namespace.bound(prefix).values())


def waiting_of(namespace: Namespace, prefix: str, at_least: int) -> set[str]:
    """Return why pods wait whose name begins so; nothing while there are too few of them."""
    names = [each["metadata"]["name"] for each in namespace.every("pods")]
    found = [namespace.condition_of_pod(name) for name in names if name.startswith(prefix)]
    return {each.get("reason", "") for each in found} if len(found) >= at_least else set()


def is_running(found: Manifest) -> bool:
    return bool(found["status"].get("phase") == "Running")
