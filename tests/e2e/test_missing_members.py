"""A PodGroup is told by an Event why its members may never come, half a minute after it begins."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests
from e2e.support.namespaces import Namespace
from e2e.support.waiting import TIMEOUT_SECONDS, until
from gang_scheduler.report.missing_members import NAMED_BY_NO_POD, PATIENCE_SECONDS, REASON
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

LONG_ENOUGH = PATIENCE_SECONDS + TIMEOUT_SECONDS


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Start a control plane that serves native PodGroups."""
    with controlplane.start(controlplane.Options(native_gangs=True)) as started:
        started.kubectl("apply", f"--filename={gang_manifests.CRDS}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


def test_every_gang_that_lacks_members_gets_an_event_with_a_likely_cause(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1)
    namespace.create(manifests.pod_group("theirs", 2), manifests.pod_group("in-order", 3))
    namespace.create(*manifests.members("theirs", 2, scheduler="another-scheduler"))
    namespace.create(manifests.pod_group("complete", 2))
    namespace.create(*manifests.members("complete", 2, on=namespace.here))
    create_stateful_set(namespace, "in-order", 3)
    policy = {"gang": {"minCount": 2}}
    gang_manifests.create(namespace, gang_manifests.native_pod_group("native", policy))

    assert ("Warning", of_another_scheduler(2)) == told(namespace, "theirs")
    kind, note = told(namespace, "in-order")
    assert "Warning" == kind
    assert note.startswith(
        "of StatefulSet in-order only pod in-order-0 waits, and the gang needs 3"
    )
    assert "If its podManagementPolicy is OrderedReady" in note
    assert ("Normal", NAMED_BY_NO_POD) == told(namespace, "native")
    assert [] == namespace.notes("complete", REASON)


def of_another_scheduler(number: int) -> str:
    pods = f"{number} with schedulerName another-scheduler"
    ours = manifests.SCHEDULER
    return f"pods of another scheduler name this gang ({pods}): members need {ours}"


def told(namespace: Namespace, name: str) -> tuple[str, str]:
    """Wait for the one Event on a PodGroup; return its type and note."""
    (event,) = until(partial(events, namespace, name), LONG_ENOUGH)
    assert "PodGroup" == event["regarding"]["kind"]
    return event["type"], event["note"]


def events(namespace: Namespace, name: str) -> list[dict[str, Any]]:
    return [each for each in namespace.events(name) if each["reason"] == REASON]


def create_stateful_set(namespace: Namespace, name: str, replicas: int) -> None:
    """Create a StatefulSet of members that are created one after the other."""
    pod = manifests.pod("of-template", gang_name=name)
    labels = pod["metadata"]["labels"]
    document = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "OrderedReady",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
        },
    }
    path = f"/apis/apps/v1/namespaces/{namespace.name}/statefulsets"
    namespace.cluster.request("POST", path, document)
