"""Gangs of PodGroups of Volcano."""

from typing import Any

import pytest

from support.in_memory_cluster import InMemoryCluster, why


def group_body(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "uid-volcano-g"},
        "spec": {"minMember": 2, **spec},
    }


def members(cluster: InMemoryCluster, *classes: str) -> None:
    for number, name in enumerate(classes):
        spec = {"priority": 1000 if name == "urgent" else 0, "priorityClassName": name}
        named = {"scheduling.k8s.io/group-name": "g"}
        cluster.pod(f"p-{number}", annotations=named, spec=spec)


@pytest.mark.parametrize(
    ("classes", "of_pod"),
    [(("", ""), "none"), (("spare", "spare"), "spare"), (("spare", ""), "spare")],
)
def test_a_class_that_no_member_has_lifts_none(classes: tuple[str, ...], of_pod: str) -> None:
    cluster = InMemoryCluster(2)
    cluster.pod("other", spec={"priority": 500})
    cluster.bound()
    cluster.put(group_body(priorityClassName="urgent"))
    members(cluster, *classes)

    plan = cluster.cycle()
    refused = {each.gang.key.name: each for each in plan.refused}
    reason, message = why(refused["g"])

    assert "InvalidSpec" == reason
    assert "spec.priorityClassName of its PodGroup is urgent" in message
    assert f"pod default/p-0 has {of_pod}" in message
    assert () == plan.preemptions


@pytest.mark.parametrize("classes", [("urgent", "urgent"), ("urgent", "spare"), ("", "urgent")])
def test_a_class_that_a_member_has_is_no_problem(classes: tuple[str, ...]) -> None:
    cluster = InMemoryCluster(2)
    cluster.put(group_body(priorityClassName="urgent"))
    members(cluster, *classes)

    assert {"p-0", "p-1"} == cluster.bound()
