"""Bindings by two replicas, or without the Lease."""

from typing import Any

from gang_auditor import watch_events
from gang_scheduler.api import annotations
from support.audit_streams import START, Stream, bound, changed, node, pod


def lease(renewed_at: float, holder: str = "a") -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "py-gang-scheduler", "namespace": "kube-system", "uid": "lease"},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": watch_events.rfc3339(renewed_at),
        },
    }


def test_one_run_after_the_other_is_right() -> None:
    stream = Stream("leader")
    stream.see(bound(pod("a"), "n1", plan="one-1-1"))
    stream.wait(60)
    stream.see(bound(pod("b"), "n1", plan="two-1-1"))
    # It was on its way.
    stream.see(bound(pod("c"), "n1", plan="one-1-2"))
    stream.wait(60)
    stream.see(bound(pod("d"), "n1", plan="two-9-3"))

    assert [] == stream.end()


def test_two_runs_that_take_turns_are_found() -> None:
    stream = Stream("leader")
    for number, run in enumerate(("one", "two", "one")):
        stream.see(bound(pod(f"p{number}"), "n1", plan=f"{run}-1-1"))
        stream.wait(10)

    assert [("leader", "Pod lab/p2")] == stream.end()
    assert "bound by run one, after run two had begun to bind" == stream.found[0].message


def test_a_plan_that_users_write_on_pods_with_a_node_accuses_no_run() -> None:
    stream = Stream("leader", "capacity")
    stream.see(node("n1", cpu=4), bound(pod("a"), "n1", plan="one-1-1"))
    stream.wait(10)
    forged = pod("b", cpu=99, nodeName="n1", annotations={annotations.PLAN_ID: "fake-1-1"})
    stream.see(forged, kind=watch_events.ADDED)
    stream.see(changed(forged, annotations={annotations.PLAN_ID: "fake-2-1"}))
    stream.wait(10)
    stream.see(bound(pod("c"), "n1", plan="one-2-1"))
    stream.gone(forged)

    # The scheduler did bind a pod to a node that was full by then.
    assert [("capacity", "Pod lab/c")] == stream.end()


def test_two_runs_that_take_turns_are_found_where_bindings_tell_their_moment() -> None:
    stream = Stream("leader")
    for number, run in enumerate(("one", "two", "one")):
        moment = watch_events.rfc3339(START + 10 * number)
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}
        status = {"conditions": [condition]}
        stream.see(changed(bound(pod(f"p{number}"), "n1", plan=f"{run}-1-1"), status=status))
        stream.wait(10)

    assert [("leader", "Pod lab/p2")] == stream.end()


def test_what_a_list_has_found_has_no_order() -> None:
    stream, first = Stream("leader"), pod("a")
    stream.listed(first)
    stream.see(bound(first, "n1", plan="one-1-1"))
    stream.wait(60)
    stream.listed(
        first,
        bound(first, "n1", plan="one-1-1"),
        bound(pod("b"), "n1", plan="two-1-1"),
        bound(pod("c"), "n1", plan="one-2-2"),
    )

    assert [] == stream.end()


def test_a_binding_after_the_lease_has_run_out_is_found() -> None:
    stream = Stream("leader")
    stream.see(lease(START))
    stream.wait(10)
    stream.see(bound(pod("a"), "n1"))
    stream.wait(30)
    stream.see(bound(pod("b"), "n1"))

    assert [("leader", "Pod lab/b")] == stream.end()
    words = "bound to n1 after the Lease kube-system/py-gang-scheduler had run out"
    assert words == stream.found[0].message


def test_a_lease_that_is_renewed_or_given_up_says_nothing() -> None:
    stream = Stream("leader")
    stream.see(lease(START))
    stream.wait(40)
    stream.see(lease(stream.now))
    stream.see(bound(pod("a"), "n1"))
    stream.see(lease(stream.now, holder=""))
    stream.wait(60)
    stream.see(bound(pod("b"), "n1"))

    assert [] == stream.end()


def test_what_a_list_has_found_may_have_happened_before_the_lease_ran_out() -> None:
    stream, first = Stream("leader"), pod("a")
    stream.see(lease(START))
    stream.listed(first, first)
    stream.broken(first)
    stream.wait(40)
    stream.listed(first, bound(first, "n1"), bound(pod("b"), "n1"))

    assert [] == stream.end()


def test_what_is_heard_of_late_counts_from_when_it_was() -> None:
    # The watch of the Lease is behind that of the pods, and both are behind the cluster.
    stream = Stream("leader")
    stream.see(lease(START))
    for name, after in (("in-time", 20), ("too-late", 40)):
        moment = watch_events.rfc3339(START + after)
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}
        stream.see(pod(name))
        stream.wait(60)
        stream.see(changed(bound(pod(name), "n1"), status={"conditions": [condition]}))

    assert [("leader", "Pod lab/too-late")] == stream.end()


def test_a_moment_that_cannot_be_read_is_when_it_was_heard_of() -> None:
    stream = Stream("leader")
    stream.see(lease(START))
    stream.wait(60)
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "soon"}
    stream.see(changed(bound(pod("a"), "n1"), status={"conditions": [condition]}))

    assert [("leader", "Pod lab/a")] == stream.end()
