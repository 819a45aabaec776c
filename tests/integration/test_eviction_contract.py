"""What the Api port promises of evictions, for the fake and for a real API server."""

import pytest

from gang_scheduler.api.kinds import POD_DISRUPTION_BUDGETS, PODS
from gang_scheduler.apply import disruption_target
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.refs import PodRef
from integration.support.contract_objects import MARKS, pod
from integration.support.contract_servers import Server

# Deletion.


async def test_a_pod_is_deleted(server: Server) -> None:
    ref = await pod(server, "w-0")

    await server.api.delete_pod(ref)

    with pytest.raises(ApiError) as gone:
        await server.api.bound_node(ref)
    assert Kind.GONE is gone.value.kind


async def test_another_pod_of_the_same_name_is_not_deleted(server: Server) -> None:
    ref = await pod(server, "w-0")

    with pytest.raises(ApiError) as refused:
        await server.api.delete_pod(ref._replace(uid="another"))

    assert 409 == refused.value.status
    assert "" == await server.api.bound_node(ref)


async def test_deleting_a_pod_that_is_not_there_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as refused:
        await server.api.delete_pod(PodRef(server.namespace, "w-0", "u1"))

    assert Kind.GONE is refused.value.kind


# Deletion by force.


async def test_a_pod_is_deleted_by_force(server: Server) -> None:
    ref = await pod(server, "w-0")

    await server.api.delete_pod(ref, grace_seconds=0)

    with pytest.raises(ApiError) as gone:
        await server.api.bound_node(ref)
    assert Kind.GONE is gone.value.kind


async def test_another_pod_of_the_same_name_is_not_deleted_by_force(server: Server) -> None:
    ref = await pod(server, "w-0")

    with pytest.raises(ApiError) as refused:
        await server.api.delete_pod(ref._replace(uid="another"), grace_seconds=0)

    assert 409 == refused.value.status
    assert "" == await server.api.bound_node(ref)


async def test_a_pod_is_said_to_have_failed(server: Server) -> None:
    ref = await pod(server, "w-0")

    await server.api.fail_pod(ref, disruption_target.stuck("n1", 0))

    status = (await server.api.get(PODS, ref.namespace, ref.name))["status"]
    (found,) = [each for each in status["conditions"] if each["type"] == "DisruptionTarget"]
    assert ("Failed", "True", "NodeFailed") == (status["phase"], found["status"], found["reason"])


async def test_another_pod_of_the_same_name_is_not_said_to_have_failed(server: Server) -> None:
    ref = await pod(server, "w-0")

    with pytest.raises(ApiError):
        await server.api.fail_pod(ref._replace(uid="another"), disruption_target.stuck("n1", 0))

    status = (await server.api.get(PODS, ref.namespace, ref.name)).get("status", {})
    assert "Failed" != status.get("phase")


# Eviction.


async def running_pod(server: Server) -> PodRef:
    """Create a pod that a budget can protect: one that is running."""
    ref = await pod(server, labels={"app": "w"})
    await server.api.bind(ref, "n1", MARKS)
    await server.api.patch_status(PODS, ref.namespace, ref.name, {"phase": "Running"})
    return ref


async def budget(server: Server) -> None:
    """Create a PodDisruptionBudget that allows no eviction before its controller has counted."""
    await server.create(
        POD_DISRUPTION_BUDGETS,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": server.namespace},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "w"}}},
        },
    )


async def test_a_pod_is_evicted(server: Server) -> None:
    ref = await pod(server)

    await server.api.evict(ref)

    with pytest.raises(ApiError) as gone:
        await server.api.bound_node(ref)
    assert Kind.GONE is gone.value.kind


async def test_asking_for_an_eviction_changes_nothing(server: Server) -> None:
    ref = await pod(server)

    await server.api.evict(ref, dry_run=True)

    assert "" == await server.api.bound_node(ref)
    assert "deletionTimestamp" not in (await server.get(PODS, "w-0"))["metadata"]


@pytest.mark.parametrize("dry_run", [True, False])
async def test_what_a_budget_protects_is_not_evicted(server: Server, *, dry_run: bool) -> None:
    ref = await running_pod(server)
    await budget(server)

    with pytest.raises(ApiError) as refused:
        await server.api.evict(ref, dry_run=dry_run)

    assert Kind.PROTECTED is refused.value.kind
    assert "deletionTimestamp" not in (await server.get(PODS, "w-0"))["metadata"]


@pytest.mark.parametrize("dry_run", [True, False])
async def test_another_pod_of_the_same_name_is_not_evicted(
    server: Server, *, dry_run: bool
) -> None:
    ref = await pod(server)

    with pytest.raises(ApiError) as refused:
        await server.api.evict(ref._replace(uid="former"), dry_run=dry_run)

    assert Kind.CONFLICT is refused.value.kind
    assert "" == await server.api.bound_node(ref)


@pytest.mark.parametrize("dry_run", [True, False])
async def test_evicting_a_pod_that_is_not_there_is_gone(server: Server, *, dry_run: bool) -> None:
    with pytest.raises(ApiError) as refused:
        await server.api.evict(PodRef(server.namespace, "w-0", "u1"), dry_run=dry_run)

    assert Kind.GONE is refused.value.kind


# A longer grace period.


@pytest.mark.parametrize("way", ["delete_pod", "evict"])
async def test_a_running_pod_gets_the_grace_period_that_is_asked_for(
    server: Server, way: str
) -> None:
    ref = await running_pod(server)

    await getattr(server.api, way)(ref, grace_seconds=120)

    if isinstance(server.api, FakeApi):
        assert 120 == server.api.calls[-1].arguments["grace_seconds"]
    else:
        assert 120 == (await server.get(PODS, ref.name))["metadata"]["deletionGracePeriodSeconds"]


# Annotations.


async def test_annotations_are_set_and_removed_and_others_stay(server: Server) -> None:
    ref = await pod(server, annotations={"a": "1", "b": "2"})

    await server.api.annotate_pod(ref, {"b": None, "c": "3", "d": None})

    assert {"a": "1", "c": "3"} == (await server.get(PODS, "w-0"))["metadata"]["annotations"]


async def test_another_pod_of_the_same_name_is_not_annotated(server: Server) -> None:
    ref = await pod(server)

    with pytest.raises(ApiError) as refused:
        await server.api.annotate_pod(ref._replace(uid="former"), {"a": "1"})

    assert (422, Kind.REFUSED) == (refused.value.status, refused.value.kind)
    assert not (await server.get(PODS, "w-0"))["metadata"].get("annotations")


async def test_annotating_a_pod_that_is_not_there_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as refused:
        await server.api.annotate_pod(PodRef(server.namespace, "w-0", "u1"), {"a": "1"})

    assert Kind.GONE is refused.value.kind
