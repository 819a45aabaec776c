"""How many nodes reject a pod, by the reason of the first filter that does."""

from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support.builders import node, pod, snapshot

BINPACK = PROFILES["binpack"]


def test_the_first_filter_to_reject_a_node_gives_the_reason() -> None:
    nodes = [
        node("n1", cpu=1, unschedulable=True, ready=False, taints=["a=b:NoSchedule"]),
        node("n2", cpu=1, ready=False, taints=["a=b:NoSchedule"]),
        node("n3", cpu=1, taints=["a=b:NoSchedule"]),
        node("n4", cpu=1),
    ]

    found = diagnosis.diagnose(pod("a-0", cpu=2).pod_class, Trial(snapshot(nodes)), BINPACK)

    expected = {
        "node(s) were unschedulable": 1,
        "node(s) were not ready": 1,
        "node(s) had untolerated taint {a: b}": 1,
        "Insufficient cpu": 1,
    }
    assert expected == dict(found)


def test_a_node_with_room_has_no_reason() -> None:
    nodes = [node("n1", cpu=1), node("n2", cpu=2)]

    found = diagnosis.diagnose(pod("a-0", cpu=2).pod_class, Trial(snapshot(nodes)), BINPACK)

    assert (("Insufficient cpu", 1),) == found
