"""What the Api port promises of objects that it creates and deletes, of the fake and a real one."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_TEMPLATES
from gang_scheduler.client.errors import ApiError, Kind
from integration.support.contract_objects import UNSERVED
from integration.support.contract_servers import Server


def template(name: str = "t") -> dict[str, Any]:
    """Return a PodTemplate."""
    container = {"name": "main", "image": "none"}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "labels": {"a": "b"}},
        "template": {"metadata": {"labels": {"c": "d"}}, "spec": {"containers": [container]}},
    }


async def test_an_object_is_created_once(server: Server) -> None:
    made = await server.api.create(POD_TEMPLATES, server.namespace, template())

    with pytest.raises(ApiError) as again:
        await server.api.create(POD_TEMPLATES, server.namespace, template())

    found = await server.get(POD_TEMPLATES, "t")
    assert (Kind.CONFLICT, {"a": "b"}) == (again.value.kind, made["metadata"]["labels"])
    assert found["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_kind_that_is_not_served_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as error:
        await server.api.create(UNSERVED, server.namespace, template())

    assert Kind.GONE is error.value.kind


async def test_only_the_object_of_a_uid_is_deleted(server: Server) -> None:
    made = await server.api.create(POD_TEMPLATES, server.namespace, template())
    uid = made["metadata"]["uid"]

    with pytest.raises(ApiError) as another:
        await server.api.delete(POD_TEMPLATES, server.namespace, "t", "former")
    await server.api.delete(POD_TEMPLATES, server.namespace, "t", uid)
    with pytest.raises(ApiError) as twice:
        await server.api.delete(POD_TEMPLATES, server.namespace, "t", uid)

    assert (Kind.CONFLICT, Kind.GONE) == (another.value.kind, twice.value.kind)


async def test_without_a_uid_whatever_has_the_name_is_deleted(server: Server) -> None:
    await server.api.create(POD_TEMPLATES, server.namespace, template())

    await server.api.delete(POD_TEMPLATES, server.namespace, "t")

    with pytest.raises(ApiError) as gone:
        await server.api.get(POD_TEMPLATES, server.namespace, "t")
    assert Kind.GONE is gone.value.kind


async def test_an_object_with_finalizers_is_gone_with_the_last_of_them(server: Server) -> None:
    body = template()
    body["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    await server.api.create(POD_TEMPLATES, server.namespace, body)
    await server.api.delete(POD_TEMPLATES, server.namespace, "t")

    await server.api.patch(POD_TEMPLATES, server.namespace, "t", finalizers("example.com/b"))
    deleting = await server.get(POD_TEMPLATES, "t")
    await server.api.patch(POD_TEMPLATES, server.namespace, "t", finalizers())
    with pytest.raises(ApiError) as gone:
        await server.api.get(POD_TEMPLATES, server.namespace, "t")

    assert "deletionTimestamp" in deleting["metadata"]
    assert Kind.GONE is gone.value.kind


def finalizers(*names: str) -> dict[str, Any]:
    """Return a patch that leaves these."""
    return {"metadata": {"finalizers": list(names)}}
