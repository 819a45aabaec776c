"""A gang's claims are bound before its pods: all of them, or no pod starts and the room is free."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import storage
from e2e.support.manifests import Manifest, gang, pod, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.storage import Provisioner
from e2e.support.waiting import eventually, eventually_says, until
from tools import controlplane

pytestmark = pytest.mark.e2e

SIZE = 3
DRIVER = "disks.example.com"
SHORT = "--claim-timeout-seconds=3"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: its operators come and go."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture
def provisioner(plane: controlplane.ControlPlane) -> Iterator[Provisioner]:
    with storage.provisioning(plane, DRIVER) as running:
        yield running


@pytest.fixture
def made(namespace: Namespace, provisioner: Provisioner) -> Iterator[str]:
    """Give a class whose volumes are made where a pod goes."""
    with storage.storage_class(namespace, provisioner.name) as name:
        yield name


def test_no_pod_is_bound_before_the_last_claim(
    lasting: Start, namespace: Namespace, provisioner: Provisioner, made: str
) -> None:
    namespace.own_nodes(SIZE, cpu=1)
    provisioner.neglected.add("a-2")
    lasting()
    namespace.create(*with_claims("a", SIZE, made, namespace))

    eventually({"a-0", "a-1"}, lambda: storage.bound_claims(namespace))
    words = f"1 of 3 claims are not bound yet: {namespace.name}/a-2 (StorageClass {made})"
    eventually(words, lambda: namespace.condition_of_gang("a", "Scheduled").get("message"))
    assert "WaitingForVolumes" == namespace.condition_of_gang("a", "Scheduled")["reason"]
    assert "Scheduling" == namespace.phase("a")
    assert [words] == until(lambda: namespace.notes("a", "WaitingForVolumes"))
    assert {} == namespace.bound()

    provisioner.neglected.clear()

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    assert storage.selected_nodes(namespace) == namespace.bound("a-")
    eventually("True", lambda: namespace.condition_of_gang("a", "Scheduled").get("status"))


def test_claims_that_are_made_for_the_members_are_bound_like_others(
    lasting: Start, namespace: Namespace, made: str
) -> None:
    namespace.own_nodes(SIZE, cpu=1)
    lasting()
    namespace.create(*gang("a", SIZE, on=namespace.here, volumes=storage.ephemeral(made)))

    eventually(SIZE, lambda: len(namespace.bound("a-")))

    assert {"a-0-data", "a-1-data", "a-2-data"} == storage.bound_claims(namespace)
    nodes = {f"{pod_name}-data": node for pod_name, node in namespace.bound("a-").items()}
    assert storage.selected_nodes(namespace) == nodes


def test_each_member_gets_a_disk_that_is_there(lasting: Start, namespace: Namespace) -> None:
    nodes = namespace.own_nodes(5)
    with storage.storage_class(namespace, disks_on=(nodes[0], nodes[2], nodes[4])) as name:
        lasting()
        namespace.create(*with_claims("a", SIZE, name, namespace))

        eventually(SIZE, lambda: len(namespace.bound("a-")))
        assert {"a-0", "a-1", "a-2"} == storage.bound_claims(namespace)
        disks = {
            each["metadata"]["name"]: each["spec"]["volumeName"].rpartition("-on-")[2]
            for each in namespace.every("persistentvolumeclaims")
        }
        assert disks == namespace.bound("a-")


def test_two_disks_are_not_enough_for_three(lasting: Start, namespace: Namespace) -> None:
    nodes = namespace.own_nodes(SIZE)
    with storage.storage_class(namespace, disks_on=(nodes[0], nodes[1])) as name:
        lasting()
        namespace.create(*with_claims("a", SIZE, name, namespace))

        eventually("Unschedulable", lambda: namespace.condition_of_pod("a-0").get("reason"))
        words = "node(s) didn't find available persistent volumes to bind"
        eventually_says(words, lambda: namespace.condition_of_gang("a", "Scheduled")["message"])
        assert {} == namespace.bound()
        assert set() == storage.bound_claims(namespace)


def test_room_is_free_again_when_a_volume_does_not_come_in_time(
    lasting: Start, namespace: Namespace, provisioner: Provisioner, made: str
) -> None:
    namespace.own_nodes(SIZE, cpu=1)
    provisioner.neglected.add("a-1")
    lasting(SHORT)
    namespace.create(*with_claims("a", SIZE, made, namespace))
    eventually(SIZE, lambda: len(storage.selected_nodes(namespace)))
    namespace.create(*gang("b", SIZE, on=namespace.here))

    eventually(SIZE, lambda: len(namespace.bound("b-")))

    assert {} == namespace.bound("a-")
    # On a slow machine the volumes of the others may have come later than that, too.
    words = re.compile(rf"given up after 3 s: . of 3 claims are not bound yet: .*{made}")
    until(lambda: any(words.match(note) for note in namespace.notes("a", "FailedScheduling")))


def test_a_claim_that_is_given_back_is_tried_again(
    lasting: Start, namespace: Namespace, provisioner: Provisioner, made: str
) -> None:
    namespace.own_nodes(SIZE, cpu=1)
    provisioner.refused.add("a-1")
    refused = f"{namespace.name}/a-1"
    lasting()
    claims, others = parted(with_claims("a", SIZE, made, namespace))
    namespace.create(*others)
    until(lambda: namespace.notes("a", "FailedScheduling"))
    namespace.create(*claims)

    eventually(SIZE, lambda: len(namespace.bound("a-")))

    assert storage.selected_nodes(namespace) == namespace.bound("a-")
    # The note of a moment ago says that there are no claims. It does not hide this one.
    until(lambda: [n for n in namespace.notes("a", "FailedScheduling") if refused in n])


def test_room_is_free_at_once_when_a_member_is_deleted(
    lasting: Start, namespace: Namespace, provisioner: Provisioner, made: str
) -> None:
    namespace.own_nodes(SIZE, cpu=1)
    provisioner.neglected.add("a-1")
    lasting()
    namespace.create(*with_claims("a", SIZE, made, namespace))
    eventually({"a-0", "a-2"}, lambda: storage.bound_claims(namespace))
    namespace.create(*gang("b", SIZE, on=namespace.here))

    namespace.delete("pods", "a-1")

    eventually(SIZE, lambda: len(namespace.bound("b-")))
    assert {} == namespace.bound("a-")


def test_the_next_operator_finds_the_room_by_the_selected_nodes(
    lasting: Start, namespace: Namespace, provisioner: Provisioner, made: str
) -> None:
    first, second, *rest = namespace.own_nodes(4, cpu=1)
    namespace.create(*(pod(name, scheduler="somebody-else") for name in ("s-0", "s-1")))
    namespace.bind("s-0", first)
    namespace.bind("s-1", second)
    provisioner.neglected |= {"a-0", "a-1"}
    scheduler = lasting()
    namespace.create(*with_claims("a", 2, made, namespace))
    eventually(set(rest), lambda: set(storage.selected_nodes(namespace).values()))
    selected = storage.selected_nodes(namespace)
    scheduler.kill()
    # A scheduler that planned afresh would go there.
    namespace.delete("pods", "s-0", "s-1")

    lasting()
    provisioner.neglected.clear()

    eventually(selected, lambda: namespace.bound("a-"))


def with_claims(name: str, size: int, storage_class: str, namespace: Namespace) -> list[Manifest]:
    """Return a gang whose members have a claim each, of the member's name."""
    names = [f"{name}-{number}" for number in range(size)]
    members = (
        pod(each, gang_name=name, on=namespace.here, volumes=storage.using(each)) for each in names
    )
    claims = (storage.claim(each, storage_class) for each in names)
    return [*claims, pod_group(name, size), *members]


def parted(manifests: list[Manifest]) -> tuple[list[Manifest], list[Manifest]]:
    """Return the claims of a gang, and all else of it."""
    claims = [each for each in manifests if each["kind"] == "PersistentVolumeClaim"]
    return claims, [each for each in manifests if each not in claims]
