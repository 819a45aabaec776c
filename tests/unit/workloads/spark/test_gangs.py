"""Executors of Spark that are to be a gang."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import GANG_MIN_AVAILABLE, JOB_GANG_LABEL
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import QueueName, QueueNameKind, QueueRequest
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import spark
from support import decoded
from support.api_objects import pod_body

LABEL = {JOB_GANG_LABEL: "true"}


def pod(role: str = "executor", *, app: str = "etl", least: str = "", **labels: str) -> Pod:
    written = {"spark-role": role, "spark-app-selector": "spark-1", "spark-exec-id": "7", **labels}
    named = {"sparkoperator.k8s.io/app-name": app} if app else {}
    annotations = {GANG_MIN_AVAILABLE: least} if least else {}
    metadata = {"labels": {**written, **named}, "annotations": annotations}
    return decoded.pod(pod_body("a", metadata=metadata))


def described(executor: dict[str, Any] | None = None, **spec: Any) -> GangSpec:
    labels = {"kueue.x-k8s.io/queue-name": "q"}
    metadata = {"name": "etl", "namespace": "default", "uid": "u", "labels": labels}
    body = {
        "metadata": metadata,
        "spec": {"executor": {"labels": LABEL, **(executor or {})}, **spec},
    }
    (found,) = spark.read(body).gang_specs
    return found


def gang_of(member: Pod, of_object: GangSpec | None) -> GangSpec:
    found = spark.by_members(member.gang, [member], of_object)
    assert found is not None
    return found


def test_executors_with_the_label_are_of_their_application() -> None:
    member = pod(**LABEL)

    assert ("SparkApplication", "etl") == (member.gang.source, member.gang.name)
    assert ("executor", (7,)) == (member.role, member.rank)
    assert "spark-1" == pod(app="", **LABEL).gang.name


def test_a_driver_and_executors_without_the_label_are_single_pods() -> None:
    assert "Pod" == pod("driver", **LABEL).gang.source
    assert "Pod" == pod().gang.source


@pytest.mark.parametrize(
    ("executor", "spec", "number"),
    [
        ({"instances": 8}, {}, 8),
        ({}, {"sparkConf": {"spark.executor.instances": "4"}}, 4),
        ({}, {"sparkConf": {"spark.executor.instances": "x"}}, 2),
        ({}, {}, 2),
        ({"instances": 8}, {"dynamicAllocation": {"enabled": True, "minExecutors": 3}}, 3),
        ({"instances": 8}, {"dynamicAllocation": {"enabled": True}}, 1),
        (
            {"instances": 8},
            {
                "sparkConf": {
                    "spark.dynamicAllocation.enabled": "true",
                    "spark.dynamicAllocation.minExecutors": "5",
                }
            },
            5,
        ),
    ],
)
def test_the_application_says_how_many(
    executor: dict[str, Any], spec: dict[str, Any], number: int
) -> None:
    assert number == gang_of(pod(**LABEL), described(executor, **spec)).min_member


def test_what_the_executors_say_themselves_counts_first() -> None:
    assert 6 == gang_of(pod(least="6", **LABEL), described({"instances": 8})).min_member


def test_the_application_says_the_queue() -> None:
    expected = QueueRequest((QueueName(QueueNameKind.LOCAL_QUEUE, "q"),))
    assert expected == gang_of(pod(**LABEL), described()).queue_request


def test_without_an_application_the_executors_must_say_how_many() -> None:
    problem = gang_of(pod(**LABEL), None).problem

    assert problem is not None
    assert "is required where no SparkApplication says it" in text_of(problem.cause)


def test_an_application_without_the_label_describes_no_gang() -> None:
    body = {"metadata": {"name": "a", "namespace": "b", "uid": "u"}, "spec": {"executor": {}}}

    assert () == spark.read(body).gang_specs
