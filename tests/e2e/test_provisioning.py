"""Nodes that are bought, on a real API server, beside a stand-in for the cluster autoscaler.

The autoscaler answers when a test says so. Operators go through a proxy, which can hold the writes
of requests: then an operator can be killed between any two of them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests, operator_health, queues, suspended_jobs
from e2e.support.fault_proxy import HOLD, LOSE_ANSWER, PASS, Fault, FaultProxy
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.queues import Objects, reason
from e2e.support.waiting import eventually, until
from tools import controlplane, foreign_crds
from tools.autoscaler import Autoscaler

pytestmark = pytest.mark.e2e

CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
KEY = "py-gang-scheduler.io/provisioning-class"
ON = "--provisioning-requests"
BUYS = (ON, "--provisioning-backoff-seconds=1", "--provisioning-retries=2")
WAITS = "WaitingForProvisioning"
NAME = "crd/provisioningrequests.autoscaling.x-k8s.io"


def write_of_request(method: str, path: str, _: bytes) -> str:
    """Return what a write of a request creates; "" for all others."""
    plural = path.partition("?")[0].rpartition("/")[2]
    return plural if method == "POST" and plural in ("podtemplates", "provisioningrequests") else ""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: no other operator shall go on where ours was killed."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture
def served(plane: controlplane.ControlPlane) -> None:
    """Have the kind installed."""
    queues.install(plane, foreign_crds.provisioning_requests())


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    kubeconfig = plane.directory / "kubeconfig-proxy"
    with FaultProxy(plane.access, kubeconfig, write_of_request) as started:
        yield started


@pytest.fixture
def autoscaler(namespace: Namespace) -> Iterator[Autoscaler]:
    """Give an autoscaler whose nodes are those of the namespace, and go with it."""
    made = Autoscaler(namespace.cluster, namespace.name, namespace.here)
    yield made
    made.delete_nodes()


@pytest.fixture
def objects(plane: controlplane.ControlPlane) -> Iterator[Objects]:
    """Give what creates objects without a namespace."""
    with queues.objects(plane) as made:
        yield made


def gang(namespace: Namespace, name: str = "g", pods: int = 2, **fields: Any) -> list[Manifest]:
    """Return a gang for the nodes of a namespace, which names a class."""
    group, *members = manifests.gang(name, pods, on=namespace.here, **fields)
    group["metadata"]["annotations"] = {KEY: CLASS}
    return [group, *members]


def the_request(autoscaler: Autoscaler) -> dict[str, Any]:
    """Return the one request without an answer, once it is there."""
    until(lambda: len(autoscaler.unanswered()) == 1)
    (found,) = autoscaler.unanswered()
    return found


def pod_reason(namespace: Namespace, pod: str) -> str | None:
    """Return the reason of the condition by which autoscalers find pods to buy nodes for."""
    found: str | None = namespace.condition_of_pod(pod).get("reason")
    return found


def told(namespace: Namespace) -> str:
    """Return what is said of why the gang waits."""
    return str(namespace.condition_of_gang("g", "Scheduled").get("message", ""))


@pytest.mark.usefixtures("served")
def test_a_gang_is_bought_for_once_and_starts(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    with namespace.watch() as watcher:
        namespace.create(*gang(namespace, pods=3))
        request = the_request(autoscaler)
        eventually(WAITS, lambda: pod_reason(namespace, "g-0"))
        eventually(WAITS, lambda: reason(namespace, "g"))
        assert CLASS == request["spec"]["provisioningClassName"]
        assert [3] == [each["count"] for each in request["spec"]["podSets"]]

        autoscaler.accept(request)
        until(lambda: "accepted: the request was accepted" in told(namespace))
        autoscaler.provision(request)

        eventually(3, lambda: len(namespace.bound()))
        watcher.wait_until(lambda seen: len(seen.bound("g")) == 3)
    assert 1 == len(autoscaler.seen)
    name = request["metadata"]["name"]
    notes = [each["metadata"]["annotations"] for each in namespace.every("pods")]
    key = "autoscaling.x-k8s.io/consume-provisioning-request"
    assert [name] * 3 == [each[key] for each in notes]
    until(lambda: namespace.notes("g", "Provisioned"))
    assert namespace.notes("g", "ProvisioningRequested")


@pytest.mark.usefixtures("served")
def test_what_was_booked_goes_when_the_booking_is_over(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    namespace.create(*gang(namespace))
    request = the_request(autoscaler)
    autoscaler.provision(request)
    eventually(2, lambda: len(namespace.bound()))
    assert 1 == len(autoscaler.names())

    autoscaler.expire(request)

    eventually([], autoscaler.names)
    eventually([], lambda: namespace.every("podtemplates"))


@pytest.mark.usefixtures("served")
def test_what_fails_three_times_is_unschedulable_with_the_words_of_the_autoscaler(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    namespace.create(*gang(namespace))

    for number in range(3):
        request = the_request(autoscaler)
        assert request["metadata"]["name"].endswith(f"-{number + 1}")
        autoscaler.fail(request, f"out of stock, {number}")

    eventually("Unschedulable", lambda: reason(namespace, "g"))
    words = "nodes were asked for 3 times, the last time: failed: out of stock, 2"
    assert words in told(namespace)
    eventually("Unschedulable", lambda: pod_reason(namespace, "g-0"))
    eventually(1, lambda: len(autoscaler.names()))
    assert 3 == len(autoscaler.seen)


@pytest.mark.usefixtures("served")
def test_nodes_that_are_taken_away_before_the_gang_starts_are_asked_for_again(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    namespace.create(*gang(namespace, pods=1, cpu=40))
    first = the_request(autoscaler)
    autoscaler.answer(first, "Provisioned", "soon")
    until(lambda: "provisioned" in told(namespace))
    autoscaler.revoke(first)

    autoscaler.provision(the_request(autoscaler))

    eventually(1, lambda: len(namespace.bound()))
    assert 2 == len(autoscaler.seen)


@pytest.mark.usefixtures("served")
def test_room_elsewhere_is_taken_first_and_the_request_deleted(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    namespace.create(*gang(namespace))
    autoscaler.accept(the_request(autoscaler))

    namespace.own_nodes(1)

    eventually(2, lambda: len(namespace.bound()))
    eventually([], autoscaler.names)
    eventually([], lambda: namespace.every("podtemplates"))


@pytest.mark.usefixtures("served")
def test_a_gang_that_is_deleted_leaves_no_request(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    namespace.create(*gang(namespace))
    the_request(autoscaler)

    namespace.delete_gangs("g")

    eventually([], autoscaler.names)
    eventually([], lambda: namespace.every("podtemplates"))


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("held", ["podtemplates", "provisioningrequests"])
def test_killed_before_it_creates_one_the_next_operator_asks_once(
    lasting: Start, proxy: FaultProxy, namespace: Namespace, autoscaler: Autoscaler, held: str
) -> None:
    proxy.start_over(lambda _, name: HOLD if name == held else PASS)
    first = lasting(*BUYS)
    namespace.create(*gang(namespace))
    until(lambda: held in proxy.held)
    first.kill()
    assert [] == autoscaler.names()
    proxy.start_over()

    lasting(*BUYS)
    autoscaler.provision(the_request(autoscaler))

    eventually(2, lambda: len(namespace.bound()))
    assert (1, [2]) == (len(autoscaler.seen), [*autoscaler.bought.values()])
    assert 1 == len(namespace.every("podtemplates"))


@pytest.mark.usefixtures("served")
def test_killed_once_the_request_is_created_the_next_operator_buys_nothing_more(
    lasting: Start, proxy: FaultProxy, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    def choose(_: int, name: str) -> Fault | None:
        return LOSE_ANSWER if name == "provisioningrequests" else PASS

    proxy.start_over(choose)
    first = lasting(*BUYS)
    namespace.create(*gang(namespace))
    request = the_request(autoscaler)
    first.kill()
    proxy.start_over()

    lasting(*BUYS)
    eventually(WAITS, lambda: pod_reason(namespace, "g-0"))
    autoscaler.provision(request)

    eventually(2, lambda: len(namespace.bound()))
    assert (1, [2]) == (len(autoscaler.seen), [*autoscaler.bought.values()])


@pytest.mark.usefixtures("served")
def test_the_quota_of_a_queue_is_charged_while_a_request_stands(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler, objects: Objects
) -> None:
    lasting(*BUYS)
    team = queues.queue(namespace.name, 2, provisioningClass=CLASS)
    objects.create_and_wait(team)
    namespace.create(*queues.gang("a", 2, namespace.name, on=namespace.here))
    request = the_request(autoscaler)
    namespace.create(*queues.gang("b", 2, namespace.name, on=namespace.here))
    eventually("WaitingForQuota", lambda: reason(namespace, "b"))

    autoscaler.provision(request)

    eventually({"a-0", "a-1"}, lambda: namespace.bound().keys())
    assert "WaitingForQuota" == reason(namespace, "b")
    assert 1 == len(autoscaler.seen)


def test_without_the_kind_nothing_is_different_and_it_may_come_later(
    start: Start,
    plane: controlplane.ControlPlane,
    namespace: Namespace,
    autoscaler: Autoscaler,
) -> None:
    plane.kubectl("delete", "--ignore-not-found", NAME)
    operator = start(ON)
    namespace.create(*gang(namespace))
    eventually("Unschedulable", lambda: pod_reason(namespace, "g-0"))
    assert [] == namespace.every("podtemplates")

    queues.install(plane, foreign_crds.provisioning_requests())
    autoscaler.provision(the_request(autoscaler))

    eventually(2, lambda: len(namespace.bound()))
    assert [] == operator_health.tracebacks(operator)


@pytest.mark.usefixtures("served")
def test_without_the_setting_nothing_is_asked_for(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting()
    namespace.create(*gang(namespace))

    eventually("Unschedulable", lambda: pod_reason(namespace, "g-0"))

    assert [] == autoscaler.names()


@pytest.mark.usefixtures("served")
def test_a_job_names_the_class_and_owns_the_request(
    lasting: Start, namespace: Namespace, autoscaler: Autoscaler
) -> None:
    lasting(*BUYS)
    job = gang_manifests.job("j", 2, on=namespace.here)
    job["metadata"]["annotations"] = {KEY: CLASS}
    gang_manifests.create(namespace, job)

    request = the_request(autoscaler)
    kinds = {each["kind"] for each in request["metadata"]["ownerReferences"]}
    autoscaler.provision(request)

    eventually(2, lambda: len(namespace.bound()))
    assert kinds <= {"Job", "Pod"}
    assert json.dumps(request).count(CLASS) == 1


@pytest.mark.usefixtures("served")
def test_a_job_that_waits_suspended_is_bought_for_and_started(
    lasting: Start, namespace: Namespace, objects: Objects, autoscaler: Autoscaler
) -> None:
    lasting(ON, *suspended_jobs.FLAGS)
    objects.create_and_wait(queues.queue("waiting", 4))
    waiting = suspended_jobs.job("w", "waiting", on=namespace.here)
    waiting["metadata"]["annotations"] = {KEY: CLASS}
    namespace.create(waiting)

    request = the_request(autoscaler)
    assert [2] == [each["count"] for each in request["spec"]["podSets"]]
    (owner,) = request["metadata"]["ownerReferences"]
    assert ("Job", "w") == (owner["kind"], owner["name"])
    assert suspended_jobs.is_suspended(namespace, "w")
    assert [] == suspended_jobs.pods(namespace, "w")

    autoscaler.provision(request)
    eventually(2, lambda: len(namespace.bound("w-")))
    assert len(autoscaler.requests()) == 1
    consumed = {
        each["metadata"]["annotations"].get("autoscaling.x-k8s.io/consume-provisioning-request")
        for each in suspended_jobs.pods(namespace, "w")
    }
    assert consumed == {request["metadata"]["name"]}
    namespace.delete("jobs", "w")
