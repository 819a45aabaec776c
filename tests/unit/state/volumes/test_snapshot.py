"""What the volumes of a pod ask for, from its claims as they are now."""

from typing import Any

import pytest

from gang_scheduler.model.volumes import PRIVATE, Disk, Need, Storage
from gang_scheduler.state.cache import Cache
from support.api_objects import pod_body
from support.volume_builders import (
    DRIVER,
    LATE,
    claim_body,
    class_body,
    cluster,
    csi_node_body,
    lose,
    mounting,
    on,
    see,
    volume_body,
    waiting,
)

GIB = 2**30
NEED = Need(LATE, GIB, ("ReadWriteOnce",))
NOT_FOUND = 'persistentvolumeclaim "data" not found'


def using(name: str, *claims: str, **rest: Any) -> dict[str, Any]:
    return pod_body(name, volumes=mounting(*claims), **rest)


def asked(cache: Cache, name: str = "p") -> Storage | None:
    cache.snapshot(0)
    pod = cache.pod(f"uid-{name}")
    assert pod is not None
    return pod.pod_class.storage


def bound(name: str, **volume: Any) -> list[dict[str, Any]]:
    """Return a claim and its volume."""
    return [
        claim_body(name, volume=f"disk-{name}"),
        volume_body(f"disk-{name}", claim=name, **volume),
    ]


def test_a_pod_without_volumes_asks_for_nothing() -> None:
    assert asked(cluster(pod_body("p", volumes=[{"emptyDir": {}}]))) is None


def test_nor_does_one_whose_volume_is_everywhere() -> None:
    assert asked(cluster(using("p", "data"), *bound("data"))) is None


def test_a_bound_volume_is_where_it_is() -> None:
    zone = "topology.kubernetes.io/zone"
    cache = cluster(using("p", "data"), *bound("data", nodes=["n1"], labels={zone: "a"}))

    assert Storage(affinities=(on("n1"),), zones=((zone, ("a",)),)) == asked(cache)


def test_a_claim_that_waits_needs_a_volume() -> None:
    cache = cluster(using("p", "data"), claim_body("data"), class_body())

    assert Storage(needs=(NEED,)) == asked(cache)


def test_members_with_a_claim_each_are_of_one_class() -> None:
    pods = (using(f"a-{i}", f"data-{i}", gang="a") for i in range(3))
    claims = (claim_body(f"data-{i}") for i in range(3))

    found = waiting(cluster(*pods, *claims, class_body()))

    assert 1 == len({pod.pod_class for pod in found.values()})
    assert 1 == len({id(pod.pod_class) for pod in found.values()})


def test_a_claim_that_several_use_has_its_name() -> None:
    cache = cluster(using("p", "data"), claim_body("data"), class_body())
    before = asked(cache)

    see(cache, using("q", "data"))

    shared = Storage(needs=(Need(LATE, GIB, ("ReadWriteOnce",), claim="default/data"),))
    assert (Storage(needs=(NEED,)), shared, shared) == (before, asked(cache), asked(cache, "q"))


def test_and_has_none_again_once_the_others_are_gone() -> None:
    cache = cluster(using("p", "data"), using("q", "data"), claim_body("data"), class_body())

    see(cache, using("q", "data", status={"phase": "Succeeded"}))

    assert Storage(needs=(NEED,)) == asked(cache)


def test_the_selected_node_and_a_kept_volume_are_reported() -> None:
    cache = cluster(
        *(using("p", "data"), claim_body("data", selected="n1")),
        *(using("q", "other"), claim_body("other", "local"), class_body("local")),
        *(class_body(), volume_body("disk", "local", claim="other", phase="Available")),
    )

    assert Storage(needs=(Need(LATE, GIB, ("ReadWriteOnce",), node="n1"),)) == asked(cache)
    assert Storage(needs=(Need("local", GIB, ("ReadWriteOnce",), volume="disk"),)) == asked(
        cache, "q"
    )


def test_a_volume_that_is_too_small_is_not_kept() -> None:
    small = volume_body("disk", claim="data", phase="Available", size="1Mi")
    cache = cluster(using("p", "data"), claim_body("data"), class_body(), small)

    assert Storage(needs=(NEED,)) == asked(cache)


def test_needs_come_smallest_first() -> None:
    cache = cluster(
        using("p", "large", "small"),
        *(claim_body("large", size="2Gi"), claim_body("small"), class_body()),
    )

    storage = asked(cache)

    assert storage is not None
    assert [GIB, 2 * GIB] == [each.size for each in storage.needs]


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        ([], NOT_FOUND),
        ([claim_body("data", metadata={"namespace": "team"})], NOT_FOUND),
        (
            [claim_body("data", volume="disk", status={"phase": "Lost"})],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "disk"',
        ),
        (
            [claim_body("data", metadata={"deletionTimestamp": "2024-05-01T12:00:00Z"})],
            'persistentvolumeclaim "data" is being deleted',
        ),
        ([claim_body("data", "")], "pod has unbound immediate PersistentVolumeClaims"),
        ([claim_body("data", "gone")], "pod has unbound immediate PersistentVolumeClaims"),
        ([claim_body("data", "now")], "pod has unbound immediate PersistentVolumeClaims"),
        (
            [claim_body("data", volume="disk", metadata={"annotations": {}})],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        ([claim_body("data", volume="disk")], 'persistentvolume "disk" not found'),
    ],
)
def test_faults_of_a_claim_are_reported(claims: list[dict[str, Any]], problem: str) -> None:
    immediate = class_body("now", waits=False)

    cache = cluster(using("p", "data"), class_body(), immediate, *claims)

    assert Storage(problem=problem) == asked(cache)


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        (
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-data"',
        ),
        (
            [claim_body("p-data")],
            "PVC default/p-data was not created for pod default/p (pod is not owner)",
        ),
        (
            [claim_body("p-data", owner="uid-p", volume="disk")],
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        ),
    ],
)
def test_an_ephemeral_claim_must_be_the_pods_own(
    claims: list[dict[str, Any]], problem: str
) -> None:
    body = pod_body("p", volumes=mounting(ephemeral=["data"]))

    assert Storage(problem=problem) == asked(cluster(body, class_body(), *claims))


def test_an_ephemeral_claim_of_its_own_is_like_any() -> None:
    body = pod_body("p", volumes=mounting(ephemeral=["data"]))

    cache = cluster(body, class_body(), claim_body("p-data", owner="uid-p"))

    assert Storage(needs=(NEED,)) == asked(cache)


def test_a_claim_for_one_pod_matters_where_several_use_it() -> None:
    claim = claim_body("data", volume="disk", modes=["ReadWriteOncePod"])
    cache = cluster(using("p", "data"), claim, volume_body("disk", claim="data"))
    alone = asked(cache)

    see(cache, using("q", "data", nodeName="n1"))

    assert (None, Storage(sole=("default/data",))) == (alone, asked(cache))


def test_volumes_of_drivers_with_a_limit_are_counted() -> None:
    cache = cluster(
        *(using("p", "data", "late"), *bound("data", handle="h"), claim_body("late"), class_body()),
    )
    unlimited = asked(cache)

    see(cache, csi_node_body("n1", 5))

    attached = ((DRIVER, PRIVATE), (DRIVER, PRIVATE))
    assert Storage(needs=(NEED,)) == unlimited
    assert Storage(needs=(NEED,), attached=attached) == asked(cache)


def test_a_counted_volume_that_several_use_has_its_handle() -> None:
    cache = cluster(
        *(using("p", "data"), using("q", "data"), *bound("data", handle="h")),
        *(using("r", "late"), using("s", "late"), claim_body("late"), class_body()),
        csi_node_body("n1", 5),
    )

    storage = asked(cache, "r")

    assert Storage(attached=((DRIVER, "h"),)) == asked(cache)
    assert storage is not None
    assert ((DRIVER, "claim default/late"),) == storage.attached


def test_so_has_one_that_is_another_name_of_the_same() -> None:
    cache = cluster(
        *(using("p", "data"), *bound("data", handle="h")),
        *(volume_body("twin", handle="h"), csi_node_body("n1", 5)),
    )
    twins = asked(cache)

    lose(cache, volume_body("twin", handle="h"))

    assert Storage(attached=((DRIVER, "h"),)) == twins
    assert Storage(attached=((DRIVER, PRIVATE),)) == asked(cache)


def test_disks_that_a_pod_names_itself_are_reported() -> None:
    cache = cluster(pod_body("p", volumes=[{"name": "d", "gcePersistentDisk": {"pdName": "x"}}]))

    assert Storage(disks=(Disk(("gce x",)),)) == asked(cache)


def test_a_pod_on_a_node_only_says_what_it_takes_there() -> None:
    cache = cluster(
        using("p", "data", nodeName="n1"),
        *bound("data", nodes=["n1"], handle="h"),
        csi_node_body("n1", 5),
    )

    assert Storage(attached=((DRIVER, PRIVATE),)) == asked(cache)
