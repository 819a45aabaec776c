"""Pods that are written alike are read once; whatever makes a difference makes another ask."""

from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.pods import pod_class as pod_pod_class
from gang_scheduler.model.pods import PodClass
from support import api_objects
from support import decoded as pod


def pod_class(*, name: str = "a", status: dict[str, Any] | None = None, **parts: Any) -> PodClass:
    """Return the ask of a pod with these parts of a spec, or `metadata`."""
    metadata = parts.pop("metadata", {})
    body = api_objects.pod_body(name, metadata=metadata, status=status or {})
    body["spec"] |= parts
    return pod.pod(body).pod_class


def container(**parts: Any) -> dict[str, Any]:
    return {"name": "main", **parts}


def requests(**amounts: str) -> dict[str, Any]:
    return {"requests": amounts}


NEEDS_GPU_NODE = [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
DIFFERENT: dict[str, dict[str, Any]] = {
    "requests": {"containers": [container(resources=requests(cpu="3"))]},
    "limits": {"containers": [container(resources={"limits": {"cpu": "3"}})]},
    "port": {"containers": [container(ports=[{"hostPort": 80}])]},
    "init container": {"initContainers": [container(resources=requests(cpu="7"))]},
    "pod-level requests": {"resources": requests(cpu="9")},
    "overhead": {"overhead": {"cpu": "1"}},
    "selector": {"nodeSelector": {"gpu": "yes"}},
    "affinity": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": NEEDS_GPU_NODE
                }
            }
        }
    },
    "toleration": {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    "host network": {"hostNetwork": True, "containers": [container(ports=[{"containerPort": 80}])]},
    "users": {"hostNetwork": True, "hostUsers": False},
    "claims": {"resourceClaims": [{"name": "gpu"}]},
    "annotation": {"metadata": {"annotations": {annotations.KUEUE_PODSET_PREFIX + "new": "x"}}},
    "spread": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ]
    },
}


def test_pods_that_are_written_alike_share_one_ask() -> None:
    assert pod_class(name="a") is pod_class(name="b", nodeName="n1")


@pytest.mark.parametrize("parts", DIFFERENT.values(), ids=list(DIFFERENT))
def test_what_matters_makes_another_ask(parts: dict[str, Any]) -> None:
    plain = pod_class()

    assert plain != pod_class(**parts)
    assert pod_class(**parts) is pod_class(name="b", **parts)


def test_what_a_pod_uses_on_its_node_makes_another_ask() -> None:
    plain = pod_class(nodeName="n1")
    used = [{"name": "main", "allocatedResources": {"cpu": "5"}}]
    status = {"containerStatuses": used}

    assert plain != pod_class(nodeName="n1", containers=[container()], status=status)
    assert pod_class(nodeName="n1", containers=[container()], status=status) != pod_class(
        nodeName="n1", containers=[container()]
    )


def test_a_fault_is_reported_each_time() -> None:
    for name in "ab":
        with pytest.raises(InvalidField, match="overhead"):
            pod_class(name=name, overhead={"cpu": "much"})


def test_no_more_ways_to_write_a_pod_are_kept_than_there_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pod_pod_class, "MOST_KNOWN", 10)

    for number in range(100):
        pod_class(overhead={"cpu": f"{number}m"})

    assert len(pod_pod_class._known) <= 10
