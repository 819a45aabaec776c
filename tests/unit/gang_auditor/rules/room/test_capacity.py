"""More on a node than it offers."""

import pytest

from support.audit_streams import Stream, bound, changed, ended, node, pod


@pytest.fixture
def stream() -> Stream:
    stream = Stream("capacity")
    stream.see(node("n1", cpu=4))
    return stream


def test_what_fits_is_right(stream: Stream) -> None:
    stream.see(bound(pod("a", cpu=3), "n1"), bound(pod("b", cpu=1), "n1"))

    assert [] == stream.end()


def test_a_binding_too_many_is_found(stream: Stream) -> None:
    stream.see(bound(pod("a", cpu=3), "n1"), bound(pod("b", cpu=2), "n1"))

    assert [("capacity", "Pod lab/b")] == stream.end()
    assert "bound to n1, which has 5 of 4 cpu then" == stream.found[0].message
    assert {"node": "n1", "resource": "cpu", "used": 5000, "allocatable": 4000} == dict(
        stream.found[0].details
    )


def test_every_resource_counts(stream: Stream) -> None:
    stream.see(node("n2", cpu=8, devices={"nvidia.com/gpu": "1", "pods": "2"}))
    gpu = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    for name in ("a", "b", "c"):
        stream.see(bound(pod(name, containers=[gpu]), "n2"))

    stream.end()
    over = ["nvidia.com/gpu", "nvidia.com/gpu", "pods"]
    assert over == [each.details["resource"] for each in stream.found]


def test_a_resource_that_the_node_does_not_have_is_over_at_once(stream: Stream) -> None:
    fpga = {"name": "main", "resources": {"requests": {"example.com/fpga": "1"}}}
    stream.see(bound(pod("a", containers=[fpga]), "n1"))

    assert [("capacity", "Pod lab/a")] == stream.end()


def test_a_resource_for_which_the_pod_has_devices_takes_nothing_of_the_node(
    stream: Stream,
) -> None:
    fpga = {"name": "main", "resources": {"requests": {"example.com/fpga": "1", "cpu": "1"}}}
    mapping = {"containerName": "main", "requestName": "r", "resourceName": "example.com/fpga"}
    given = {"resourceClaimName": "a-x", "requestMappings": [mapping]}
    for name in ("a", "b"):
        made = pod(name, containers=[fpga])
        made["status"] = {**made.get("status", {}), "extendedResourceClaimStatus": given}
        stream.see(bound(made, "n1"))
    stream.see(node("n2", cpu=4, devices={"example.com/fpga": "1"}))
    stream.see(bound(pod("of-plugin", containers=[fpga]), "n2"))

    assert [] == stream.end()
    stream.see(bound(pod("too-many", containers=[fpga]), "n2"))
    assert [("capacity", "Pod lab/too-many")] == stream.end()


def test_pods_that_ended_or_are_gone_have_made_room(stream: Stream) -> None:
    first, second = bound(pod("a", cpu=4), "n1"), bound(pod("b", cpu=4), "n1")
    stream.see(first)
    stream.see(ended(first))
    stream.see(second)
    stream.gone(second)
    stream.see(bound(pod("c", cpu=4), "n1"))

    assert [] == stream.end()


def test_a_pod_that_is_being_deleted_holds_its_room(stream: Stream) -> None:
    first = bound(pod("a", cpu=4), "n1")
    stream.see(first)
    stream.see(changed(first, metadata={"deletionTimestamp": "2027-01-15T08:00:00Z"}))
    stream.see(bound(pod("b", cpu=1), "n1"))

    assert [("capacity", "Pod lab/b")] == stream.end()


def test_what_another_scheduler_bound_at_the_same_time_is_not_held_against_this_one(
    stream: Stream,
) -> None:
    stream.see(bound(pod("other", cpu=4, schedulerName="default-scheduler"), "n1", plan=None))
    stream.see(bound(pod("ours", cpu=4), "n1"))

    assert [] == stream.end()


def test_what_another_scheduler_bound_long_before_counts(stream: Stream) -> None:
    stream.see(bound(pod("other", cpu=4, schedulerName="default-scheduler"), "n1", plan=None))
    stream.wait(30)
    stream.see(bound(pod("ours", cpu=4), "n1"))

    assert [("capacity", "Pod lab/ours")] == stream.end()


def test_the_bindings_of_others_are_not_judged(stream: Stream) -> None:
    stream.see(bound(pod("ours", cpu=4), "n1"))
    stream.see(bound(pod("by-hand", cpu=4), "n1", plan=None))

    assert [] == stream.end()


def test_a_node_that_shrinks_afterwards_is_no_fault_of_the_scheduler(stream: Stream) -> None:
    stream.see(bound(pod("a", cpu=4), "n1"))
    stream.see(node("n1", cpu=2))
    stream.wait(60)

    assert [] == stream.end()


def test_a_node_that_had_shrunk_long_before_has_less(stream: Stream) -> None:
    stream.see(node("n1", cpu=2))
    stream.wait(60)
    stream.see(bound(pod("a", cpu=4), "n1"))

    assert [("capacity", "Pod lab/a")] == stream.end()


def test_a_node_that_is_heard_of_a_moment_later_was_there(stream: Stream) -> None:
    stream.see(bound(pod("a", cpu=4), "n2"))
    stream.see(node("n2", cpu=4))

    assert [] == stream.end()


def test_what_the_first_list_has_is_not_judged(stream: Stream) -> None:
    first, second = bound(pod("a", cpu=3), "n1"), bound(pod("b", cpu=3), "n1")
    stream.listed(first, first, second)

    assert [] == stream.end()


def test_a_list_after_a_gap_is_judged_as_one_step(stream: Stream) -> None:
    old, new = bound(pod("z", cpu=4), "n1"), bound(pod("a", cpu=4), "n1")
    stream.listed(old, old)
    stream.wait(30)
    stream.listed(old, new)
    assert [] == stream.end()

    stream.listed(old, new, bound(pod("b", cpu=1), "n1"))
    assert [("capacity", "Pod lab/b")] == stream.end()


def test_a_pod_of_the_same_name_is_another_one(stream: Stream) -> None:
    first = bound(pod("a", cpu=4), "n1")
    stream.see(first)
    stream.gone(first)
    stream.see(bound(pod("a", cpu=4), "n1"))

    assert [] == stream.end()


def test_after_a_break_the_node_counts_as_it_was_since_then(stream: Stream) -> None:
    member = pod("a", cpu=4)
    stream.see(member)
    stream.broken(member)
    stream.see(node("n1", cpu=1))
    stream.wait(60)
    stream.broken(member, resumed=True)
    stream.see(bound(member, "n1"))

    assert [] == stream.end()
