"""The objects that a job becomes: each row of the table of fields, for each kind."""

import json
from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.submit import objects
from gang_scheduler.submit.objects import Planned
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.training_job import TrainingJob
from gang_scheduler.submit.usable_names import PriorityClass, UsableNames

USABLE = UsableNames(
    priority_classes=(
        PriorityClass("low", 10),
        PriorityClass("high", 1000),
        PriorityClass("patient", 1000, never=True),
    ),
    queues=frozenset({"team-a"}),
    flavors={"h100": {"pool": "h100"}},
    gpu_types=frozenset({"NVIDIA-A100"}),
    kinds=frozenset({"Job", "JobSet", "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "JAXJob"}),
    managed=frozenset({"Job", "PyTorchJob"}),
)
ROLES = [{"name": "learner", "nodes": 2}, {"name": "rollout", "nodes": 3, "command": ["roll"]}]
ELASTIC = {"nodes": "2:8", "elastic": {"scale_policy": {"scale_up_step": 2}}}


def planned(**fields: Any) -> list[Planned]:
    whole = {"name": "a", "namespace": "n", "image": "i", "command": ["run"], **fields}
    return objects.planned(TrainingJob.model_validate(whole), USABLE)


def job(**fields: Any) -> dict[str, Any]:
    """Return the spec of the object that owns the others."""
    spec: dict[str, Any] = planned(**fields)[0].body["spec"]
    return spec


def pod(**fields: Any) -> dict[str, Any]:
    template: dict[str, Any] = job(**fields)["template"]
    return template


def container(**fields: Any) -> dict[str, Any]:
    (found,) = pod(**fields)["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def variables(**fields: Any) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container(**fields)["env"]}


def pod_group(**fields: Any) -> dict[str, Any]:
    return planned(**fields)[-1].body


def refused(**fields: Any) -> str:
    with pytest.raises(Refused) as caught:
        planned(**fields)
    return str(caught.value)


def test_a_job_owns_a_service_and_a_pod_group() -> None:
    assert ["Job", "Service", "PodGroup"] == [each.kind for each in planned(nodes=4)]
    assert {"a"} == {each.name for each in planned(nodes=4)}
    assert ["Job", "PodGroup"] == [each.kind for each in planned(nodes=1)]


def test_a_job_is_indexed_and_evictions_are_no_failures() -> None:
    spec = job(nodes=4)

    assert ("Indexed", 4, 4) == (spec["completionMode"], spec["completions"], spec["parallelism"])
    by_condition, by_code = spec["podFailurePolicy"]["rules"]
    assert {"Ignore"} == {by_condition["action"], by_code["action"]}
    assert "DisruptionTarget" == by_condition["onPodConditions"][0]["type"]
    assert [143] == by_code["onExitCodes"]["values"]
    assert (1, 0) == (spec["backoffLimitPerIndex"], spec["maxFailedIndexes"])
    assert "Never" == pod()["spec"]["restartPolicy"]
    assert "py-gang-scheduler" == pod()["spec"]["schedulerName"]
    assert "a" == pod()["metadata"]["labels"][annotations.POD_GROUP_LABEL]


def test_all_members_start_together() -> None:
    assert {"minMember": 4} == pod_group(nodes=4)["spec"]


def test_an_elastic_job_starts_with_the_least() -> None:
    spec, group = job(**ELASTIC), pod_group(**ELASTIC)

    assert (8, 8) == (spec["completions"], spec["parallelism"])
    assert {"minMember": 2} == group["spec"]
    assert {"minWorkers": 2, "maxWorkers": 8, "scalePolicy": {"scaleUpStep": 2}} == json.loads(
        group["metadata"]["annotations"][annotations.ELASTIC]
    )
    assert [{"succeededIndexes": "0"}] == spec["successPolicy"]["rules"]


def test_requests_are_limits() -> None:
    asked = {"gpu": 8, "cpu": "32", "memory": "256Gi"}
    found = container(resources=asked, gpu_resource="amd.com/gpu")["resources"]

    assert {"cpu": "32", "memory": "256Gi", "amd.com/gpu": "8"} == found["requests"]
    assert found["requests"] == found["limits"]


def test_variables_let_torchrun_work_as_it_is() -> None:
    found = variables(nodes=4, resources={"gpu": 8})

    assert ("a-0.a", "4", "") == (found["MASTER_ADDR"], found["NNODES"], found["NODE_RANK"])
    assert ("4", "8", "a-0.a") == tuple(
        found[f"PET_{name}"] for name in ("NNODES", "NPROC_PER_NODE", "MASTER_ADDR")
    )
    assert "PET_RDZV_BACKEND" not in found
    assert "a" == pod(nodes=4)["spec"]["subdomain"]


def test_an_elastic_job_has_a_rendezvous() -> None:
    found = variables(**ELASTIC)

    assert ("2:8", "c10d", "a-0.a:29400", "a") == tuple(
        found[f"PET_{name}"] for name in ("NNODES", "RDZV_BACKEND", "RDZV_ENDPOINT", "RDZV_ID")
    )


def test_a_single_member_finds_itself() -> None:
    assert "localhost" == variables()["MASTER_ADDR"]


@pytest.mark.parametrize(
    ("field", "strategy"), [("must", "MustGather"), ("prefer", "PreferGather")]
)
def test_a_layer_is_gathered_in(field: str, strategy: str) -> None:
    found = pod_group(nodes=2, **{field: "SpineLayer"})["metadata"]["annotations"]

    assert {"gatherStrategy": [{"layer": "SpineLayer", "strategy": strategy}]} == json.loads(
        found[annotations.NETWORK_TOPOLOGY_SPEC]
    )


@pytest.mark.parametrize(
    ("field", "key"),
    [("must", annotations.PODSET_REQUIRED), ("prefer", annotations.PODSET_PREFERRED)],
)
def test_a_label_is_gathered_by(field: str, key: str) -> None:
    found = pod(nodes=2, **{field: "example.com/rack"})["metadata"]["annotations"]

    assert {key: "example.com/rack"} == found


def test_a_type_of_gpu_is_a_flavor_or_a_product() -> None:
    assert {"pool": "h100"} == pod(gpu_type="h100")["spec"]["nodeSelector"]
    selector = pod(gpu_type="NVIDIA-A100")["spec"]["nodeSelector"]
    assert {"nvidia.com/gpu.product": "NVIDIA-A100"} == selector
    said = refused(gpu_type="B200")
    assert "gpuType: B200 is the type of no node; known types: NVIDIA-A100, h100" == said


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"priority": 10}, "low"),
        ({"priority_class": "patient"}, "patient"),
        ({"priority": 1000, "preemption_policy": "Never"}, "patient"),
        ({"priority": 1000, "preemption_policy": "PreemptLower"}, "high"),
        ({"preemption_policy": "PreemptLower"}, None),
    ],
)
def test_a_priority_is_that_of_a_class(fields: dict[str, Any], name: str | None) -> None:
    assert name == pod(**fields)["spec"].get("priorityClassName")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"priority": 5}, "priority: 5 is the value of no PriorityClass; known ones: low (10), "),
        ({"priority_class": "top"}, "priorityClass: top is no PriorityClass"),
        (
            {"priority": 10, "preemption_policy": "Never"},
            "preemptionPolicy: Never is not the ",
        ),
        ({"preemption_policy": "Never"}, "preemptionPolicy: Never is not the "),
        ({"queue": "team-b"}, "queue: team-b does not exist; known queues: team-a"),
        ({"image": ""}, "image: is required"),
        ({"job_type": "PaddleJob"}, "jobType: PaddleJob is not served by the cluster; install"),
        ({"job_type": "TFJob", "nodes": "2:8"}, "nodes: 2:8 is a range"),
        ({"job_type": "TFJob", "gang_scheduling": False}, "gangScheduling: false"),
        ({"job_type": "JAXJob", "roles": [{"name": "ps"}]}, "roles: ps is no role of a JAXJob"),
    ],
)
def test_what_cannot_be_honoured_is_refused(fields: dict[str, Any], problem: str) -> None:
    assert refused(**fields).startswith(problem)


def test_a_partition_that_is_no_queue_can_be_left_out() -> None:
    said = refused(queue="gpu", script={"text": "true"}, command=[])

    assert said.endswith(
        "known queues: team-a: leave it out with --ignore partition, or give --queue"
    )


def test_a_queue_is_a_label_of_all() -> None:
    found = planned(nodes=2, queue="team-a", user="ada")
    labels = [each.body["metadata"]["labels"] for each in found]

    labels.append(found[0].body["spec"]["template"]["metadata"]["labels"])

    assert {("team-a", "ada", "true")} == {
        (each[annotations.QUEUE], each[annotations.USER], each[annotations.SUBMITTED])
        for each in labels
    }


def test_a_managed_job_waits_suspended_in_its_queue() -> None:
    assert job(queue="team-a")["suspend"] is True
    assert "suspend" not in job()
    assert job(queue="team-a", job_type="PyTorchJob")["runPolicy"]["suspend"] is True
    assert "suspend" not in job(queue="team-a", job_type="JobSet", roles=ROLES)


def test_without_a_gang_pods_start_one_by_one() -> None:
    found = planned(nodes=2, gang_scheduling=False)

    assert ["Job", "Service"] == [each.kind for each in found]
    labels = found[0].body["spec"]["template"]["metadata"]["labels"]
    assert annotations.POD_GROUP_LABEL not in labels


def test_durations_go_where_kubernetes_and_the_scheduler_read_them() -> None:
    fields = {"time": "12h", "max_wait_time": "24h", "expected_duration": "90m"}

    assert 43_200 == pod(**fields)["spec"]["activeDeadlineSeconds"]
    group = pod_group(**fields)
    assert 86_400 == group["spec"]["scheduleTimeoutSeconds"]
    assert {annotations.EXPECTED_DURATION: "90m"} == group["metadata"]["annotations"]


def test_a_checkpoint_is_annotations() -> None:
    asked = {"mode": "HTTP", "timeout": "5m", "port": 8080, "path": "/save"}

    assert {
        annotations.CHECKPOINT: "HTTP",
        annotations.CHECKPOINT_TIMEOUT: "5m",
        annotations.CHECKPOINT_PORT: "8080",
        annotations.CHECKPOINT_PATH: "/save",
    } == pod_group(checkpoint=asked)["metadata"]["annotations"]


def test_a_member_that_gets_a_signal_has_the_time_to_save() -> None:
    asked = {"mode": "Signal", "timeout": "5m"}

    assert 300 == pod(checkpoint=asked)["spec"]["terminationGracePeriodSeconds"]
    asked = {"mode": "Annotation", "timeout": "5m"}
    assert "terminationGracePeriodSeconds" not in pod(checkpoint=asked)["spec"]


@pytest.mark.parametrize("kind", ["Job", "PyTorchJob"])
def test_members_get_the_checkpoint_from_which_to_continue(kind: str) -> None:
    spec = job(job_type=kind, env={"RESUME_COUNT": "7"})
    template = (
        spec["template"] if kind == "Job" else spec["pytorchReplicaSpecs"]["Master"]["template"]
    )
    (main,) = template["spec"]["containers"]
    found = {each["name"]: each for each in main["env"] if each["name"].startswith("RESUME_")}

    path = found["RESUME_FROM"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert f"metadata.annotations['{annotations.RESUME_PATH}']" == path
    step = found["RESUME_STEP"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert f"metadata.annotations['{annotations.RESUME_STEP}']" == step
    assert {"name": "RESUME_COUNT", "value": "7"} == found["RESUME_COUNT"]


def test_volumes_are_mounted() -> None:
    claim = {"name": "data", "mountPath": "/data", "persistentVolumeClaim": {"claimName": "d"}}
    template = pod(volumes=[claim])["spec"]

    assert [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}] == template["volumes"]
    (mounts,) = (each["volumeMounts"] for each in template["containers"])
    assert [{"name": "data", "mountPath": "/data"}] == mounts


def test_a_template_is_merged_under_the_job() -> None:
    below = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "tolerations": [{"key": "gpu"}],
            "containers": [
                {"name": "main", "image": "old", "workingDir": "/w"},
                {"name": "side", "image": "s"},
            ],
        },
    }
    found = pod(template=below)

    assert "a" == found["metadata"]["labels"]["app"]
    assert [{"key": "gpu"}] == found["spec"]["tolerations"]
    main, side = found["spec"]["containers"]
    assert ("main", "i", "/w") == (main["name"], main["image"], main["workingDir"])
    assert "side" == side["name"]


def test_a_script_is_in_a_config_map() -> None:
    found = planned(nodes=2, command=[], script={"text": "#!/bin/bash\n", "arguments": ["x"]})

    assert ["Job", "ConfigMap", "Service", "PodGroup"] == [each.kind for each in found]
    spec = found[0].body["spec"]["template"]["spec"]
    (volume,) = spec["volumes"]
    assert "a" == volume["configMap"]["name"]
    (main,) = spec["containers"]
    assert ["/bin/sh", "script", "x"] == [main["command"][0], *main["command"][3:]]
    names = {each["name"] for each in main["env"]}
    assert {"SLURM_JOB_NAME", "SLURM_NNODES", "SLURM_NODEID", "SLURM_JOB_NODELIST"} <= names


def test_a_job_set_has_a_pod_group_for_each_role() -> None:
    first, learner, rollout = planned(job_type="JobSet", roles=ROLES)

    names = [(each["name"], each["replicas"]) for each in first.body["spec"]["replicatedJobs"]]
    assert [("learner", 1), ("rollout", 1)] == names
    assert [(2, '["n/a-rollout"]'), (3, '["n/a-learner"]')] == [
        (
            each.body["spec"]["minMember"],
            each.body["metadata"]["annotations"][annotations.GANG_GROUPS],
        )
        for each in (learner, rollout)
    ]
    jobs = [each["template"]["spec"] for each in first.body["spec"]["replicatedJobs"]]
    (mains, rolls) = ([c["command"] for c in e["template"]["spec"]["containers"]] for e in jobs)
    assert ([["run"]], [["roll"]]) == (mains, rolls)


@pytest.mark.parametrize(
    ("kind", "field", "roles"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs", {"Master": 1, "Worker": 3}),
        ("TFJob", "tfReplicaSpecs", {"Worker": 4}),
        ("XGBoostJob", "xgbReplicaSpecs", {"Master": 1, "Worker": 3}),
        ("JAXJob", "jaxReplicaSpecs", {"Worker": 4}),
        ("MPIJob", "mpiReplicaSpecs", {"Launcher": 1, "Worker": 4}),
    ],
)
def test_a_training_job_has_the_usual_roles_of_its_kind(
    kind: str, field: str, roles: dict[str, int]
) -> None:
    (only,) = planned(job_type=kind, nodes=4)

    specs = only.body["spec"][field]
    assert roles == {role: each["replicas"] for role, each in specs.items()}


def test_a_training_job_takes_roles_by_their_names() -> None:
    (only,) = planned(job_type="TFJob", roles=[{"name": "ps", "nodes": 2}, {"name": "worker"}])

    specs = only.body["spec"]["tfReplicaSpecs"]
    assert {"PS": 2, "Worker": 1} == {role: each["replicas"] for role, each in specs.items()}


def test_an_elastic_training_job_has_its_own_policy() -> None:
    (only,) = planned(job_type="PyTorchJob", nodes="2:8")

    policy = only.body["spec"]["elasticPolicy"]
    assert (2, 8) == (policy["minReplicas"], policy["maxReplicas"])
    assert {"Worker": 8} == {
        role: each["replicas"] for role, each in only.body["spec"]["pytorchReplicaSpecs"].items()
    }
