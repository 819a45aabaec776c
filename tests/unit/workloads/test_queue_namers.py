"""Which objects name the queue of pods. What comes of it: tests/cases/queues.yaml."""

from typing import Any

import pytest

from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.wire.base import Metadata
from gang_scheduler.workloads import queue_namers, table

HASHED = {"pod-template-hash": "7f"}
OURS, KUEUES = "py-gang-scheduler.io/queue", "kueue.x-k8s.io/queue-name"


def names_of(**metadata: Any) -> list[str]:
    body = {"metadata": {"name": "p", "namespace": "ns", "uid": "p", **metadata}, "spec": {}}
    return [*queue_namers.of_pod(pod_decode.pod(body, table.MEMBERSHIP))]


def owned_by(kind: str, name: str) -> list[dict[str, object]]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "o", "controller": True}
    return [owner]


@pytest.mark.parametrize(
    ("metadata", "names"),
    [
        ({"ownerReferences": owned_by("StatefulSet", "s")}, ["StatefulSet ns/s"]),
        (
            {
                "ownerReferences": owned_by("ReplicaSet", "d-7f"),
                "labels": {"pod-template-hash": "7f"},
            },
            ["Deployment ns/d"],
        ),
        ({"ownerReferences": owned_by("ReplicaSet", "d-7f")}, []),
        (
            {"ownerReferences": owned_by("ReplicaSet", "r"), "labels": HASHED},
            [],
        ),
        ({"labels": {"workload.codeflare.dev/appwrapper": "w"}}, ["AppWrapper ns/w"]),
        (
            {
                "ownerReferences": owned_by("StatefulSet", "s"),
                "labels": {"workload.codeflare.dev/appwrapper": "w"},
            },
            ["StatefulSet ns/s", "AppWrapper ns/w"],
        ),
        ({}, []),
    ],
)
def test_which_objects_may_name_the_queue_of_a_pod(
    metadata: dict[str, Any], names: list[str]
) -> None:
    assert names == names_of(**metadata)


@pytest.mark.parametrize("key", [OURS, KUEUES, "volcano.sh/queue-name"])
def test_an_object_names_it_by_any_of_its_labels(key: str) -> None:
    found = queue_namers.named_queue(
        "AppWrapper", Metadata(name="w", namespace="ns", labels={key: "q"})
    )

    assert "AppWrapper ns/w" == found.workload
    assert found.queue_request is not None
    assert "q" == found.queue_request.names[0].name


def test_most_objects_say_nothing() -> None:
    found = queue_namers.named_queue(
        "Deployment", Metadata(name="d", namespace="ns", labels={"a": "b"})
    )

    assert ("", None) == (found.workload, found.queue_request)
