"""The cache of volumes: the volumes of a snapshot, and the pods that a change concerns."""

from collections.abc import Mapping
from typing import Any

import pytest

from gang_scheduler.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.volumes import (
    NO_VOLUMES,
    PRIVATE,
    Attachment,
    Disk,
    DiskUse,
    Pool,
    Provisioning,
    SoleUse,
    Volumes,
)
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER
from support.volume_builders import (
    DRIVER,
    LATE,
    LOCAL,
    attachment_body,
    claim_body,
    class_body,
    cluster,
    csi_node_body,
    gangs_due,
    local_class_body,
    lose,
    mounting,
    on,
    see,
    volume_body,
)

GIB = 2**30
WAITING = pod_body("w", volumes=mounting("wanted"))
WANTED = (WAITING, claim_body("wanted", LOCAL), local_class_body())


def known(*bodies: Mapping[str, Any]) -> Volumes:
    """Return the volumes of a snapshot in which a pod waits for one."""
    return cluster(*WANTED, *bodies).snapshot(0).volumes


def offered(*bodies: Mapping[str, Any]) -> dict[str, bool]:
    """Return the names of the volumes of the local class, and whether they are kept."""
    return {each.name: each.for_claim for each in known(*bodies).available.get(LOCAL, ())}


def test_a_snapshot_has_no_volumes_if_no_pod_asks_for_any() -> None:
    plain = cluster(volume_body("d", LOCAL), class_body(), pod_body("p"))

    assert plain.snapshot(0).volumes is NO_VOLUMES


def test_nothing_is_read_again_while_nothing_changes() -> None:
    cache = cluster(*WANTED)

    assert cache.volumes.snapshot() is cache.volumes.snapshot()


def test_available_volumes_are_offered_smallest_first() -> None:
    found = offered(
        *(volume_body("b", LOCAL, size="2Gi"), volume_body("c", LOCAL), volume_body("a", LOCAL)),
        volume_body("other", "class"),
    )

    assert ["a", "c", "b"] == list(found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (volume_body("d", LOCAL), {"d": False}),
        (volume_body("d", LOCAL, phase="Released"), {}),
        (volume_body("d", LOCAL, phase="Pending"), {}),
        (volume_body("d", LOCAL, claim="wanted", phase="Available"), {"d": True}),
        (volume_body("d", LOCAL, claim="wanted"), {"d": True}),
        (volume_body("d", LOCAL, claim="gone", phase="Available"), {}),
    ],
)
def test_a_volume_is_for_all_or_for_one_or_for_no_claim(
    body: dict[str, Any], expected: dict[str, bool]
) -> None:
    assert expected == offered(body)


def test_a_volume_that_is_being_deleted_is_not_offered() -> None:
    body = volume_body("d", LOCAL)
    body["metadata"]["deletionTimestamp"] = "2024-05-01T12:00:00Z"

    assert {} == offered(body)


def test_classes_make_volumes_as_their_driver_says() -> None:
    capacity = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "kube-system", "uid": "uid-c"},
        "storageClassName": LATE,
        "nodeTopology": {},
        "capacity": "1Gi",
    }
    driver = {
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER, "uid": "uid-d"},
        "spec": {"storageCapacity": True},
    }

    silent, telling = known(class_body(), capacity), known(class_body(), capacity, driver)

    assert {LATE: Provisioning()} == silent.provisioning
    assert {LATE: Provisioning(pools=(Pool(GIB),))} == telling.provisioning


def test_drivers_have_limits_and_places() -> None:
    driver = {
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER, "uid": "uid-d"},
        "spec": {"preventPodSchedulingIfMissing": True},
    }

    found = known(driver, csi_node_body("n1", 3), csi_node_body("n2", None))

    assert {DRIVER: {"n1": 3}} == found.limits
    assert {DRIVER: frozenset({"n1", "n2"})} == found.installed


def test_what_pods_on_nodes_use_is_counted_whichever_scheduler_bound_them() -> None:
    sole = claim_body("one", volume="d", modes=["ReadWriteOncePod"])
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "x"}}
    found = known(
        *(sole, volume_body("d", claim="one", handle="h"), csi_node_body("n1", 3)),
        pod_body("p", nodeName="n1", schedulerName="other", volumes=[*mounting("one"), disk]),
        pod_body("q", volumes=mounting("one")),
    )

    expected = {
        SoleUse("default/one"): 1,
        DiskUse("n1", Disk(("gce x",))): 1,
        Attachment("n1", DRIVER, "h"): 1,
    }
    assert expected == found.uses


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_uses_nothing(phase: str) -> None:
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "x"}}

    found = known(pod_body("p", nodeName="n1", volumes=[disk], status={"phase": phase}))

    assert {} == found.uses


def test_a_pod_that_is_gone_uses_nothing() -> None:
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "x"}}
    cache = cluster(*WANTED, pod_body("p", nodeName="n1", volumes=[disk]))

    cache.delete_pod("uid-p")

    assert {} == cache.snapshot(0).volumes.uses


def test_an_attachment_lingers_where_no_pod_uses_the_volume() -> None:
    found = known(
        *(claim_body("data", volume="d"), volume_body("d", claim="data", handle="h")),
        *(csi_node_body("n1", 3), attachment_body("at-1", "d", "n1")),
        *(attachment_body("at-2", "d", "n2"), attachment_body("at-3", "gone", "n1")),
        pod_body("p", nodeName="n1", volumes=mounting("data")),
    )

    assert {Attachment("n1", DRIVER, PRIVATE): 1} == found.uses
    assert {Attachment("n2", DRIVER, "h")} == found.lingering


CHANGES = [
    claim_body("wanted", LOCAL, selected="n1"),
    volume_body("d", LOCAL, nodes=["n1"]),
    local_class_body() | {"allowedTopologies": []} | {"provisioner": DRIVER},
    csi_node_body("n1", 3),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_lets_gangs_try_again_that_wait(change: dict[str, Any]) -> None:
    changes = Changes()
    cache = Cache([SCHEDULER], changes)
    see(cache, *WANTED)
    for gang in gangs_due(cache):
        cache.decisions.refused(Refused(gang, Reason.UNSCHEDULABLE, gang.pending), now=0)
    assert [] == gangs_due(cache)
    changes.cycle.clear()

    see(cache, change)

    assert changes.cycle.is_set()
    assert gangs_due(cache)


def test_what_is_seen_again_wakes_no_gang() -> None:
    changes = Changes()
    cache = Cache([SCHEDULER], changes)
    see(cache, *WANTED, *CHANGES)
    changes.cycle.clear()

    see(cache, *CHANGES)

    assert not changes.cycle.is_set()


def test_volumes_wake_no_gang_where_no_pod_uses_any() -> None:
    changes = Changes()
    cache = Cache([SCHEDULER], changes)

    see(cache, *CHANGES, class_body())

    assert not changes.cycle.is_set()


def test_objects_come_and_go_by_the_watch_and_by_the_sweep() -> None:
    cache = cluster(*WANTED, volume_body("d", LOCAL), volume_body("e", LOCAL))
    there = set(cache_feeding.uids(cache, PERSISTENT_VOLUMES))

    lose(cache, volume_body("d", LOCAL))
    cache_feeding.delete(cache, PERSISTENT_VOLUMES, "uid-e")

    assert {"uid-d", "uid-e"} == there
    assert [] == list(cache_feeding.uids(cache, PERSISTENT_VOLUMES))
    assert {} == cache.snapshot(0).volumes.available


def test_a_late_word_of_an_earlier_life_takes_nothing_away() -> None:
    cache = cluster(*WANTED)
    second = claim_body("wanted", LOCAL, metadata={"uid": "second"})
    see(cache, second)

    lose(cache, claim_body("wanted", LOCAL))

    assert ["second"] == list(cache_feeding.uids(cache, PERSISTENT_VOLUME_CLAIMS))


def test_an_object_that_cannot_be_read_is_left_out() -> None:
    cache = cluster(*WANTED)
    left_out = LeftOutObjects()

    body = claim_body("wanted", LOCAL, size="much")
    cache_feeding.tell(cache_feeding.event_handlers(cache, left_out), "MODIFIED", body)

    (told,) = left_out.take_all()
    assert ("PersistentVolumeClaim", "spec.resources.requests.storage") == (
        told.kind,
        told.why.field,
    )
    assert [] == list(cache_feeding.uids(cache, PERSISTENT_VOLUME_CLAIMS))


def test_terms_of_nodes_are_kept() -> None:
    found = known(volume_body("d", LOCAL, nodes=["n1"]))

    assert [on("n1")] == [each.nodes for each in found.available[LOCAL]]
