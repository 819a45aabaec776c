"""A pod as the auditor reads it: its requests are those that the product counts."""

from typing import Any

import msgspec
import pytest

from gang_auditor.objects import Pod
from gang_scheduler.decode.pods import pod_class
from gang_scheduler.wire import pods as wire
from support.audit_streams import bound, pod


def container(name: str = "main", **fields: Any) -> dict[str, Any]:
    resources = {key: fields.pop(key) for key in ("requests", "limits") if key in fields}
    return {"name": name, "image": "none", "resources": resources, **fields}


RESIZED = {
    "containerStatuses": [
        {
            "name": "main",
            "allocatedResources": {"cpu": "3"},
            "resources": {"requests": {"cpu": "4"}},
        }
    ]
}
INFEASIBLE = {
    "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
    **RESIZED,
}
PODS = {
    "nothing": {"containers": [container()]},
    "two containers": {
        "containers": [container(requests={"cpu": "1"}), container("b", requests={"cpu": "500m"})]
    },
    "limits alone": {"containers": [container(limits={"nvidia.com/gpu": "4", "cpu": "2"})]},
    "an init container that asks for more": {
        "containers": [container(requests={"cpu": "1"})],
        "initContainers": [container("init", requests={"cpu": "3", "memory": "1Gi"})],
    },
    "a sidecar": {
        "containers": [container(requests={"cpu": "1"})],
        "initContainers": [
            container("side", requests={"cpu": "2"}, restartPolicy="Always"),
            container("init", requests={"cpu": "2"}),
        ],
    },
    "overhead": {
        "containers": [container(requests={"cpu": "1"})],
        "overhead": {"cpu": "250m", "memory": "120Mi"},
    },
    "resources of the pod": {
        "containers": [container(requests={"cpu": "1", "example.com/x": "1"})],
        "resources": {"requests": {"cpu": "4"}, "limits": {"memory": "1Gi", "cpu": "6"}},
    },
}


@pytest.mark.parametrize("status", [{}, RESIZED, INFEASIBLE], ids=["as it is", "resized", "not"])
@pytest.mark.parametrize("spec", PODS.values(), ids=PODS)
def test_requests_are_those_of_the_product(spec: dict[str, Any], status: dict[str, Any]) -> None:
    manifest = bound(pod("a", **spec), "n1")
    manifest["status"] = status
    decoded = msgspec.convert(manifest, wire.Pod)

    counted = {name: count for name, count in Pod(manifest).requests.items() if count}
    assert {name: e for name, e in pod_class.pod_requests(decoded).items() if e} == counted


def test_fields_of_another_type_count_as_absent() -> None:
    broken = Pod({"metadata": [], "spec": {"containers": "none"}, "status": None})

    assert ("", "", {"pods": 1}) == (broken.name, broken.node, broken.requests)
