"""What the Api port promises, of the fake and of a real API server alike."""

from typing import Any

import pytest

from cluster import servers
from cluster.servers import Server
from gang_scheduler.cluster.errors import ApiError, Kind
from gang_scheduler.cluster.fake.cluster import EVENTS, LEASES
from gang_scheduler.cluster.ports import (
    NODES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    SCHED_PLUGINS_POD_GROUPS,
    PodRef,
    Resource,
)

UNSERVED = Resource("example.com", "v1", "nothings")
MARKS = {"example.com/plan": "p1"}


async def pod(server: Server, name: str = "w-0", **metadata: Any) -> PodRef:
    """Create a pod that waits for a scheduler."""
    made = await server.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": server.namespace, **metadata},
            "spec": {
                "schedulerName": "nobody",
                "containers": [{"name": "c", "image": "example.com/none"}],
            },
        },
    )
    return PodRef(server.namespace, name, made["metadata"]["uid"])


async def pod_group(server: Server, resource: Resource) -> dict[str, Any]:
    """Create a PodGroup of one of the two API groups."""
    return await server.create(
        resource,
        {
            "apiVersion": f"{resource.group}/{resource.version}",
            "kind": "PodGroup",
            "metadata": {"name": "train", "namespace": server.namespace},
            "spec": {"minMember": 2},
        },
    )


def event(server: Server, name: str = "train.1") -> dict[str, Any]:
    """Return an Event with everything that the API server wants to see."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": server.namespace},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "py-gang-scheduler",
        "reportingInstance": "py-gang-scheduler-0",
        "action": "Scheduling",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "3 members were bound",
        "regarding": {"kind": "Pod", "name": "w-0", "namespace": server.namespace},
    }


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


def of(document: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return one condition."""
    conditions = document["status"]["conditions"]
    return next(each for each in conditions if each["type"] == kind)


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


# Conditions and status.


async def test_a_pod_condition_is_added_beside_the_others_and_then_replaced(server: Server) -> None:
    ref = await pod(server)
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}

    await server.api.patch_pod_condition(ref, {"type": "example.com/A", "status": "True"})
    await server.api.patch_pod_condition(ref, {**waiting, "message": "first"})
    await server.api.patch_pod_condition(ref, {**waiting, "message": "second"})

    found = await server.get(PODS, "w-0")
    assert "True" == of(found, "example.com/A")["status"]
    assert "second" == of(found, "PodScheduled")["message"]
    assert 2 == len(found["status"]["conditions"])


async def test_a_condition_is_not_given_to_another_pod_of_the_same_name(server: Server) -> None:
    ref = await pod(server)

    with pytest.raises(ApiError) as refused:
        await server.api.patch_pod_condition(
            ref._replace(uid="former"), {"type": "PodScheduled", "status": "False"}
        )

    # To the API server this is an attempt to change an immutable field.
    assert 422 == refused.value.status
    status = (await server.get(PODS, "w-0")).get("status", {})
    assert [] == status.get("conditions", [])


async def test_a_condition_of_a_pod_that_is_not_there_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as refused:
        await server.api.patch_pod_condition(
            PodRef(server.namespace, "w-0", "u1"), {"type": "PodScheduled", "status": "False"}
        )

    assert Kind.GONE is refused.value.kind


@pytest.mark.parametrize("resource", [POD_GROUPS, SCHED_PLUGINS_POD_GROUPS])
async def test_status_is_merged_whether_or_not_the_crd_has_the_subresource(
    server: Server, resource: Resource
) -> None:
    await pod_group(server, resource)

    await server.api.patch_status(resource, server.namespace, "train", {"members": 3, "running": 1})
    await server.api.patch_status(resource, server.namespace, "train", {"members": 4})
    await server.api.patch_status(resource, server.namespace, "train", {"running": None})

    found = await server.get(resource, "train")
    assert {"members": 4} == found["status"]
    assert {"minMember": 2} == found["spec"]


@pytest.mark.parametrize(
    ("resource", "expected"), [(POD_GROUPS, True), (SCHED_PLUGINS_POD_GROUPS, False)]
)
async def test_a_status_write_says_whether_it_went_through_the_subresource(
    server: Server, resource: Resource, *, expected: bool
) -> None:
    await pod_group(server, resource)

    for members in (1, 2):
        found = await server.api.patch_status(
            resource, server.namespace, "train", {"members": members}
        )

        assert expected is found


@pytest.mark.parametrize(("resource", "expected"), [(POD_GROUPS, 1), (SCHED_PLUGINS_POD_GROUPS, 2)])
async def test_without_the_subresource_a_status_write_counts_as_a_generation(
    server: Server, resource: Resource, expected: int
) -> None:
    await pod_group(server, resource)

    await server.api.patch_status(resource, server.namespace, "train", {"members": 3})
    await server.api.patch_status(resource, server.namespace, "train", {"members": 3})

    assert expected == (await server.get(resource, "train"))["metadata"]["generation"]


@pytest.mark.parametrize("resource", [POD_GROUPS, SCHED_PLUGINS_POD_GROUPS, UNSERVED])
async def test_the_status_of_what_is_not_there_is_gone(server: Server, resource: Resource) -> None:
    with pytest.raises(ApiError) as gone:
        await server.api.patch_status(resource, server.namespace, "train", {"members": 3})

    assert Kind.GONE is gone.value.kind


# Nominations.


async def nominated(server: Server) -> str:
    """Return the node that room is made on for the pod."""
    status: dict[str, str] = (await server.get(PODS, "w-0")).get("status", {})
    return status.get("nominatedNodeName", "")


async def test_a_nominated_node_is_set_and_replaced_and_cleared(server: Server) -> None:
    ref = await pod(server)
    await server.api.patch_pod_condition(ref, {"type": "example.com/A", "status": "True"})

    seen = []
    for node in ("n1", "n2", "", ""):
        await server.api.nominate(ref, node)
        seen.append(await nominated(server))

    assert ["n1", "n2", "", ""] == seen
    assert "True" == of(await server.get(PODS, "w-0"), "example.com/A")["status"]


@pytest.mark.parametrize("node", ["n2", ""])
async def test_another_pod_of_the_same_name_is_not_nominated(server: Server, node: str) -> None:
    ref = await pod(server)
    await server.api.nominate(ref, "n1")

    with pytest.raises(ApiError) as refused:
        await server.api.nominate(ref._replace(uid="former"), node)

    # To the API server this is an attempt to change an immutable field.
    assert 422 == refused.value.status
    assert "n1" == await nominated(server)


async def test_nominating_a_pod_that_is_not_there_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as refused:
        await server.api.nominate(PodRef(server.namespace, "w-0", "u1"), "n1")

    assert Kind.GONE is refused.value.kind


async def test_a_bound_pod_stays_where_it_is_when_its_nomination_ends(server: Server) -> None:
    ref = await pod(server)
    await server.api.bind(ref, "n1", MARKS)

    await server.api.nominate(ref, "")

    assert "n1" == await server.api.bound_node(ref)


# Events.


async def test_an_event_is_created_once(server: Server) -> None:
    await server.api.create_event(server.namespace, event(server))

    with pytest.raises(ApiError) as refused:
        await server.api.create_event(server.namespace, event(server))

    assert Kind.CONFLICT is refused.value.kind
    assert "3 members were bound" == (await server.get(EVENTS, "train.1"))["note"]


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


# Eviction.


async def running_pod(server: Server) -> PodRef:
    """Create a pod that a budget can protect: one that is running."""
    ref = await pod(server, labels={"app": "w"})
    await server.api.bind(ref, "n1", MARKS)
    await server.api.patch_status(PODS, ref.namespace, ref.name, {"phase": "Running"})
    return ref


async def budget(server: Server) -> None:
    """Create a PodDisruptionBudget that allows nothing as long as nobody has counted."""
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


# Lists.


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


async def test_a_kind_without_objects_is_an_empty_list(server: Server) -> None:
    assert {} == await server.api.uids(servers.UNUSED)


async def test_a_custom_kind_without_objects_is_an_empty_list(server: Server) -> None:
    group = await pod_group(server, POD_GROUPS)
    await server.delete(POD_GROUPS, "train")

    assert group["metadata"]["uid"] not in await server.api.uids(POD_GROUPS)


async def test_the_list_of_a_kind_that_is_not_served_is_gone(server: Server) -> None:
    with pytest.raises(ApiError) as gone:
        await server.api.uids(UNSERVED)

    assert Kind.GONE is gone.value.kind


# Leases.


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


async def test_a_lease_can_be_held_by_nobody(server: Server) -> None:
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
