"""A gang that does not fit preempts: its victims, what all concerned report, and where it ends.

The nodes have no kubelets: an evicted pod is gone when the test says so.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import networks, preemption
from e2e.support.namespaces import Namespace
from e2e.support.networks import BLOCK, SPINE, SPINES, Network
from e2e.support.preemption import high, let_go, low
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

SPINE_OF = [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
BLOCK_OF = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
THREE_SPINES = {
    f"node-{number}": preemption.by_hand({SPINE: f"spine-{spine}", BLOCK: f"block-{block}"})
    for number, (spine, block) in enumerate(zip(SPINE_OF, BLOCK_OF, strict=True))
}
CPUS = 8


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without nodes, and with priorities."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    """Give an operator that soon says of a pod that it hangs."""
    with controlplane.Scheduler(plane, "--victim-timeout-seconds=1") as started:
        yield started


@pytest.fixture
def network(plane: controlplane.ControlPlane, namespace: Namespace) -> Iterator[Network]:
    """Give twelve nodes in three spines; three of them are full of pods of low priority."""
    with Network(plane) as made:
        made.build(THREE_SPINES, cpu=CPUS)
        made.has(SPINES)
        until(made.detail)
        occupied = [low(f"low-{number}", f"node-{number}", cpu=CPUS) for number in (0, 1, 5)]
        preemption.start(namespace, *occupied)
        yield made
        namespace.delete_all("pods")


@pytest.mark.usefixtures("network")
def test_exactly_the_pod_is_evicted_that_is_in_the_way_of_a_spine(namespace: Namespace) -> None:
    gang = networks.asking(high("a", 4, cpu=CPUS), SpineLayer="MustGather")
    places = {"a-0": "node-5", "a-1": "node-6", "a-2": "node-7", "a-3": "node-8"}
    namespace.create(*gang)

    eventually({"low-5"}, lambda: preemption.evicted(namespace))
    eventually(places, lambda: preemption.nominated(namespace))
    assert {"low-5"} == preemption.marked(namespace)
    assert {} == namespace.bound("a-")

    let_go(namespace, ["low-5"])

    eventually(places, lambda: namespace.bound("a-"))
    assert {} == preemption.nominated(namespace)
    assert {"low-0", "low-1"} == set(namespace.bound("low-"))
    assert set() == preemption.marked(namespace) | preemption.evicted(namespace)


@pytest.mark.usefixtures("network")
def test_all_concerned_say_what_happens(namespace: Namespace) -> None:
    namespace.create(*networks.asking(high("a", 4, cpu=CPUS), SpineLayer="MustGather"))
    eventually({"low-5"}, lambda: preemption.evicted(namespace))

    mark = namespace.condition_of_pod("low-5", "DisruptionTarget")
    preemptor = f"{namespace.name}/a"
    assert {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "py-gang-scheduler: preempting to accommodate higher priority pods, "
        f"preemptor: {preemptor}, triggerpod: {namespace.name}/a-0",
    }.items() <= mark.items()
    assert mark["lastTransitionTime"]
    eventually("True", lambda: namespace.condition_of_gang("a", "Preempting").get("status"))
    said = namespace.condition_of_gang("a", "Preempting")
    assert "WaitingForVictims" == said["reason"]
    assert "SpineLayer/spine-1" in said["message"]
    eventually(
        "WaitingForVictims", lambda: namespace.condition_of_gang("a", "Scheduled").get("reason")
    )
    (note,) = until(lambda: namespace.notes("a", "Preempting"))
    assert f"{namespace.name}/low-5" in note
    assert "SpineLayer/spine-1" in note
    (note,) = until(lambda: namespace.notes("low-5", "Preempted"))
    assert note.startswith(f"Preempted by {preemptor}")
    assert "no owner" in note
    eventually("WaitingForVictims", lambda: namespace.condition_of_pod("a-0").get("reason"))

    let_go(namespace, ["low-5"])

    eventually("False", lambda: namespace.condition_of_gang("a", "Preempting").get("status"))
    eventually("True", lambda: namespace.condition_of_gang("a", "Scheduled").get("status"))
    assert "SpineLayer/spine-1" == namespace.status("a")["domain"]


@pytest.mark.usefixtures("network")
def test_the_room_belongs_to_the_preemptor_until_it_is_deleted(namespace: Namespace) -> None:
    namespace.create(*networks.asking(high("a", 4, cpu=CPUS), SpineLayer="MustGather"))
    let_go(namespace, ["low-5"])
    eventually(4, lambda: len(namespace.bound("a-")))
    namespace.create(*networks.asking(high("b", 4, cpu=CPUS), SpineLayer="MustGather"))
    # One of two that are alike goes; their uids tell which.
    eventually(1, lambda: len(preemption.evicted(namespace) & {"low-0", "low-1"}))
    eventually(4, lambda: len(preemption.nominated(namespace, "b-")))
    spine = {f"node-{number}" for number in range(5)}
    assert set(preemption.nominated(namespace, "b-").values()) < spine

    # No gang of the same priority gets reserved room, though no other room is free in this spine.
    namespace.create(*networks.asking(high("c", 3, cpu=CPUS), BlockLayer="MustGather"))
    eventually({"node-9", "node-10", "node-11"}, lambda: set(namespace.bound("c-").values()))
    namespace.create(*high("d", 1, cpu=CPUS))
    eventually("WaitingForVictims", lambda: reason(namespace, "d"))
    eventually({"low-0", "low-1"}, lambda: preemption.evicted(namespace))

    namespace.delete_gangs("b")

    eventually(1, lambda: len(namespace.bound("d-")))


@pytest.mark.usefixtures("network")
def test_a_gang_that_must_not_preempt_waits_and_says_so(namespace: Namespace) -> None:
    meek = high("a", 4, cpu=CPUS, priorityClassName=preemption.NEVER)
    namespace.create(*networks.asking(meek, SpineLayer="MustGather"))

    eventually("Unschedulable", lambda: reason(namespace, "a"))
    said = namespace.condition_of_gang("a", "Scheduled")["message"]
    assert "preemptionPolicy" in said
    assert "SpineLayer/spine-1: 3" in said
    assert set() == preemption.marked(namespace) | preemption.evicted(namespace)
    assert {} == preemption.nominated(namespace)


def test_a_victim_that_hangs_is_reported(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    with Network(plane) as network:
        network.build({"node-0": preemption.BY_HAND}, cpu=CPUS)
        stuck = low("stuck", "node-0", cpu=CPUS, terminationGracePeriodSeconds=1)
        stuck["metadata"]["finalizers"] = ["example.com/unmount"]
        preemption.start(namespace, stuck)
        namespace.create(*high("a", 1, cpu=CPUS))
        eventually({"stuck"}, lambda: preemption.evicted(namespace))

        note = until(lambda: namespace.notes("a", "WaitingForRoom"))[0]
        assert "should be gone" in note
        assert f"{namespace.name}/stuck on node-0" in note
        assert {} == namespace.bound("a-")
        namespace.change_pod("stuck", lambda pod: pod["metadata"].update(finalizers=None))
        namespace.delete("pods", "stuck")

        eventually({"a-0": "node-0"}, lambda: namespace.bound("a-"))
        namespace.delete_all("pods")


def reason(namespace: Namespace, gang: str) -> str | None:
    found: str | None = namespace.condition_of_gang(gang, "Scheduled").get("reason")
    return found
