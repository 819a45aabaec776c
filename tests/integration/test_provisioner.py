"""Requests for nodes, from the cycle that decides on them to what the API server has of them."""

from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import JOBS, POD_TEMPLATES, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.model.queues import Retry
from gang_scheduler.report.words.messages import describe
from support import suspended_jobs
from support.bought_nodes import CLASS, NAMESPACE, REQUESTS, BoughtNodes, Killed

WAITS, NO_ROOM = "WaitingForProvisioning", "Unschedulable"


def message(nodes: BoughtNodes, gang: str) -> str:
    """Return why a gang waits, as people read it."""
    infos = {key.name: info for key, info in nodes.cache.gang_queue.infos.items()}
    refusal = infos[gang].verdict.refusal
    assert refusal is not None
    return describe(refusal)


def test_a_gang_without_room_asks_once_and_starts_on_what_was_bought() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2, cpu=2)

    nodes.settle()
    (request,) = nodes.requests
    assert WAITS == nodes.reason("a")
    assert (CLASS, 2) == (
        request["spec"]["provisioningClassName"],
        request["spec"]["podSets"][0]["count"],
    )
    (owner,) = request["metadata"]["ownerReferences"]
    assert ("PodGroup", "a", "uid-a") == (owner["kind"], owner["name"], owner["uid"])

    nodes.provision(nodes.names[0], "bought")
    nodes.settle()

    assert (2, 1) == (nodes.bound("a"), len(nodes.created))


def test_a_template_is_the_pod_without_what_only_pods_have() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 1)
    with nodes.cluster.changing(PODS, NAMESPACE, "a-0") as found:
        found["spec"] |= {"ephemeralContainers": [{}], "nodeSelector": {"zone": "z"}}

    nodes.settle()

    (template,) = nodes.templates
    spec = template["template"]["spec"]
    assert {"schedulerName", "containers", "nodeSelector"} == spec.keys()
    assert {"zone": "z"} == spec["nodeSelector"]


def test_members_of_two_classes_are_two_pod_sets() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 3)
    nodes.member("a", 2, cpu=3, life=1)

    nodes.settle()

    (request,) = nodes.requests
    counts = sorted(each["count"] for each in request["spec"]["podSets"])
    asked = {e["podTemplateRef"]["name"] for e in request["spec"]["podSets"]}
    assert ([1, 2], asked) == (counts, {each["metadata"]["name"] for each in nodes.templates})


def test_room_that_comes_first_is_taken_and_the_request_deleted() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()

    nodes.node("found")
    nodes.settle()

    assert (2, [], []) == (nodes.bound("a"), nodes.names, nodes.templates)


def test_what_fails_is_asked_again_after_longer_and_longer_and_then_given_up() -> None:
    nodes = BoughtNodes(retry=Retry(2, 60))
    nodes.gang("a", 2)
    nodes.settle()
    pauses = []

    for _ in range(3):
        assert WAITS == nodes.reason("a")
        before = len(nodes.created)
        nodes.answer(nodes.names[-1], RequestState.FAILED, "out of stock")
        failed_at = nodes.now
        while len(nodes.created) == before and nodes.now < failed_at + 1000:
            nodes.step(10)
        pauses.append(nodes.now - failed_at)

    assert ([60, 120, 1000], 3) == (pauses, len(nodes.created))
    assert NO_ROOM == nodes.reason("a")
    assert "nodes were asked for 3 times, the last time: failed: out of stock" in message(
        nodes, "a"
    )


def test_only_the_last_attempt_is_kept() -> None:
    nodes = BoughtNodes(retry=Retry(3, 1))
    nodes.gang("a", 2)
    nodes.settle()

    for _ in range(3):
        nodes.answer(nodes.names[-1], RequestState.FAILED)
        nodes.settle(30)

    assert (4, 1) == (len(nodes.created), len(nodes.names))
    assert nodes.names[0].endswith("-4")


@pytest.mark.parametrize("state", [RequestState.REVOKED, RequestState.EXPIRED])
def test_nodes_that_went_before_the_gang_started_are_asked_for_again(state: RequestState) -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()
    nodes.answer(nodes.names[0], RequestState.PROVISIONED)
    nodes.settle()

    nodes.answer(nodes.names[0], state, "gone")
    nodes.settle()
    assert "asked again at" in message(nodes, "a")
    nodes.settle(60)

    assert 2 == len(nodes.created)


def test_a_gang_that_is_gone_leaves_no_request() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()

    nodes.delete_gang("a")
    nodes.step()

    assert ([], []) == (nodes.names, nodes.templates)


def test_a_gang_that_asks_for_more_asks_anew_once_the_first_request_is_gone() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()
    first = nodes.names

    nodes.member("a", 0, cpu=3, life=1)
    nodes.settle()

    assert (2, 1) == (len(nodes.created), len(nodes.names))
    assert first != nodes.names


def test_a_gang_that_names_another_class_asks_anew() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()

    nodes.gang("a", 2, class_name="other")
    nodes.settle()

    (request,) = nodes.requests
    assert "other" == request["spec"]["provisioningClassName"]


def test_a_member_that_is_created_again_buys_nothing_more() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()

    nodes.cluster.delete(PODS, NAMESPACE, "a-1")
    nodes.settle(5)
    nodes.member("a", 1, life=1)
    nodes.settle(30)

    assert (1, 1, WAITS) == (len(nodes.created), len(nodes.names), nodes.reason("a"))


def test_a_gang_that_stays_incomplete_needs_no_nodes() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()

    nodes.cluster.delete(PODS, NAMESPACE, "a-1")
    nodes.settle(5)
    nodes.settle(11)

    assert ([], "WaitingForMembers") == (nodes.names, nodes.reason("a"))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("writes", range(3))
def test_a_process_that_ends_at_any_write_is_followed_without_a_second_request(
    writes: int, *, after: bool
) -> None:
    nodes = BoughtNodes(kill_after=after)
    nodes.gang("a", 3)
    nodes.member("a", 2, cpu=3, life=1)
    nodes.kill_at = writes
    with pytest.raises(Killed):
        nodes.settle()
    nodes.kill_at = None
    nodes.begin()
    nodes.settle()

    assert (1, 2) == (len(nodes.created), len(nodes.templates))
    nodes.provision(nodes.names[0], "bought", cpu=8)
    nodes.settle()
    assert (3, 1) == (nodes.bound("a"), len(nodes.created))


def test_an_answer_that_is_lost_makes_no_second_request() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    name: list[object] = []

    def lost(call: object) -> Fault | None:
        is_request = getattr(call, "method", "") == "create" and (
            getattr(call, "arguments", {}).get("resource") == REQUESTS
        )
        if is_request and not name:
            name.append(call)
            return Fault(ApiError(0, "lost"), after=True)
        return None

    nodes.api.scripts.append(lost)
    nodes.cycle()
    nodes.lag = []
    nodes.write()
    nodes.settle(5)

    assert (1, WAITS) == (len(nodes.names), nodes.reason("a"))
    nodes.catch_up()
    assert 1 == len(name) == len(nodes.created)


def test_a_request_that_is_refused_counts_as_one_that_failed() -> None:
    nodes = BoughtNodes(retry=Retry(1, 60))
    nodes.gang("a", 2)
    refusal = Fault(ApiError(422, "may not create"))
    nodes.api.fail("create", refusal, refusal)

    nodes.settle()
    assert "may not create; asked again" in message(nodes, "a")
    nodes.settle(60)

    assert ([], NO_ROOM) == (nodes.names, nodes.reason("a"))


def test_at_most_ten_requests_of_a_queue_stand() -> None:
    nodes = BoughtNodes()
    nodes.queue("root", 1000)
    nodes.queue("team", 500)
    nodes.queue("other", 500)
    for number in range(12):
        nodes.gang(f"a{number}", 2, queue="team", created_at=nodes.now + number)
    nodes.gang("b", 2, queue="other")

    nodes.settle()
    assert (11, WAITS) == (len(nodes.names), nodes.reason("a11"))
    assert "10 ProvisioningRequests of queue team are pending" in message(nodes, "a11")

    nodes.delete_gang("a0")
    nodes.settle()
    assert 12 == len(nodes.created)


def test_a_gang_beyond_its_quota_asks_for_nothing() -> None:
    nodes = BoughtNodes()
    nodes.queue("root", 100)
    nodes.queue("team", 4, provisioningClass=CLASS)
    for number in range(3):
        nodes.gang(f"a{number}", 2, class_name="", queue="team", created_at=nodes.now + number)

    nodes.settle()

    assert [WAITS, WAITS, "WaitingForQuota"] == [nodes.reason(f"a{n}") for n in range(3)]
    assert 2 == len(nodes.names)
    used = nodes.cache.queue_state(nodes.now)
    assert used is not None
    charged = {ref.name: sum(each.values()) for ref, each in used.usage.charged.items()}
    assert {"team": 4000} == charged


def test_quota_is_given_back_when_a_request_fails() -> None:
    nodes = BoughtNodes()
    nodes.queue("root", 100)
    nodes.queue("team", 2, provisioningClass=CLASS)
    nodes.gang("a", 2, class_name="", queue="team")
    nodes.gang("b", 2, class_name="", queue="team", created_at=nodes.now + 1)
    nodes.settle()
    assert [WAITS, "WaitingForQuota"] == [nodes.reason("a"), nodes.reason("b")]

    nodes.answer(nodes.names[0], RequestState.FAILED)
    nodes.settle()

    assert (WAITS, 2) == (nodes.reason("b"), len(nodes.created))


def test_nothing_is_different_without_the_kind_and_it_may_come_later() -> None:
    nodes = BoughtNodes(served=False)
    nodes.gang("a", 2)
    nodes.settle()
    assert ([], NO_ROOM) == (nodes.names, nodes.reason("a"))

    nodes.served = True
    nodes.write()
    nodes.settle()

    assert (1, WAITS) == (len(nodes.names), nodes.reason("a"))


def test_nothing_is_different_without_the_setting() -> None:
    nodes = BoughtNodes(enabled=False)
    nodes.gang("a", 2)
    nodes.settle()

    assert ([], NO_ROOM) == (nodes.names, nodes.reason("a"))
    assert not [call for call in nodes.api.calls if call.method in ("create", "delete")]


def test_a_request_that_an_admin_deletes_is_made_again() -> None:
    nodes = BoughtNodes(retry=Retry(0, 60))
    nodes.gang("a", 2)
    nodes.settle()
    nodes.answer(nodes.names[0], RequestState.FAILED)
    nodes.settle()
    assert NO_ROOM == nodes.reason("a")

    nodes.cluster.delete(REQUESTS, NAMESPACE, nodes.names[0])
    nodes.settle(120)

    assert (1, WAITS) == (len(nodes.names), nodes.reason("a"))


def test_what_was_bought_is_kept_until_its_booking_expires() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()
    nodes.provision(nodes.names[0], "bought")
    nodes.settle(20)
    assert 1 == len(nodes.names)

    nodes.answer(nodes.names[0], RequestState.EXPIRED)
    nodes.settle()

    assert ([], []) == (nodes.names, nodes.cluster.all(POD_TEMPLATES))


def test_a_gang_whose_nodes_its_user_asked_for_asks_for_none() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 1)
    with nodes.cluster.changing(PODS, NAMESPACE, "a-0") as found:
        key = "autoscaling.x-k8s.io/consume-provisioning-request"
        found["metadata"]["annotations"] = {key: "of-mine"}

    nodes.settle()

    assert ([], NO_ROOM) == (nodes.names, nodes.reason("a"))


def test_each_outcome_of_a_request_is_reported_once() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()
    nodes.answer(nodes.names[0], RequestState.ACCEPTED)
    nodes.settle()
    nodes.answer(nodes.names[0], RequestState.FAILED)
    nodes.settle()
    nodes.settle()

    assert [RequestState.ASKED, RequestState.ACCEPTED, RequestState.FAILED] == [
        each.state for each in nodes.told
    ]


def waiting_job(nodes: BoughtNodes, name: str = "a", **pod: Any) -> None:
    """Add a Job of two pods that waits suspended, and names a class."""
    made = suspended_jobs.job(name, 2, of=suspended_jobs.template(**pod))
    made["metadata"]["annotations"] = {annotations.PROVISIONING_CLASS: CLASS}
    nodes.put(made)


def test_a_job_that_waits_suspended_is_bought_for_once_and_is_then_started() -> None:
    nodes = BoughtNodes(managed=frozenset({"Job"}))
    nodes.queue("q", 8)
    waiting_job(nodes)

    nodes.settle()
    (request,), (template,) = nodes.requests, nodes.templates
    assert (WAITS, []) == (nodes.reason("a"), nodes.admitted)
    assert [2] == [each["count"] for each in request["spec"]["podSets"]]
    (owner,) = request["metadata"]["ownerReferences"]
    assert ("Job", "a", "uid-a") == (owner["kind"], owner["name"], owner["uid"])
    spec = template["template"]["spec"]
    assert ("i", "1") == (
        spec["containers"][0]["image"],
        spec["containers"][0]["resources"]["requests"]["cpu"],
    )

    nodes.provision(nodes.names[0], "bought")
    nodes.settle()

    assert (["a"], 1) == ([each.workload.name for each in nodes.admitted], len(nodes.created))
    assert 1 == len(nodes.names)


def test_the_quota_of_what_waits_suspended_is_charged_while_its_nodes_are_bought() -> None:
    nodes = BoughtNodes(managed=frozenset({"Job"}))
    nodes.queue("q", 3)
    waiting_job(nodes)
    nodes.settle()

    waiting_job(nodes, "b")
    nodes.settle()

    assert 1 == len(nodes.requests)
    assert "WaitingForQuota" == nodes.reason("b")
    nodes.cluster.delete(JOBS, NAMESPACE, "a")
    nodes.settle()
    nodes.settle(30)
    assert {WAITS: 1} == {nodes.reason("b"): len(nodes.requests)}


def test_a_job_that_changes_while_its_template_is_read_is_bought_for_as_it_is_then() -> None:
    nodes = BoughtNodes(managed=frozenset({"Job"}))
    nodes.queue("q", 8)
    waiting_job(nodes)
    nodes.cycle()

    waiting_job(nodes, nodeSelector={"pool": "large"})
    nodes.settle()
    nodes.settle(30)

    (request,), (template,) = nodes.requests, nodes.templates
    assert {"pool": "large"} == template["template"]["spec"]["nodeSelector"]
    assert request["spec"]["podSets"][0]["podTemplateRef"]["name"] == template["metadata"]["name"]
