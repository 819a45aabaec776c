"""LocalQueues, WorkloadPriorityClasses and AdmissionChecks."""

from fractions import Fraction
from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.queues import kueue
from gang_scheduler.decode.queues.declared import AdmissionCheck, LocalQueue, WorkloadPriorityClass
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.queues import QueueKind, QueueRef

METADATA = {"name": "n", "namespace": "team", "uid": "u"}


def local_queue(**spec: Any) -> LocalQueue:
    return kueue.local_queue({"metadata": METADATA, "spec": spec})


def test_a_local_queue_names_a_cluster_queue() -> None:
    found = local_queue(clusterQueue="cq", stopPolicy="Hold", fairSharing={"weight": 2})

    ref = QueueRef(QueueKind.CLUSTER_QUEUE, "cq")
    assert LocalQueue("u", "team", "n", ref, StopPolicy.HOLD, Fraction(2)) == found


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"stopPolicy": "Off"}, "spec.stopPolicy must be one of None, Hold, HoldAndDrain"),
        ({"clusterQueue": 1}, "spec.clusterQueue must be a string, not 1"),
        ({"fairSharing": {"weight": "-1"}}, "spec.fairSharing.weight must be at least 0, not -1"),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_value(
    spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidField, match=words):
        local_queue(**spec)


def test_a_workload_priority_class_has_a_value() -> None:
    found = kueue.workload_priority_class({"metadata": METADATA, "value": -5})

    assert WorkloadPriorityClass("u", "n", -5) == found
    with pytest.raises(InvalidField, match='value must be a whole number, not "high"'):
        kueue.workload_priority_class({"metadata": METADATA, "value": "high"})


def test_an_admission_check_has_a_controller() -> None:
    spec = {"controllerName": "example.com/check"}
    found = kueue.admission_check({"metadata": METADATA, "spec": spec})

    assert AdmissionCheck("u", "n", "example.com/check") == found
    with pytest.raises(InvalidField, match=r"spec.controllerName must be a string, not \[\]"):
        kueue.admission_check({"metadata": METADATA, "spec": {"controllerName": []}})
