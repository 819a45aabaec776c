"""A SparkApplication has a driver, which has executors."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    Body,
    labels_of,
    owned_by,
    owners_of,
    pod_named,
    pods_made,
    stored,
)


def application(driver: Body | None = None, executor: Body | None = None, **spec: Any) -> Body:
    return {
        "kind": "SparkApplication",
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "s", "labels": {"team": "a"}},
        "spec": {"type": "Scala", "driver": driver or {}, "executor": executor or {}, **spec},
    }


@pytest.mark.parametrize(
    ("body", "number"),
    [
        (application(), 2),
        (application(executor={"instances": 3}), 3),
        (application(sparkConf={"spark.executor.instances": "4"}), 4),
        (application(dynamicAllocation={"enabled": True, "minExecutors": 1}), 1),
        (
            application(
                executor={"instances": 1},
                dynamicAllocation={"enabled": True, "initialExecutors": 5},
            ),
            5,
        ),
    ],
)
def test_the_driver_asks_for_executors(body: Body, number: int) -> None:
    executors = [f"s-00000-exec-{i + 1}" for i in range(number)]

    assert ["s-driver", *executors] == [*pods_made(body)]


def test_pods_are_labelled_by_their_role() -> None:
    pods = pods_made(application(executor={"labels": {"gang": "x"}}))
    driver, executor = pods["s-driver"], pods["s-00000-exec-1"]

    assert ["driver", "executor"] == [
        labels_of(each, "spark-")["role"] for each in (driver, executor)
    ]
    assert ("1", "a", "x") == tuple(
        executor["metadata"]["labels"][key] for key in ("spark-exec-id", "team", "gang")
    )
    assert [["SparkApplication s"], ["Pod s-driver"]] == [owners_of(driver), owners_of(executor)]


@pytest.mark.parametrize(
    ("given", "spec", "requests"),
    [
        ({}, {}, {"cpu": "1", "memory": "1408Mi"}),
        ({"cores": 2, "memory": "10g"}, {}, {"cpu": "2", "memory": "11264Mi"}),
        ({"coreRequest": "100m", "memory": "512m"}, {}, {"cpu": "100m", "memory": "896Mi"}),
        ({"memory": "10g"}, {"type": "Python"}, {"cpu": "1", "memory": "14336Mi"}),
        ({"memory": "1g", "memoryOverhead": "1g"}, {}, {"cpu": "1", "memory": "2048Mi"}),
        ({"memory": "10g"}, {"memoryOverheadFactor": "0.2"}, {"cpu": "1", "memory": "12288Mi"}),
        ({"memory": "1024"}, {}, {"cpu": "1", "memory": "1408Mi"}),
        ({"memory": "1073741824b"}, {}, {"cpu": "1", "memory": "1408Mi"}),
    ],
)
def test_a_pod_asks_for_what_its_process_has_and_the_overhead(
    given: Body, spec: Body, requests: Body
) -> None:
    driver = pods_made(application(given, **spec))["s-driver"]

    assert requests == driver["spec"]["containers"][0]["resources"]["requests"]


def test_a_pod_has_what_the_operator_adds() -> None:
    given = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "k"}],
        "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
        "priorityClassName": "high",
        "sidecars": [{"name": "side"}],
        "template": {"spec": {"containers": [{"name": "mine"}]}},
    }
    body = application(given, batchScheduler="ours", nodeSelector={"zone": "z"})
    spec = pods_made(body)["s-driver"]["spec"]

    assert ({"disk": "ssd", "zone": "z"}, [{"key": "k"}], "high", "ours") == tuple(
        spec[key] for key in ("nodeSelector", "tolerations", "priorityClassName", "schedulerName")
    )
    assert ["mine", "side"] == [each["name"] for each in spec["containers"]]
    assert "1" == spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]


def test_executors_that_are_there_are_not_made_again() -> None:
    known = stored(application(executor={"instances": 3}))
    driver = pod_named("s-driver", uid="d")
    executor = owned_by(driver, pod_named("s-1f-exec-4", uid="e", labels={"spark-exec-id": "4"}))

    assert ["s-00000-exec-5", "s-00000-exec-6"] == [*pods_made(known, driver, executor)]


@pytest.mark.parametrize(
    ("spec", "phase"),
    [({"dynamicAllocation": {"enabled": True}}, "Running"), ({}, "Succeeded")],
)
def test_a_driver_that_has_what_it_wants_or_ended_gets_no_more(spec: Body, phase: str) -> None:
    known = stored(application(executor={"instances": 3}, **spec))

    assert {} == pods_made(known, pod_named("s-driver", phase=phase, uid="d"))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            application({"memory": "lots"}),
            'spec.driver.memory must be an amount of memory such as 512m or 4g, not "lots"',
        ),
        (
            application(memoryOverheadFactor="much"),
            'spec.memoryOverheadFactor must be a number such as 0.1, not "much"',
        ),
        ({**application(), "spec": {"driver": {}}}, "spec.executor is required"),
    ],
)
def test_what_cannot_be_submitted_is_refused_by_field(body: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(body)

    assert problem == str(caught.value)
