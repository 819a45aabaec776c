"""What the Api port promises of bindings, of the fake and of a real API server alike."""

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.model.refs import PodRef
from integration.support.contract_objects import MARKS, of, pod
from integration.support.contract_servers import Server

# Binding.


async def test_a_bound_pod_has_its_node_the_annotations_and_the_condition(server: Server) -> None:
    ref = await pod(server, annotations={"example.com/own": "kept"})

    await server.api.bind(ref, "n1", MARKS)

    found = await server.get(PODS, "w-0")
    assert "n1" == found["spec"]["nodeName"]
    assert {"example.com/own": "kept", **MARKS} == found["metadata"]["annotations"]
    assert "True" == of(found, "PodScheduled")["status"]
    assert "n1" == await server.api.bound_node(ref)


async def test_binding_clears_the_reason_why_the_pod_was_waiting(server: Server) -> None:
    ref = await pod(server)
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await server.api.patch_pod_condition(ref, waiting)

    await server.api.bind(ref, "n1", MARKS)

    assert "reason" not in of(await server.get(PODS, "w-0"), "PodScheduled")


@pytest.mark.parametrize("node", ["n1", "n2"])
async def test_binding_clears_the_nomination_to_whichever_node(server: Server, node: str) -> None:
    ref = await pod(server)
    await server.api.nominate(ref, "n1")

    await server.api.bind(ref, node, MARKS)

    assert not (await server.get(PODS, "w-0"))["status"].get("nominatedNodeName")


@pytest.mark.parametrize("again", ["n1", "n2"])
async def test_a_second_binding_conflicts_even_to_the_same_node(server: Server, again: str) -> None:
    ref = await pod(server)
    await server.api.bind(ref, "n1", MARKS)

    with pytest.raises(ApiError) as refused:
        await server.api.bind(ref, again, {"example.com/plan": "p2"})

    assert Kind.CONFLICT is refused.value.kind
    assert "n1" == await server.api.bound_node(ref)
    assert MARKS == (await server.get(PODS, "w-0"))["metadata"]["annotations"]


async def test_a_pod_of_the_same_name_but_another_uid_is_not_bound(server: Server) -> None:
    ref = await pod(server)

    with pytest.raises(ApiError) as refused:
        await server.api.bind(ref._replace(uid="former"), "n1", MARKS)

    assert 409 == refused.value.status
    assert "" == await server.api.bound_node(ref)


async def test_a_pod_that_is_not_there_cannot_be_bound(server: Server) -> None:
    with pytest.raises(ApiError) as refused:
        await server.api.bind(PodRef(server.namespace, "w-0", "u1"), "n1", MARKS)

    assert Kind.GONE is refused.value.kind


async def test_a_pod_that_is_being_deleted_is_not_bound(server: Server) -> None:
    ref = await pod(server, finalizers=["example.com/wait"])
    await server.delete(PODS, "w-0")

    with pytest.raises(ApiError) as refused:
        await server.api.bind(ref, "n1", MARKS)

    assert 409 == refused.value.status
    assert "" == await server.api.bound_node(ref)


async def test_a_gated_pod_is_not_bound(server: Server) -> None:
    made = await server.create(
        PODS,
        {
            "metadata": {"name": "w-0", "namespace": server.namespace},
            "spec": {
                "schedulingGates": [{"name": "example.com/gate"}],
                "containers": [{"name": "c", "image": "example.com/none"}],
            },
        },
    )
    ref = PodRef(server.namespace, "w-0", made["metadata"]["uid"])

    with pytest.raises(ApiError) as refused:
        await server.api.bind(ref, "n1", MARKS)

    assert 409 == refused.value.status


# Reading back.


async def test_the_node_of_a_deleted_pod_is_gone(server: Server) -> None:
    ref = await pod(server)
    await server.delete(PODS, "w-0")

    with pytest.raises(ApiError) as gone:
        await server.api.bound_node(ref)

    assert Kind.GONE is gone.value.kind


async def test_the_node_of_a_pod_of_another_uid_is_gone(server: Server) -> None:
    ref = await pod(server)

    with pytest.raises(ApiError) as gone:
        await server.api.bound_node(ref._replace(uid="former"))

    assert Kind.GONE is gone.value.kind
