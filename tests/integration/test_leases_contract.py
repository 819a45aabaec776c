"""What the Api port promises of leases, of the fake and of a real API server alike."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import LEASES
from gang_scheduler.client.errors import ApiError, Kind
from integration.support.contract_servers import Server


def lease(server: Server, holder: str = "a", **metadata: Any) -> dict[str, Any]:
    """Return a Lease as an elector writes it."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "scheduler", "namespace": server.namespace, **metadata},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-02T03:04:05.000006Z",
            "renewTime": "2026-01-02T03:04:05.000006Z",
            "leaseTransitions": 0,
        },
    }


async def test_a_lease_is_created_once(server: Server) -> None:
    created = await server.api.put_lease(server.namespace, "scheduler", lease(server))

    with pytest.raises(ApiError) as refused:
        await server.api.put_lease(server.namespace, "scheduler", lease(server, "b"))

    assert 409 == refused.value.status
    assert created == await server.api.get_lease(server.namespace, "scheduler")
    assert lease(server)["spec"] == created["spec"]


async def test_a_lease_is_replaced_at_its_version_only(server: Server) -> None:
    first = await server.api.put_lease(server.namespace, "scheduler", lease(server, "a"))
    seen = first["metadata"]["resourceVersion"]

    second = await server.api.put_lease(
        server.namespace, "scheduler", {**first, "spec": {**first["spec"], "holderIdentity": "b"}}
    )
    with pytest.raises(ApiError) as refused:
        await server.api.put_lease(
            server.namespace, "scheduler", lease(server, "c", resourceVersion=seen)
        )

    assert 409 == refused.value.status
    assert seen != second["metadata"]["resourceVersion"]
    assert second == await server.api.get_lease(server.namespace, "scheduler")


async def test_a_lease_can_be_held_by_no_replica(server: Server) -> None:
    first = await server.api.put_lease(server.namespace, "scheduler", lease(server, "a"))
    spec = {**first["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}

    await server.api.put_lease(server.namespace, "scheduler", {**first, "spec": spec})

    assert spec == (await server.get(LEASES, "scheduler"))["spec"]


async def test_a_lease_that_is_not_there_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as gone:
        await server.api.get_lease(server.namespace, "scheduler")

    assert Kind.GONE is gone.value.kind


async def test_a_lease_deleted_meanwhile_is_not_created_anew_by_a_replacement(
    server: Server,
) -> None:
    first = await server.api.put_lease(server.namespace, "scheduler", lease(server))
    await server.delete(LEASES, "scheduler")

    with pytest.raises(ApiError) as refused:
        await server.api.put_lease(server.namespace, "scheduler", first)

    assert refused.value.kind in (Kind.GONE, Kind.CONFLICT)
