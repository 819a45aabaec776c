"""Claims, volumes and what makes them, as the API server sends them."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import volumes as volume_decode
from gang_scheduler.decode.volumes import (
    Capacity,
    CsiDriver,
    CsiNode,
    StorageClass,
    VolumeAttachment,
)
from gang_scheduler.model.refs import ClaimRef, VolumeRef
from gang_scheduler.model.volumes import Disk, Need, PodVolume, Pool, Volume
from support import decoded as pod
from support.api_objects import pod_body
from support.builders import NAMESPACE, requirement
from support.volume_builders import (
    DRIVER,
    LATE,
    attachment_body,
    claim_body,
    class_body,
    csi_node_body,
    on,
    volume_body,
)

GIB = 2**30
SELECTOR = {"matchLabels": {"tier": "fast"}}


def test_a_claim_says_what_it_needs() -> None:
    body = claim_body(
        *("data", "fast"),
        size="2Gi",
        selected="n1",
        modes=["ReadWriteMany", "ReadOnlyMany"],
        selector=SELECTOR,
        volumeMode="Block",
        volumeAttributesClassName="gold",
    )

    found = volume_decode.claim(body)

    expected = Need(
        storage_class="fast",
        size=2 * GIB,
        modes=("ReadOnlyMany", "ReadWriteMany"),
        volume_mode="Block",
        selector=(requirement("tier", "In", "fast"),),
        attributes_class="gold",
    )
    assert (expected, "n1", False) == (found.need, found.node, found.bound)


def test_a_claim_is_bound_once_the_controller_is_done() -> None:
    bound = volume_decode.claim(claim_body("data", volume="disk"))
    begun = volume_decode.claim(claim_body("data", volume="disk", metadata={"annotations": {}}))

    assert [("disk", True), ("disk", False)] == [(e.volume, e.bound) for e in (bound, begun)]


def test_a_claim_may_be_lost_or_going_or_for_one_pod() -> None:
    metadata = {"deletionTimestamp": "2024-05-01T12:00:00Z"}
    found = volume_decode.claim(
        claim_body("d", modes=["ReadWriteOncePod"], metadata=metadata, status={"phase": "Lost"})
    )

    assert (True, True, True) == (found.lost, found.deleting, found.sole)


def test_the_old_annotation_of_a_class_comes_first() -> None:
    notes = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}

    assert "old" == volume_decode.claim(claim_body("d", "new", metadata=notes)).need.storage_class


def test_a_volume_says_what_it_offers_and_to_which_claims() -> None:
    body = volume_body(
        *("disk", "fast"),
        nodes=["n1"],
        claim="data",
        size="2Gi",
        handle="h",
        labels={"topology.kubernetes.io/zone": "a__b", "tier": "fast"},
    )

    found = volume_decode.persistent_volume(body)

    expected = Volume(
        name="disk",
        storage_class="fast",
        size=2 * GIB,
        modes=("ReadWriteOnce",),
        labels={"topology.kubernetes.io/zone": "a__b", "tier": "fast"},
        nodes=on("n1"),
    )
    assert (VolumeRef("disk", "uid-disk"), expected) == (found.ref, found.volume)
    assert ClaimRef(NAMESPACE, "data", "uid-data") == found.claim
    assert (DRIVER, "h") == found.csi
    assert (("topology.kubernetes.io/zone", ("a", "b")),) == found.zones
    assert not found.available


def test_a_list_of_zones_with_a_gap_is_not_looked_at() -> None:
    labels = {"topology.kubernetes.io/zone": "a__", "topology.kubernetes.io/region": "r"}

    found = volume_decode.persistent_volume(volume_body("disk", labels=labels))

    assert (("topology.kubernetes.io/region", ("r",)),) == found.zones


def test_fields_of_nodes_are_held_against_a_node_without_a_name() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    affinity = {"required": {"nodeSelectorTerms": terms}}

    found = volume_decode.persistent_volume(volume_body("disk", nodeAffinity=affinity))

    assert ((requirement("metadata.name", "In", "n1"),),) == found.volume.nodes


def test_a_class_says_where_volumes_can_be_made() -> None:
    topologies = [{"matchLabelExpressions": [{"key": "host", "values": ["n1", "n2"]}]}, {}]

    found = volume_decode.storage_class({**class_body(), "allowedTopologies": topologies})

    assert StorageClass("uid-late", LATE, DRIVER, waits=True, nodes=(*on("n1", "n2"), ())) == found
    assert found.makes_volumes


@pytest.mark.parametrize("provisioner", ["", "kubernetes.io/no-provisioner"])
def test_some_classes_make_no_volumes(provisioner: str) -> None:
    assert not volume_decode.storage_class(class_body(provisioner=provisioner)).makes_volumes


def test_drivers_have_limits_and_demands() -> None:
    driver = {"metadata": {"name": DRIVER, "uid": "u"}, "spec": {"storageCapacity": True}}

    assert CsiNode("uid-csi-n1", "n1", ((DRIVER, 7),)) == volume_decode.csi_node(
        csi_node_body("n1", 7)
    )
    assert CsiNode("uid-csi-n1", "n1", ((DRIVER, None),)) == volume_decode.csi_node(
        csi_node_body("n1", None)
    )
    assert CsiDriver("u", DRIVER, tells_capacity=True) == volume_decode.csi_driver(driver)


@pytest.mark.parametrize(
    ("said", "pool"),
    [
        ({"capacity": "2Gi", "nodeTopology": {}}, Pool(2 * GIB)),
        ({"capacity": "2Gi", "maximumVolumeSize": "1Gi", "nodeTopology": {}}, Pool(GIB)),
        ({"capacity": "2Gi"}, None),
        ({"nodeTopology": {}}, None),
        (
            {"capacity": "1Gi", "nodeTopology": SELECTOR},
            Pool(GIB, (requirement("tier", "In", "fast"),)),
        ),
    ],
)
def test_a_capacity_is_room_on_some_nodes(said: dict[str, Any], pool: Pool | None) -> None:
    metadata = {"name": "c", "namespace": "kube-system", "uid": "u"}

    found = volume_decode.capacity({"metadata": metadata, "storageClassName": LATE, **said})

    assert Capacity("u", "kube-system/c", LATE, pool) == found


def test_an_attachment_is_of_a_volume_to_a_node() -> None:
    found = volume_decode.volume_attachment(attachment_body("a", "disk", "n1"))

    assert VolumeAttachment("uid-a", "a", "n1", DRIVER, "disk") == found


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (claim_body("d", size="much"), "spec.resources.requests.storage"),
        (claim_body("d", selector={"matchLabels": 3}), "spec.selector.matchLabels"),
    ],
)
def test_what_cannot_be_read_is_named(body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        volume_decode.claim(body)

    assert field == caught.value.field


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"configMap": {"name": "x"}}, ()),
        ({"csi": {"driver": DRIVER}}, ()),
        ({"persistentVolumeClaim": {"claimName": "x"}}, (PodVolume("x"),)),
        ({"ephemeral": {}}, (PodVolume("a-0-v", ephemeral=True),)),
        (
            {"gcePersistentDisk": {"pdName": "x", "readOnly": True}},
            (PodVolume(disk=Disk(("gce x",), read_only=True)),),
        ),
        ({"awsElasticBlockStore": {"volumeID": "x"}}, (PodVolume(disk=Disk(("aws x",))),)),
        ({"iscsi": {"iqn": "x"}}, (PodVolume(disk=Disk(("iscsi x",))),)),
        (
            {"rbd": {"monitors": ["n", "m"], "image": "i"}},
            (PodVolume(disk=Disk(("rbd m rbd i", "rbd n rbd i"))),),
        ),
    ],
)
def test_a_pod_names_claims_and_disks(source: Any, expected: tuple[PodVolume, ...]) -> None:
    body = pod_body(volumes=[{"name": "v", **source}])

    assert expected == pod.pod(body).volumes
