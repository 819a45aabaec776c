"""A SparkApplication has a driver, which has executors."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    Body,
    expanded,
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


VOLUMES = "spark.kubernetes.{}.volumes"


def conf(role: str = "driver", **options: str) -> dict[str, str]:
    """Return properties of Spark: hostPath.data.options.path is written hostPath_data_path."""
    keys = {key: key.split("_") for key in options}
    return {
        f"{VOLUMES.format(role)}.{kind}.{name}.options.{option}": options[key]
        for key, (kind, name, option) in keys.items()
    }


LOCAL = {"name": "spark-local-dir-1", "emptyDir": {}}


@pytest.mark.parametrize(
    ("properties", "volumes"),
    [
        ({}, [LOCAL]),
        ({"spark.local.dir": "/a,/b"}, [LOCAL, {"name": "spark-local-dir-2", "emptyDir": {}}]),
        (
            conf(hostPath_x_path="/disks", hostPath_x_type="Directory"),
            [{"name": "x", "hostPath": {"path": "/disks", "type": "Directory"}}, LOCAL],
        ),
        (
            {f"{VOLUMES.format('driver')}.emptyDir.spark-local-dir-7.mount.path": "/data"},
            [{"name": "spark-local-dir-7", "emptyDir": {}}],
        ),
        (
            conf(emptyDir_x_medium="Memory", emptyDir_x_sizeLimit="1Gi"),
            [{"name": "x", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, LOCAL],
        ),
        (
            conf(nfs_x_server="s", nfs_x_path="/p"),
            [{"name": "x", "nfs": {"server": "s", "path": "/p"}}, LOCAL],
        ),
        (
            conf(persistentVolumeClaim_x_claimName="mine"),
            [{"name": "x", "persistentVolumeClaim": {"claimName": "mine"}}, LOCAL],
        ),
        (conf("executor", hostPath_x_path="/disks"), [LOCAL]),
    ],
)
def test_a_pod_has_the_volumes_that_spark_adds(
    properties: dict[str, str], volumes: list[Body]
) -> None:
    driver = pods_made(application(sparkConf=properties))["s-driver"]

    assert volumes == driver["spec"]["volumes"]


def test_a_local_directory_of_the_application_is_the_only_one() -> None:
    local = {"name": "spark-local-dir-1", "hostPath": {"path": "/disk"}}
    mounted = {"volumeMounts": [{"name": "spark-local-dir-1", "mountPath": "/data"}]}
    driver = pods_made(application(mounted, volumes=[local]))["s-driver"]

    assert [local] == driver["spec"]["volumes"]


@pytest.mark.parametrize(
    ("claim", "storage_class", "names"),
    [
        ("OnDemand", "fast", ["s-00000-exec-1-pvc-0", "s-00000-exec-2-pvc-0"]),
        ("d-SPARK_EXECUTOR_ID", "", ["d-1", "d-2"]),
    ],
)
def test_executors_have_claims_that_are_made_with_them(
    claim: str, storage_class: str, names: list[str]
) -> None:
    properties = conf(
        "executor",
        persistentVolumeClaim_x_claimName=claim,
        persistentVolumeClaim_x_storageClass=storage_class,
        persistentVolumeClaim_x_sizeLimit="9Gi",
    )
    body = application(sparkConf=properties)
    claims = [each for each in expanded(body) if each["kind"] == "PersistentVolumeClaim"]

    assert names == [each["metadata"]["name"] for each in claims]
    assert {"9Gi"} == {each["spec"]["resources"]["requests"]["storage"] for each in claims}
    assert {storage_class} == {each["spec"].get("storageClassName", "") for each in claims}
    assert [["Pod s-00000-exec-1"], ["Pod s-00000-exec-2"]] == [*map(owners_of, claims)]
    assert names == [
        each["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
        for name, each in pods_made(body).items()
        if name != "s-driver"
    ]


def test_a_claim_of_which_no_size_is_said_is_made_by_nobody() -> None:
    properties = conf("executor", persistentVolumeClaim_x_claimName="OnDemand")

    assert {"Pod"} == {each["kind"] for each in expanded(application(sparkConf=properties))}


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (
            conf(hostPath_x_type="Directory"),
            "spec.sparkConf[spark.kubernetes.driver.volumes.hostPath.x.options.path] is required",
        ),
        (
            conf(disk_x_path="/d"),
            (
                "spec.sparkConf[spark.kubernetes.driver.volumes.disk.x.options.path] must name "
                'one of hostPath, emptyDir, nfs, persistentVolumeClaim, not "disk"'
            ),
        ),
    ],
)
def test_a_volume_that_spark_does_not_know_is_refused(
    properties: dict[str, str], error: str
) -> None:
    with pytest.raises(InvalidField) as raised:
        pods_made(application(sparkConf=properties))

    assert error == str(raised.value)
