"""Which gangs start before one that is promised a start, by what their Jobs declare.

It is a second after the JobSet was made.
"""

import pytest

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.run import Options, simulate

QUEUES = """
---
{kind: Queue, apiVersion: py-gang-scheduler.io/v1alpha1, metadata: {name: a}, spec:
 {quota: {soft: {cpu: 10}}, preemption: {withinQueue: Never, reclaim: Never}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n}, status: {allocatable: {cpu: 10, pods: 110}}}
---
{kind: Pod, apiVersion: v1, metadata: {name: runs, labels: {py-gang-scheduler.io/queue: a}}, spec:
 {nodeName: n, activeDeadlineSeconds: 7200, containers: [{resources: {requests: {cpu: 6}}}]},
 status: {startTime: "2026-01-01T11:00:00Z"}}
---
{kind: Pod, apiVersion: v1, metadata: {name: big, creationTimestamp: "2026-01-01T11:00:00Z",
  labels: {py-gang-scheduler.io/queue: a}}, spec:
 {containers: [{resources: {requests: {cpu: 8}}}]}}
---
{kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, metadata:
  {name: later, creationTimestamp: "2026-01-01T12:00:00Z", labels: {py-gang-scheduler.io/queue: a}},
 spec: {replicatedJobs: [JOBS]}}
"""
JOB = """{name: JOB, template: {spec: {DEADLINE template:
 {metadata: {labels: {py-gang-scheduler.io/gang: "true"}},
  spec: {containers: [{resources: {requests: {cpu: 2}}}]}}}}}"""


@pytest.mark.parametrize(
    ("deadlines", "starts"),
    [
        ((1800, 3599), True),
        ((1800, 3600), False),  # The last end counts.
        ((1800, None), False),
    ],
)
def test_the_jobs_of_a_job_set_say_how_long_they_run(
    deadlines: tuple[int | None, ...], *, starts: bool
) -> None:
    jobs = (
        JOB.replace("JOB", f"j{n}").replace(
            "DEADLINE", "" if each is None else f"activeDeadlineSeconds: {each},"
        )
        for n, each in enumerate(deadlines)
    )
    text = QUEUES.replace("JOBS", ", ".join(jobs))
    options = Options(Policy(scheduler_names=("default-scheduler",)))

    outcome = simulate(objects.load(documents.parse("f", text), "default-scheduler"), options)

    assert [each.gangs[0].key.name for each in outcome.reservations] == ["big"]
    assert len(outcome.placed) == (2 if starts else 0)
