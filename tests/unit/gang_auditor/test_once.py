"""What is wrong with a cluster as it is."""

from typing import Any

import pytest

from gang_auditor import once
from gang_scheduler.api import annotations as keys
from support.audit_streams import NAMESPACE, Stream, bound, node, pod
from support.audit_victims import queue, queued, quota


@pytest.fixture
def stream() -> Stream:
    stream = Stream()
    stream.see(node("n1", cpu=4, labels={"rack": "a"}), node("n2", cpu=4, labels={"rack": "b"}))
    return stream


def found(stream: Stream) -> list[tuple[str, str, str]]:
    wrong = once.findings(stream.auditor.world, stream.limits, stream.now)
    return [(each.rule, each.about, each.message) for each in wrong]


def test_a_cluster_that_is_as_it_should_be_is_right(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4, hard=4)), queued("x", "a", cpu=4))

    assert [] == found(stream)


def test_a_node_with_more_than_it_offers_is_found(stream: Stream) -> None:
    stream.see(bound(pod("a", cpu=3), "n1"), bound(pod("b", cpu=3), "n1", plan=None))

    assert [("capacity", "Node n1", "has 6 of 4 cpu")] == found(stream)


def test_nodes_of_other_schedulers_are_not_judged(stream: Stream) -> None:
    stream.see(bound(pod("a", cpu=3), "n1", plan=None), bound(pod("b", cpu=3), "n1", plan=None))

    assert [] == found(stream)


def test_a_port_that_two_pods_have_is_found(stream: Stream) -> None:
    stream.see(*(bound(pod(name, host_ports=(80,)), "n1") for name in "ab"))

    assert [("ports", "Node n1", "lab/b and lab/a have host port TCP/80")] == found(stream)


def test_a_claim_for_one_pod_that_two_have_is_found(stream: Stream) -> None:
    claim: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": NAMESPACE, "uid": "claim"},
        "spec": {"accessModes": ["ReadWriteOncePod"]},
    }
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]
    stream.see(claim, *(bound(pod(name, volumes=volumes), "n1") for name in "ab"))

    words = "is for one pod, and lab/a, lab/b have it"
    assert [("volumes", "PersistentVolumeClaim lab/c", words)] == found(stream)


def test_a_gang_over_two_domains_is_found(stream: Stream) -> None:
    marks = {keys.PODSET_REQUIRED: "rack"}
    ring = [pod(f"ring-{number}", gang="ring", annotations=marks) for number in range(2)]
    stream.see(bound(ring[0], "n1"), bound(ring[1], "n2"))

    assert [("gathering", "Gang lab/ring", "is in a and b, of rack")] == found(stream)


def test_a_queue_over_its_limit_is_found(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(1, hard=1)), queued("x", "a", cpu=2))

    assert [("limit", "Queue a", "has 2 of 1 cpu")] == found(stream)
