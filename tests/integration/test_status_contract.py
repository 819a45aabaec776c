"""What the Api port promises of statuses and Events, of the fake and of a real API server alike."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import EVENTS, GVR, POD_GROUPS, PODS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.model.refs import PodRef
from integration.support.contract_objects import MARKS, UNSERVED, of, pod, pod_group
from integration.support.contract_servers import Server


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


# Conditions and status.

MARK = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


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


@pytest.mark.parametrize("left", ["Succeeded", "Failed", "leaving"])
async def test_a_condition_for_the_living_is_not_given_to_a_pod_that_leaves_or_has_ended(
    server: Server, left: str
) -> None:
    ref = await pod(server, finalizers=["example.com/wait"])
    await server.api.patch_pod_condition(ref, MARK, if_alive=True)
    if left == "leaving":
        await server.api.delete_pod(ref)
    else:
        ended = {"status": {"phase": left}}
        await server.api.patch(PODS, server.namespace, "w-0", ended, subresource="status")

    with pytest.raises(ApiError) as refused:
        await server.api.patch_pod_condition(ref, {**MARK, "status": "False"}, if_alive=True)

    assert Kind.GONE is refused.value.kind
    assert "True" == of(await server.get(PODS, "w-0"), MARK["type"])["status"]


@pytest.mark.parametrize("gvr", [POD_GROUPS, SCHED_PLUGINS_POD_GROUPS])
async def test_status_is_merged_whether_or_not_the_crd_has_the_subresource(
    server: Server, gvr: GVR
) -> None:
    await pod_group(server, gvr)

    await server.api.patch_status(gvr, server.namespace, "train", {"members": 3, "running": 1})
    await server.api.patch_status(gvr, server.namespace, "train", {"members": 4})
    await server.api.patch_status(gvr, server.namespace, "train", {"running": None})

    found = await server.get(gvr, "train")
    assert {"members": 4} == found["status"]
    assert {"minMember": 2} == found["spec"]


@pytest.mark.parametrize(
    ("gvr", "expected"), [(POD_GROUPS, True), (SCHED_PLUGINS_POD_GROUPS, False)]
)
async def test_a_status_write_says_whether_it_went_through_the_subresource(
    server: Server, gvr: GVR, *, expected: bool
) -> None:
    await pod_group(server, gvr)

    for members in (1, 2):
        found = await server.api.patch_status(gvr, server.namespace, "train", {"members": members})

        assert expected is found


@pytest.mark.parametrize(("gvr", "expected"), [(POD_GROUPS, 1), (SCHED_PLUGINS_POD_GROUPS, 2)])
async def test_without_the_subresource_a_status_write_counts_as_a_generation(
    server: Server, gvr: GVR, expected: int
) -> None:
    await pod_group(server, gvr)

    await server.api.patch_status(gvr, server.namespace, "train", {"members": 3})
    await server.api.patch_status(gvr, server.namespace, "train", {"members": 3})

    assert expected == (await server.get(gvr, "train"))["metadata"]["generation"]


@pytest.mark.parametrize("gvr", [POD_GROUPS, SCHED_PLUGINS_POD_GROUPS, UNSERVED])
async def test_the_status_of_what_is_not_there_is_gone(server: Server, gvr: GVR) -> None:
    with pytest.raises(ApiError) as gone:
        await server.api.patch_status(gvr, server.namespace, "train", {"members": 3})

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


async def test_an_event_is_raised_while_it_is_there(server: Server) -> None:
    await server.api.create_event(server.namespace, event(server))
    seen_at = "2026-01-02T04:04:05.000006Z"

    await server.api.patch_event_series(server.namespace, "train.1", 2, seen_at)
    await server.api.patch_event_series(server.namespace, "train.1", 3, seen_at)
    with pytest.raises(ApiError) as refused:
        await server.api.patch_event_series(server.namespace, "train.2", 2, seen_at)

    found = await server.get(EVENTS, "train.1")
    assert {"count": 3, "lastObservedTime": seen_at} == found["series"]
    assert Kind.GONE is refused.value.kind
