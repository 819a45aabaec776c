"""The first row of the table of sources: PodGroups of Kubernetes itself, on a server with them."""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests
from e2e.support.gang_watcher import GangWatcher
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

TOO_SMALL = "Insufficient cpu"

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

INITIALLY = "PodGroupInitiallyScheduled"


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Start a control plane that serves native PodGroups."""
    with controlplane.start(controlplane.Options(native_gangs=True)) as started:
        started.kubectl("apply", f"--filename={gang_manifests.CRDS}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


def test_row_native_is_bound_whole_or_not_at_all(namespace: Namespace) -> None:
    documents = gang_manifests.native_gang("a", 4, on=namespace.here)

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, documents, {"a": 4})


def test_its_condition_is_the_one_that_kube_scheduler_writes(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=1)
    gang_manifests.create(namespace, *gang_manifests.native_gang("a", 2, on=namespace.here))

    # Before that it may say that members are missing.
    until(lambda: [each for each in conditions(namespace, "a") if TOO_SMALL in each["message"]])
    assert ("False", "Unschedulable") == initially(namespace, "a")

    namespace.own_nodes(1, cpu=1)
    eventually(("True", "Scheduled"), lambda: initially(namespace, "a"))
    assert 1 == len(conditions(namespace, "a"))


def must_be_known_as_cordoned(namespace: Namespace, node: str) -> None:
    """Return once a pod that only this node would be for is refused because of it."""
    probe = manifests.pod("probe", on={"kubernetes.io/hostname": node})
    namespace.create(probe)
    until(lambda: "were unschedulable" in namespace.condition_of_pod("probe").get("message", ""))
    namespace.delete("pods", "probe")


def test_its_condition_stays_true_whatever_becomes_of_the_members(namespace: Namespace) -> None:
    nodes = namespace.own_nodes(2, cpu=1)
    gang_manifests.create(namespace, *gang_manifests.native_gang("a", 2, on=namespace.here))
    eventually(("True", "Scheduled"), lambda: initially(namespace, "a"))
    (before,) = conditions(namespace, "a")

    # One member dies and cannot come back: the gang is short of it.
    namespace.change_node(nodes[1], lambda node: node["spec"].update(unschedulable=True))
    must_be_known_as_cordoned(namespace, nodes[1])
    lost = next(name for name, node in namespace.bound().items() if node == nodes[1])
    namespace.delete("pods", lost)
    (again,) = (
        each
        for each in gang_manifests.native_members("a", 2, on=namespace.here)
        if each["metadata"]["name"] == lost
    )
    namespace.create(again)
    eventually("Unschedulable", lambda: namespace.condition_of_pod(lost).get("reason"))

    # Were it written, it would have been by now: a gang that is tried later has its condition.
    gang_manifests.create(namespace, *gang_manifests.native_gang("later", 2, on=namespace.here))
    eventually(("False", "Unschedulable"), lambda: initially(namespace, "later"))
    assert [before] == conditions(namespace, "a")


def test_with_the_basic_policy_every_pod_is_alone(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=2)
    group = gang_manifests.native_pod_group("a", {"basic": {}})

    gang_manifests.create(
        namespace, group, *gang_manifests.native_members("a", 3, on=namespace.here)
    )

    eventually(2, lambda: len(namespace.bound()))
    eventually(("True", "Scheduled"), lambda: initially(namespace, "a"))


def test_pods_of_a_pod_group_that_does_not_exist_wait_for_it(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    group, *members = gang_manifests.native_gang("a", 2, on=namespace.here)
    with GangWatcher(namespace.cluster, namespace.name) as watcher:
        gang_manifests.create(namespace, *members)
        eventually("PodGroupNotFound", lambda: namespace.condition_of_pod("a-0").get("reason"))
        words = f'PodGroup "{namespace.name}/a" does not exist'
        assert words == namespace.condition_of_pod("a-0")["message"]
        assert set() == watcher.ever_bound("a")

        gang_manifests.create(namespace, group)
        eventually(2, lambda: len(namespace.bound()))


def test_what_cannot_be_honoured_yet_is_named_and_others_go_on(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    group, *members = gang_manifests.native_gang("near", 2, on=namespace.here)
    for member in members:
        key = "kueue.x-k8s.io/podset-unknown-topology"
        member["metadata"]["annotations"] = {key: "rack"}
    gang_manifests.create(namespace, group, *members)
    gang_manifests.create(namespace, *gang_manifests.native_gang("good", 2, on=namespace.here))

    eventually(2, lambda: len(namespace.bound("good")))
    eventually("UnsupportedFeature", lambda: namespace.condition_of_pod("near-0").get("reason"))
    assert f"metadata.annotations[{key}]" in namespace.condition_of_pod("near-0")["message"]
    assert {} == namespace.bound("near")


def test_a_native_gang_and_ours_of_one_name_are_two(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    native, *natives = gang_manifests.native_gang("a", 2, on=namespace.here)
    ours = manifests.pod("ours-0", gang_name="a", on=namespace.here)

    # Ours needs two, and the native members do not count.
    gang_manifests.create(namespace, native, *natives, manifests.pod_group("a", 2), ours)

    eventually(2, lambda: len(namespace.bound("a-")))
    eventually("WaitingForMembers", lambda: namespace.condition_of_pod("ours-0").get("reason"))
    assert {} == namespace.bound("ours-")


def test_kubectl_get_gangs_shows_ours(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    namespace.create(*gang("ours", 1, on=namespace.here))
    gang_manifests.create(namespace, *gang_manifests.native_gang("native", 1, on=namespace.here))
    eventually("Running", lambda: namespace.phase("ours"))
    eventually(("True", "Scheduled"), lambda: initially(namespace, "native"))

    assert ["PHASE", "ours"] == shown(namespace.kubectl("get", "gangs"))
    assert ["POLICY", "native"] == shown(namespace.kubectl("get", "podgroups"))


def shown(table: str) -> list[str]:
    """Return the second column's title, and the names."""
    heading, *rows = table.splitlines()
    return [heading.split()[1], *(row.split()[0] for row in rows)]


def initially(namespace: Namespace, name: str) -> tuple[str, str] | None:
    found = (each for each in conditions(namespace, name) if each["type"] == INITIALLY)
    return next(((each["status"], each["reason"]) for each in found), None)


def conditions(namespace: Namespace, name: str) -> list[dict[str, Any]]:
    path = gang_manifests.path(namespace, gang_manifests.native_pod_group(name, {}), name)
    found: list[dict[str, Any]] = (
        namespace.cluster.request("GET", path).get("status", {}).get("conditions", [])
    )
    return found
