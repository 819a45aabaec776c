"""What the Api port promises of lists, of the fake and of a real API server alike."""

import pytest

from gang_scheduler.api.kinds import NODES, POD_GROUPS, PODS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.model.refs import PodRef
from integration.support import contract_servers
from integration.support.contract_objects import UNSERVED, pod, pod_group
from integration.support.contract_servers import Server

LABEL = "example.com/of"


async def test_objects_are_listed_by_uid(server: Server) -> None:
    one, two = await pod(server, "w-0"), await pod(server, "w-1")

    found = await server.api.uids(PODS)

    assert {one.uid: one, two.uid: two} == {
        uid: ref for uid, ref in found.items() if ref.namespace == server.namespace
    }


async def test_nodes_are_listed_without_a_namespace(server: Server) -> None:
    name = f"node-of-{server.namespace}"
    made = await server.create(NODES, {"metadata": {"name": name}})

    found = await server.api.uids(NODES)

    uid = made["metadata"]["uid"]
    assert PodRef("", name, uid) == found[uid]


async def test_objects_are_counted(server: Server) -> None:
    before = await server.api.count(PODS)
    for name in ("w-0", "w-1", "w-2"):
        await pod(server, name)

    assert (3, 0) == (
        await server.api.count(PODS) - before,
        await server.api.count(contract_servers.UNUSED),
    )


async def test_a_kind_without_objects_is_an_empty_list(server: Server) -> None:
    assert {} == await server.api.uids(contract_servers.UNUSED)


async def test_a_custom_kind_without_objects_is_an_empty_list(server: Server) -> None:
    group = await pod_group(server, POD_GROUPS)
    await server.delete(POD_GROUPS, "train")

    assert group["metadata"]["uid"] not in await server.api.uids(POD_GROUPS)


async def test_the_list_of_a_kind_that_is_not_served_is_gone(server: Server) -> None:
    listings = (
        server.api.uids(UNSERVED),
        server.api.count(UNSERVED),
        server.api.names(UNSERVED, server.namespace, LABEL, "a"),
        server.api.objects(UNSERVED, server.namespace),
    )
    for listing in listings:
        with pytest.raises(ApiError) as gone:
            await listing

        assert Kind.GONE is gone.value.kind


async def test_objects_are_found_by_a_label_in_a_namespace(server: Server) -> None:
    for name, value in (("w-0", "a"), ("w-1", "b"), ("w-2", "a")):
        await pod(server, name, labels={LABEL: value})
    await pod(server, "w-3")

    found = [await server.api.names(PODS, server.namespace, LABEL, each) for each in "abc"]

    assert [["w-0", "w-2"], ["w-1"], []] == [sorted(each) for each in found]
    assert [] == await server.api.names(PODS, "another", LABEL, "a")


async def test_objects_are_listed_in_a_namespace(server: Server) -> None:
    await pod(server, "w-0", labels={LABEL: "a"})

    found = [
        each
        for each in await server.api.objects(PODS, server.namespace)
        if LABEL in (each["metadata"].get("labels") or {})
    ]

    assert ["w-0"] == [each["metadata"]["name"] for each in found]
    assert [] == await server.api.objects(PODS, "example-other")
