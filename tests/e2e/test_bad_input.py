"""Bad input: refused at once, or it waits with a reason that names field and value; others go on.

Of a node with nonsense quantities the API server stores only those that are numbers, but larger
than any machine. What it refuses (words, negative amounts) is left to the unit tests of decode.
"""

from functools import partial
from typing import Any

import pytest

from e2e.support import manifests
from e2e.support.manifests import gang, members, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import nodes
from tools.controlplane.wholeness import PodEvent

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

TOMORROW = "kueue.x-k8s.io/podset-of-tomorrow"
UNSUPPORTED: dict[str, tuple[str, dict[str, Any]]] = {
    f"metadata.annotations[{TOMORROW}]": ("metadata", {"annotations": {TOMORROW: "1"}}),
}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"minMember": 0}, "spec.minMember"),
        ({"minMember": -1}, "spec.minMember"),
        ({"minMember": "three"}, "spec.minMember"),
        ({}, "spec.minMember"),
        ({"minMember": 1, "scheduleTimeoutSeconds": -1}, "spec.scheduleTimeoutSeconds"),
        ({"minMember": 1, "minResources": {"cpu": "lots"}}, "spec.minResources.cpu"),
    ],
    ids=str,
)
def test_the_api_server_refuses(namespace: Namespace, spec: dict[str, Any], words: str) -> None:
    group = manifests.pod_group("a", 1) | {"spec": spec}

    with pytest.raises(controlplane.ControlPlaneError, match=words):
        namespace.create(group)


def test_the_api_server_says_why_it_refuses_min_member_0(namespace: Namespace) -> None:
    with pytest.raises(controlplane.ControlPlaneError, match="minMember must be at least 1"):
        namespace.create(manifests.pod_group("a", 0))


def test_pods_of_a_pod_group_that_does_not_exist_say_so_after_5_seconds(
    namespace: Namespace,
) -> None:
    with namespace.watch() as watcher:
        namespace.create(*members("nowhere", 2))
        eventually(
            "PodGroupNotFound", lambda: namespace.condition_of_pod("nowhere-0").get("reason")
        )
        # What a request shows comes a moment later by a watch.
        watcher.wait_until(lambda seen: len(seen_of(seen, "nowhere-0")) > 1)
        seen_at = [each.received_at for each in seen_of(watcher, "nowhere-0")]

        assert 4 < seen_at[-1] - seen_at[0]
        condition = namespace.condition_of_pod("nowhere-0")
        assert "False" == condition["status"]
        assert f'PodGroup "{namespace.name}/nowhere" does not exist' == condition["message"]
        assert set() == watcher.ever_bound("nowhere")

    namespace.create(manifests.pod_group("nowhere", 2))
    eventually(2, lambda: len(namespace.bound("nowhere")))


def test_an_unsupported_feature_is_named_and_its_gang_waits(namespace: Namespace) -> None:
    for number, (section, fields) in enumerate(UNSUPPORTED.values()):
        group, first, second = gang(f"g{number}", 2)
        second[section].update(fields)
        namespace.create(group, first, second)
    namespace.create(*gang("good", 2))

    eventually("Running", lambda: namespace.phase("good"))
    for number, field in enumerate(UNSUPPORTED):
        name = f"g{number}"
        why = f"pod {namespace.name}/{name}-1: {field} cannot be honoured by this scheduler yet"
        expected = ("UnsupportedFeature", why)
        eventually(expected, partial(said_of_gang, namespace, name))
        eventually(expected, partial(said_of_pod, namespace, f"{name}-0"))
        assert [why] == until(partial(namespace.notes, name, "InvalidGang"))
        assert {} == namespace.bound(name)


@pytest.mark.parametrize("cpu", ["9E", "1e30"])
def test_a_node_with_an_enormous_amount_has_the_largest_that_there_is(
    namespace: Namespace, cpu: str
) -> None:
    name = f"{namespace.name}-enormous"
    room = {"cpu": cpu, "memory": "1Gi", "pods": "10"}
    nodes.create(namespace.cluster.access, [nodes.manifest(name, namespace.here, room)])
    try:
        namespace.create(*gang("a", 2, cpu=20, on=namespace.here))

        eventually({name}, lambda: set(namespace.bound("a").values()))
    finally:
        namespace.cluster.request("DELETE", f"/api/v1/nodes/{name}")


def test_a_pod_that_asks_for_an_impossible_amount_waits_and_others_go_on(
    namespace: Namespace,
) -> None:
    namespace.create(pod("impossible", cpu="9E"), pod("good"))

    until(lambda: namespace.node_of("good"))
    eventually("Unschedulable", lambda: said_of_pod(namespace, "impossible")[0])
    assert "Insufficient cpu" in str(said_of_pod(namespace, "impossible")[1])
    assert namespace.node_of("impossible") is None


def test_a_pod_with_a_thousand_spread_constraints_waits_and_others_go_on(
    namespace: Namespace,
) -> None:
    hostile = pod("hostile")
    hostile["spec"]["topologySpreadConstraints"] = [
        {
            "topologyKey": f"key-{i}",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"x": str(i)}},
        }
        for i in range(1000)
    ]
    namespace.create(hostile, *gang("good", 2))

    eventually("Running", lambda: namespace.phase("good"))
    eventually("Unschedulable", lambda: namespace.condition_of_pod("hostile").get("reason"))


def seen_of(watcher: controlplane.Watcher, pod: str) -> list[PodEvent]:
    """Return what a watch has shown of a pod."""
    return [each for each in watcher.history if each.name == pod]


def said_of_gang(namespace: Namespace, name: str) -> tuple[str | None, str | None]:
    condition = namespace.condition_of_gang(name, "Scheduled")
    return condition.get("reason"), condition.get("message")


def said_of_pod(namespace: Namespace, name: str) -> tuple[str | None, str | None]:
    condition = namespace.condition_of_pod(name)
    return condition.get("reason"), condition.get("message")
