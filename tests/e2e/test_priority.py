"""The order of gangs when there is not room for all: the higher priority, then the older gang."""

from collections.abc import Iterator
from functools import partial

import pytest

from e2e.support.manifests import gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture(scope="module", autouse=True)
def priority_classes(plane: controlplane.ControlPlane) -> Iterator[None]:
    for name, value in (("e2e-high", 1000), ("e2e-low", 10)):
        # Only the order is tested here, so these gangs never preempt.
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
        plane.request("POST", CLASSES, body)
    yield
    for name in ("e2e-high", "e2e-low"):
        plane.request("DELETE", f"{CLASSES}/{name}")


@pytest.mark.parametrize(
    ("older", "younger", "first"),
    [("e2e-low", "e2e-high", "younger"), ("e2e-high", "e2e-high", "older")],
    ids=["the higher priority though younger", "the older of equals"],
)
def test_freed_room_goes_to(namespace: Namespace, older: str, younger: str, first: str) -> None:
    namespace.own_nodes(4, cpu=1)
    namespace.create(*gang("before", 4, on=namespace.here))
    eventually(4, lambda: len(namespace.bound("before")))
    for name, priority_class in (("older", older), ("younger", younger)):
        namespace.create(*gang(name, 4, on=namespace.here, priorityClassName=priority_class))
        eventually("Scheduling", partial(namespace.phase, name))
        namespace.wait_for_the_next_second()

    with namespace.watch() as watcher:
        namespace.delete_gangs("before")
        watcher.wait_until(lambda seen: len(seen.bound(first)) == 4)

        assert {first} == {name for name in ("older", "younger") if watcher.ever_bound(name)}


def test_a_gang_that_cannot_fit_does_not_block_those_behind_it(namespace: Namespace) -> None:
    namespace.own_nodes(4, cpu=1)
    namespace.create(*gang("huge", 5, on=namespace.here, priorityClassName="e2e-high"))
    eventually("Scheduling", lambda: namespace.phase("huge"))

    namespace.create(*gang("small", 4, on=namespace.here, priorityClassName="e2e-low"))

    eventually(4, lambda: len(namespace.bound("small")))
    assert {} == namespace.bound("huge")


def test_the_priority_of_a_gang_is_its_lowest_members(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=2)
    namespace.create(pod("before", cpu=2, on=namespace.here))
    until(lambda: namespace.node_of("before"))
    mixed = gang("mixed", 2, on=namespace.here, priorityClassName="e2e-high")
    mixed[-1]["spec"]["priorityClassName"] = "e2e-low"
    namespace.create(*mixed)
    eventually("Scheduling", lambda: namespace.phase("mixed"))
    namespace.create(*gang("plain", 2, on=namespace.here, priorityClassName="e2e-high"))
    eventually("Scheduling", lambda: namespace.phase("plain"))

    namespace.delete("pods", "before")

    eventually(2, lambda: len(namespace.bound("plain")))
    assert {} == namespace.bound("mixed")
