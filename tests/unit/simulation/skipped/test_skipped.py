"""What is skipped is said, and what would have had pods is counted."""

import pytest

from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import Objects

POD = "template: {spec: {containers: [{name: c}]}}"


def loaded(*texts: str) -> Objects:
    return objects.load(documents.parse("f", "\n---\n".join(texts)), "ours")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"{{kind: DaemonSet, apiVersion: apps/v1, spec: {{{POD}}}}}", 1),
        (f"{{kind: Plan, apiVersion: x.io/v1, spec: {{jobTemplate: {{spec: {{{POD}}}}}}}}}", 1),
        (f"{{kind: RayCluster, apiVersion: example.com/v1, spec: {{workers: [{{{POD}}}]}}}}", 1),
        (f"{{kind: DaemonSet, apiVersion: apps/v1, metadata: {{uid: u}}, spec: {{{POD}}}}}", 0),
        ("{kind: Set, apiVersion: x.io/v1, spec: {podSpec: {containers: [{name: c}]}}}", 1),
        ("{kind: Set, apiVersion: x.io/v1, spec: {cliques: [{containers: [{name: c}]}]}}", 1),
        ("{kind: Set, apiVersion: x.io/v1, spec: {a: {extraPodSpec: {mainContainer: {}}}}}", 1),
        ("{kind: Workflow, apiVersion: argoproj.io/v1alpha1, spec: {entrypoint: a}}", 1),
        ("{kind: Set, apiVersion: x.io/v1, spec: {templates: [{container: {image: i}}]}}", 1),
        ("{kind: Set, apiVersion: x.io/v1, spec: {role: {schedulerName: ours}}}", 1),
        ("{kind: Set, apiVersion: x.io/v1, spec: {batchScheduler: ours}}", 1),
        ("{kind: ScheduledSparkApplication, apiVersion: sparkoperator.k8s.io/v1beta2}", 1),
        ("{kind: PipelineRun, apiVersion: tekton.dev/v1, spec: {pipelineRef: {name: p}}}", 1),
        ("{kind: Set, apiVersion: x.io/v1, metadata: {uid: u}, spec: {batchScheduler: s}}", 0),
        (f"{{kind: PodTemplate, apiVersion: v1, {POD}}}", 0),
        (f"{{kind: TrainingRuntime, apiVersion: trainer.kubeflow.org/v1alpha1, {POD}}}", 0),
        (f"{{kind: ClusterWorkflowTemplate, apiVersion: argoproj.io/v1alpha1, {POD}}}", 0),
        ("{kind: ASchedulerConfiguration, apiVersion: x.io/v1, schedulerName: ours}", 0),
        ("{kind: ConfigMap, apiVersion: v1, data: {schedulerName: ours}}", 0),
        ("{kind: Service, apiVersion: v1, spec: {ports: []}}", 0),
        ("{kind: Widget, apiVersion: example.com/v1, spec: 3}", 0),
    ],
)
def test_workloads_of_manifests_lack_pods(text: str, number: int) -> None:
    assert number == loaded(text).not_expanded


def test_a_line_says_whether_pods_are_missing() -> None:
    lines = loaded(
        f"{{kind: DaemonSet, apiVersion: apps/v1, spec: {{{POD}}}}}",
        *["{kind: Secret, apiVersion: v1}"] * 3,
    ).notes

    expected = (
        ("f: document 1: DaemonSet (apps/v1) makes pods, and they are not made here; skipped"),
        "f: document 2 and 2 more: Secret (v1) is not needed; skipped",
    )
    assert expected == lines
