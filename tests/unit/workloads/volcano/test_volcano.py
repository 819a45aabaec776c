"""A Job of Volcano has a PodGroup, and pods task by task."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    TEMPLATE,
    Body,
    annotations_of,
    expanded,
    labels_of,
    notes_on,
    owned_by,
    owners_of,
    pod_named,
    pods_made,
    stored,
)


def job(*tasks: Body, **spec: Any) -> Body:
    return {
        "kind": "Job",
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "metadata": {"name": "v"},
        "spec": {"schedulerName": "ours", "tasks": [*tasks], **spec},
    }


def task(name: str, replicas: int, **given: Any) -> Body:
    return {"name": name, "replicas": replicas, "template": TEMPLATE, **given}


def test_pods_are_named_and_labelled_by_their_task() -> None:
    pods = pods_made(job(task("ps", 1), task("worker", 2), queue="team"))

    assert ["v-ps-0", "v-worker-0", "v-worker-1"] == [*pods]
    common = {"job-name": "v", "queue-name": "team", "task-index": "1", "task-spec": "worker"}
    pod = pods["v-worker-1"]
    assert {**common, "job-namespace": "default"} == labels_of(pod, "volcano.sh/")
    others = {"template-uid": "v-worker", "job-version": "0", "job-retry-count": "0"}
    assert {**common, **others} == annotations_of(pod, "volcano.sh/")
    assert (["Job v"], "ours") == (owners_of(pod), pod["spec"]["schedulerName"])


@pytest.mark.parametrize(
    ("body", "least", "tasks"),
    [
        (job(task("a", 2), task("b", 1)), 3, {"a": 2, "b": 1}),
        (job(task("a", 2, minAvailable=1), task("b", 1)), 2, {"a": 1, "b": 1}),
        (job(task("a", 2), task("b", 1), minAvailable=2), 2, {"a": 2, "b": 1}),
        (job({**task("", 2)}), 2, {"default0": 2}),
        (
            job(task("a", 6, partitionPolicy={"partitionSize": 2, "minPartitions": 2})),
            *(4, {"a": 4}),
        ),
    ],
)
def test_its_pod_group_has_a_minimum_a_task(body: Body, least: int, tasks: dict[str, int]) -> None:
    group = expanded(body)[0]

    assert ("PodGroup", least, tasks, "default") == (
        group["kind"],
        group["spec"]["minMember"],
        group["spec"]["minTaskMember"],
        group["spec"]["queue"],
    )


def test_what_tasks_say_in_vain_is_noted() -> None:
    (note,) = notes_on(job(task("a", 1), task("b", 4, minAvailable=4), minAvailable=1))

    assert note == (
        "Job v: minAvailable 1 is below that of its tasks, 5: as with Volcano, that of the tasks "
        "is ignored, and the Job starts with 1 of its pods, of whatever task"
    )


@pytest.mark.parametrize(
    "body",
    [
        job(task("a", 1), task("b", 4), minAvailable=1),
        job(task("a", 1), task("b", 4, minAvailable=4), minAvailable=5),
        job(task("a", 1), task("b", 4, minAvailable=4)),
        job(task("a", 1), task("b", 4, minAvailable=0), minAvailable=0),
    ],
)
def test_what_tasks_say_with_effect_is_not_noted(body: Body) -> None:
    assert [] == notes_on(body)


def test_its_pods_name_its_pod_group() -> None:
    group, pod = expanded(stored(job(task("a", 1)), uid="1-2-3"))

    assert "v-1-2-3" == group["metadata"]["name"]
    assert "v-1-2-3" == pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]


def test_pods_without_a_scheduler_are_volcanos_as_its_webhook_says() -> None:
    pods = pods_made(job(task("a", 1), schedulerName=None, priorityClassName="high"))

    assert ("volcano", "high") == tuple(
        pods["v-a-0"]["spec"][key] for key in ("schedulerName", "priorityClassName")
    )


def test_the_partition_of_a_pod_is_labelled() -> None:
    pods = pods_made(job(task("a", 4, partitionPolicy={"partitionSize": 2})))

    found = [each["metadata"]["labels"]["volcano.sh/partition-id"] for each in pods.values()]
    assert ["0", "0", "1", "1"] == found


def test_what_is_there_is_not_made_again() -> None:
    known = stored(job(task("a", 3)))
    group = {
        "kind": "PodGroup",
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "metadata": {"name": "v-old", "uid": "g"},
    }
    made = expanded(known, owned_by(known, group), owned_by(known, pod_named("v-a-1", uid="p")))

    assert ["v-a-0", "v-a-2"] == [each["metadata"]["name"] for each in made]
    assert "v-old" == made[0]["metadata"]["annotations"]["scheduling.k8s.io/group-name"]


def test_a_job_that_has_ended_makes_nothing() -> None:
    assert [] == expanded({**job(task("a", 1)), "status": {"state": {"phase": "Completed"}}})


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (job(), "spec.tasks is required"),
        (
            job(task("a", 1), task("a", 2)),
            'spec.tasks[].name must differ from task to task (it is "a")',
        ),
        (
            job(task("a", 1, minAvailable=2)),
            "spec.tasks[0].minAvailable must be at most the replicas (1), not 2",
        ),
        (
            job(task("a", 1), minAvailable=2),
            "spec.minAvailable must be at most the replicas of all tasks (1), not 2",
        ),
        (
            job({"name": "a", "replicas": 1}),
            "spec.tasks[0].template.spec.containers is required",
        ),
    ],
)
def test_what_the_webhook_refuses_is_refused_by_field(body: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(body)

    assert problem == str(caught.value)
