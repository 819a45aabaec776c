"""What the Api port promises of claims and volumes, of the fake and of a real API server alike."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import SELECTED_NODE
from gang_scheduler.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.patches import BOUND_BY_CONTROLLER, version_of
from gang_scheduler.model.refs import ClaimRef, VolumeRef
from integration.support.contract_servers import Server

STORAGE = {"storage": "1Gi"}
ACCESS = ["ReadWriteOnce"]


async def claim(server: Server, name: str = "data-0", **more: Any) -> ClaimRef:
    """Create a claim that waits for its first consumer."""
    metadata = {"name": name, "namespace": server.namespace}
    metadata |= more.pop("metadata", {})
    spec = {"accessModes": ACCESS, "resources": {"requests": STORAGE}, "storageClassName": "fast"}
    made = await server.create(
        PERSISTENT_VOLUME_CLAIMS,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {**spec, **more},
        },
    )
    return ClaimRef(server.namespace, name, made["metadata"]["uid"])


async def volume(server: Server, **spec: Any) -> VolumeRef:
    """Create a prepared volume. Its name has the namespace of the test, since it is in none."""
    name = f"disk-of-{server.namespace}"
    source = {"hostPath": {"path": "/disks/0"}}
    made = await server.create(
        PERSISTENT_VOLUMES,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": STORAGE,
                "accessModes": ACCESS,
                "storageClassName": "fast",
                **source,
                **spec,
            },
        },
    )
    return VolumeRef(name, made["metadata"]["uid"])


async def claim_now(server: Server) -> dict[str, Any]:
    return await server.get(PERSISTENT_VOLUME_CLAIMS, "data-0")


async def volume_now(server: Server, ref: VolumeRef) -> dict[str, Any]:
    return await server.get(PERSISTENT_VOLUMES, ref.name)


# A node for a claim.


async def test_the_selected_node_is_written_to_a_claim_and_its_annotations_stay(
    server: Server,
) -> None:
    ref = await claim(server, metadata={"annotations": {"example.com/own": "kept"}})

    version = await server.api.select_node(ref, "n1")

    found = await claim_now(server)
    assert {"example.com/own": "kept", SELECTED_NODE: "n1"} == found["metadata"]["annotations"]
    assert version == version_of(found)


async def test_telling_it_again_changes_nothing(server: Server) -> None:
    ref = await claim(server)

    version = await server.api.select_node(ref, "n1")

    assert version == await server.api.select_node(ref, "n1")


async def test_a_claim_is_not_torn_from_the_node_that_was_selected(server: Server) -> None:
    ref = await claim(server, metadata={"annotations": {SELECTED_NODE: "n2"}})

    with pytest.raises(ApiError, match="node n2 was selected") as refused:
        await server.api.select_node(ref, "n1")

    assert Kind.REFUSED is refused.value.kind
    assert {SELECTED_NODE: "n2"} == (await claim_now(server))["metadata"]["annotations"]


async def test_a_claim_that_has_a_volume_is_left_alone(server: Server) -> None:
    ref = await claim(server, volumeName="disk-7")

    version = await server.api.select_node(ref, "n1")

    found = await claim_now(server)
    assert SELECTED_NODE not in found["metadata"].get("annotations", {})
    assert version == version_of(found)


async def test_a_claim_of_the_same_name_but_another_uid_is_gone(server: Server) -> None:
    ref = await claim(server)

    with pytest.raises(ApiError) as gone:
        await server.api.select_node(ref._replace(uid="former"), "n1")

    assert Kind.GONE is gone.value.kind
    assert SELECTED_NODE not in (await claim_now(server))["metadata"].get("annotations", {})


async def test_a_claim_that_is_not_there_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as gone:
        await server.api.select_node(ClaimRef(server.namespace, "data-0", "u1"), "n1")

    assert Kind.GONE is gone.value.kind


# A volume for a claim.


async def test_a_volume_is_given_to_a_claim_so_that_the_controller_may_take_it_back(
    server: Server,
) -> None:
    disk, ref = await volume(server), await claim(server)

    version = await server.api.reserve(disk, ref)

    found = await volume_now(server, disk)
    assert {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **ref._asdict(),
    } == found["spec"]["claimRef"]
    assert "yes" == found["metadata"]["annotations"][BOUND_BY_CONTROLLER]
    assert version == version_of(found)


async def test_giving_it_again_changes_nothing(server: Server) -> None:
    disk, ref = await volume(server), await claim(server)

    version = await server.api.reserve(disk, ref)

    assert version == await server.api.reserve(disk, ref)


async def test_what_its_owner_has_reserved_for_a_claim_stays_the_owners(server: Server) -> None:
    ref = await claim(server)
    disk = await volume(server, claimRef={"namespace": server.namespace, "name": "data-0"})

    await server.api.reserve(disk, ref)

    found = await volume_now(server, disk)
    assert ref.uid == found["spec"]["claimRef"]["uid"]
    assert BOUND_BY_CONTROLLER not in found["metadata"].get("annotations", {})


@pytest.mark.parametrize("owner", [{"name": "data-9"}, {"name": "data-0", "uid": "former"}])
async def test_a_volume_of_another_claim_is_refused(server: Server, owner: dict[str, str]) -> None:
    ref = await claim(server)
    disk = await volume(server, claimRef={"namespace": server.namespace, **owner})
    before = await volume_now(server, disk)

    with pytest.raises(ApiError, match="is for claim") as refused:
        await server.api.reserve(disk, ref)

    assert Kind.REFUSED is refused.value.kind
    assert before == await volume_now(server, disk)


async def test_a_volume_of_the_same_name_but_another_uid_is_gone(server: Server) -> None:
    disk, ref = await volume(server), await claim(server)

    with pytest.raises(ApiError) as gone:
        await server.api.reserve(disk._replace(uid="former"), ref)

    assert Kind.GONE is gone.value.kind
    assert "claimRef" not in (await volume_now(server, disk))["spec"]
