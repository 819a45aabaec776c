"""TrainingJob files: each field has its place in a job, and what is wrong is named."""

import pytest

from gang_scheduler.submit import job_files
from gang_scheduler.submit.refusals import Faults
from gang_scheduler.submit.training_job import JobType, PreemptionPolicy, TrainingJob

WHOLE = """
apiVersion: py-gang-scheduler.io/v1alpha1
kind: TrainingJob
metadata: {name: llama, namespace: research}
jobType: Job
image: pytorch
command: [torchrun, train.py]
resources:
  minReplicas: 2
  maxReplicas: 8
  gpuType: NVIDIA-H100-80GB-HBM3
  topologyConstraint: SpineLayer
  replicaResources: {gpu: 8, cpu: "32", memory: 256Gi}
schedulingConfig: {queue: team-a, priority: 1000, maxWaitTime: 24h, preemptionPolicy: PreemptLower}
elasticConfig:
  enabled: true
  minWorkers: 2
  maxWorkers: 8
  scalePolicy: {scaleUpCooldown: 10m, scaleDownCooldown: 5m, scaleUpStep: 2, scaleDownStep: 2}
"""
HEAD = "apiVersion: py-gang-scheduler.io/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"


UNEQUAL = f"{HEAD}resources: {{minReplicas: 2, maxReplicas: 8}}\n"


def job(text: str) -> TrainingJob:
    return job_files.job_of(job_files.read(text, "job.yaml"))


def refused(text: str) -> str:
    with pytest.raises(Faults) as caught:
        job(text)
    return "\n".join(caught.value.lines)


def test_all_fields_are_read() -> None:
    found = job(WHOLE)

    assert ("llama", "research", JobType.JOB) == (found.name, found.namespace, found.job_type)
    assert ("pytorch", ("torchrun", "train.py")) == (found.image, found.command)
    assert ((2, 8), "NVIDIA-H100-80GB-HBM3") == (found.bounds, found.gpu_type)
    assert ("SpineLayer", "") == (found.must, found.prefer)
    assert (8, "32", "256Gi") == tuple(found.resources.model_dump().values())
    assert ("team-a", 1000, "24h") == (found.queue, found.priority, found.max_wait_time)
    assert PreemptionPolicy.PREEMPT_LOWER is found.preemption_policy
    assert found.elastic is not None
    assert ("10m", 2) == (
        found.elastic.scale_policy.scale_up_cooldown,
        found.elastic.scale_policy.scale_up_step,
    )


def test_a_question_mark_asks_for_a_domain_if_possible() -> None:
    found = job(f"{HEAD}resources: {{topologyConstraint: 'BlockLayer?'}}")

    assert ("", "BlockLayer") == (found.must, found.prefer)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kind: Job", "apiVersion: None must be py-gang-scheduler.io/v1alpha1"),
        (f"{HEAD}jobtype: Job", "jobtype: there is no such field; did you mean jobType?"),
        (f"{HEAD}resources: {{gpus: 8}}", "resources.gpus: there is no such field"),
        (f"{HEAD}resources: 8", "resources: must be a mapping"),
        (
            UNEQUAL,
            "elasticConfig.enabled: true is required",
        ),
        (
            f"{UNEQUAL}elasticConfig: {{enabled: true, minWorkers: 3}}",
            "elasticConfig.minWorkers: 3 must be resources.minReplicas, which is 2",
        ),
        (f"{HEAD}schedulingConfig: {{preemptionPolicy: PreemptAlways}}", "evicted by an equal"),
        (f"{HEAD}volumes: [{{name: a, mountPath: data, emptyDir: {{}}}}]", "volumes.0.mountPath"),
        (f"{HEAD}volumes: [{{name: a, mountPath: /data}}]", "must have one source"),
        (f"{HEAD}checkpoint: {{mode: HTTP}}", "port is required with mode HTTP"),
        (f"{HEAD}time: soon", 'time: soon must be a duration such as "90s" or "12h"'),
        (f"{HEAD}---\n{HEAD}", "must have one document"),
        ("- a", "must be a TrainingJob"),
        ("a: [", "job.yaml: while parsing"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(text: str, line: str) -> None:
    assert line in refused(text)
