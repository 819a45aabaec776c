"""What is known of nodes that are bought, and which requests nothing wants any more."""

from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.provisioning import NodeRequest, RequestState
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.provisioning import UNWANTED_SECONDS
from gang_scheduler.state.pruning import MOST_GONE
from support.bought_nodes import CLASS, NAMESPACE, BoughtNodes
from support.builders import gang, gang_key
from support.call_counts import at_most, calls_of

KEY = gang_key("a")


def asked() -> BoughtNodes:
    """Return a cluster with a gang that nodes are asked for."""
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()
    return nodes


def unwanted(nodes: BoughtNodes, seconds: int = 0) -> list[str]:
    return [each.name for each in nodes.cache.provisioning.unwanted(nodes.now + seconds)]


def test_a_cycle_knows_the_requests_that_stand_and_how_many_there_are() -> None:
    nodes = asked()

    found = nodes.cache.provisioning.snapshot()

    assert found is not None
    assert nodes.names == [each.name for each in found.requests[KEY]]
    assert {(NONE, KEY.namespace): 1} == found.outstanding


def test_a_gang_that_runs_counts_no_more() -> None:
    nodes = asked()
    nodes.provision(nodes.names[0], "bought")
    nodes.settle()

    found = nodes.cache.provisioning.snapshot()

    assert found is not None
    assert {} == found.outstanding


def test_where_nothing_is_bought_a_cycle_knows_nothing() -> None:
    assert BoughtNodes(enabled=False).cache.provisioning.snapshot() is None
    assert BoughtNodes(served=False).cache.provisioning.snapshot() is None


def test_a_request_that_a_cycle_wants_is_kept() -> None:
    nodes = asked()

    assert [] == unwanted(nodes, UNWANTED_SECONDS * 9)


def test_after_a_restart_a_request_is_kept_until_a_cycle_was_made() -> None:
    nodes = asked()
    nodes.begin()

    assert [] == unwanted(nodes)
    nodes.settle()
    assert [] == unwanted(nodes, UNWANTED_SECONDS * 9)


def test_a_request_of_a_gang_that_waits_for_something_else_goes_after_a_while() -> None:
    nodes = asked()
    nodes.cluster.delete(PODS, NAMESPACE, "a-0")
    nodes.cycle()

    assert [] == unwanted(nodes, UNWANTED_SECONDS - 1)
    assert nodes.names == unwanted(nodes, UNWANTED_SECONDS)


def test_what_failed_is_kept_while_its_gang_waits_for_whatever() -> None:
    nodes = asked()
    nodes.answer(nodes.names[0], RequestState.FAILED)
    nodes.cluster.delete(PODS, NAMESPACE, "a-0")
    nodes.cycle()

    assert [] == unwanted(nodes, UNWANTED_SECONDS * 9)


@pytest.mark.parametrize(
    ("state", "kept"), [(RequestState.PROVISIONED, True), (RequestState.EXPIRED, False)]
)
def test_what_was_bought_for_a_gang_that_runs_is_kept_while_it_is_booked(
    state: RequestState, *, kept: bool
) -> None:
    nodes = asked()
    nodes.provision(nodes.names[0], "bought")
    nodes.cycle()
    nodes.answer(nodes.names[0], state)

    assert ([] if kept else nodes.names) == unwanted(nodes, UNWANTED_SECONDS * 9)


def test_a_new_gang_of_the_same_name_has_no_request() -> None:
    nodes = asked()
    nodes.delete_gang("a")
    nodes.gang("a", 2)
    with nodes.cluster.changing(nodes.pod_groups, NAMESPACE, "a") as found:
        found["metadata"]["annotations"] = {}
    info = nodes.cache.gang_queue.infos[KEY]
    known = nodes.cache.provisioning.requests.of(KEY)[0]

    assert info.observed.object_uid == known.gang_uid
    nodes.delete_gang("a")
    assert nodes.names == unwanted(nodes)


def test_members_are_charged_while_a_request_stands() -> None:
    nodes = BoughtNodes()
    nodes.queue("root", 9)
    nodes.queue("t", 4)
    nodes.gang("a", 2, queue="t", class_name=CLASS)
    nodes.settle()
    found = nodes.cache.provisioning.snapshot()
    assert found is not None
    assert [2000] == list(found.held[KEY].values())
    assert 0 == nodes.cache.usage_differences()

    nodes.answer(nodes.names[0], RequestState.FAILED)
    nodes.cache.queue_state(nodes.now)

    found = nodes.cache.provisioning.snapshot()
    assert found is not None
    assert {} == found.held
    assert 0 == nodes.cache.usage_differences()


def test_gangs_that_are_gone_take_no_memory() -> None:
    state = BoughtNodes().cache.provisioning
    for number in range(2 * MOST_GONE):
        made = gang(f"gone-{number}")
        state.take_in(Plan(node_requests=(NodeRequest(made, "d", None),)), number)
        state.take_in(Plan(refused=(Refused(made, Reason.UNSCHEDULABLE, ()),)), number)
        state.take_in(Plan(node_requests=(NodeRequest(gang(f"left-{number}"), "d", None),)), number)

    assert len(state._wanted) <= MOST_GONE
    assert len(state._unwanted_since) <= MOST_GONE


def test_what_is_noted_of_gangs_that_are_there_is_kept() -> None:
    nodes = asked()
    for number in range(2 * MOST_GONE):
        made = NodeRequest(gang(f"gone-{number}"), "d", None)
        nodes.cache.provisioning.take_in(Plan(node_requests=(made,)), nodes.now)

    assert [] == unwanted(nodes, UNWANTED_SECONDS * 9)
    assert KEY in nodes.cache.provisioning._wanted


def test_requests_that_a_user_forges_cost_a_look_each() -> None:
    nodes = asked()
    state = nodes.cache.provisioning
    (true,) = state.requests.of(KEY)
    for number in range(300):
        state.upsert(replace(true, name=f"forged-{number}", uid=f"forged-{number}"))

    looked = calls_of(lambda: unwanted(nodes))
    at_most(300 * 10, looked)
