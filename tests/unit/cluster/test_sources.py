"""Which gang a pod says it belongs to."""

import pytest

from builders import pod
from gang_scheduler.cluster import sources
from gang_scheduler.model.gangs import GangKey

OURS = "pod-group.scheduling.sigs.k8s.io"
THEIRS = "scheduling.x-k8s.io/pod-group"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({OURS: "a"}, GangKey("PodGroup", "team", "a")),
        ({THEIRS: "b"}, GangKey("PodGroup", "team", "b")),
        ({THEIRS: "b", OURS: "a"}, GangKey("PodGroup", "team", "a")),
        ({THEIRS: "b", OURS: ""}, GangKey("PodGroup", "team", "b")),
        ({OURS: ""}, GangKey("Pod", "team", "p")),
        ({"app": "a"}, GangKey("Pod", "team", "p")),
    ],
)
def test_the_first_source_that_names_a_gang_wins(labels: dict[str, str], expected: GangKey) -> None:
    assert expected == sources.gang_of(pod("p", namespace="team", labels=labels))


def test_a_pod_alone_and_a_pod_group_of_its_name_are_two_gangs() -> None:
    alone, member = pod("a"), pod("x", gang="a")

    assert sources.gang_of(alone) != sources.gang_of(member)


def test_only_a_pod_group_must_be_declared() -> None:
    assert {"PodGroup": True, "Pod": False} == {
        name: source.declared for name, source in sources.BY_NAME.items()
    }
