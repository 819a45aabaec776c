"""Queues of Kueue and of Volcano on a real API server, with CRDs that come after the operator."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.support import queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, charged_to, gang, reason
from e2e.support.waiting import eventually
from tools import controlplane, foreign_crds

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

GPU, PRODUCT = "nvidia.com/gpu", "nvidia.com/gpu.product"
A100, V100 = "NVIDIA-A100-SXM4-80GB", "Tesla-V100-SXM2-32GB"
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
VOLCANO_LABEL = "scheduling.volcano.sh/queue-name"
KUEUE_QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: gpu-a100
spec:
  nodeLabels:
    nvidia.com/gpu.product: "NVIDIA-A100-SXM4-80GB"
  tolerations:
    - key: "nvidia.com/gpu"
      operator: "Exists"
      effect: "NoSchedule"
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: gpu-v100
spec:
  nodeLabels:
    nvidia.com/gpu.product: "Tesla-V100-SXM2-32GB"
  tolerations:
    - key: "nvidia.com/gpu"
      operator: "Exists"
      effect: "NoSchedule"
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: training-cluster-queue
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: ["cpu", "memory", "nvidia.com/gpu"]
      flavors:
        - name: gpu-a100
          resources:
            - name: "cpu"
              nominalQuota: 256
            - name: "memory"
              nominalQuota: 2Ti
            - name: "nvidia.com/gpu"
              nominalQuota: 64
              borrowingLimit: 16
        - name: gpu-v100
          resources:
            - name: "cpu"
              nominalQuota: 128
            - name: "memory"
              nominalQuota: 1Ti
            - name: "nvidia.com/gpu"
              nominalQuota: 32
  cohort: ai-platform
  preemption:
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: ml-research-queue
  namespace: ml-research
spec:
  clusterQueue: training-cluster-queue
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: ml-production-queue
  namespace: ml-production
spec:
  clusterQueue: training-cluster-queue
"""
VOLCANO_QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: training-queue
spec:
  weight: 10
  capability:
    cpu: "512"
    memory: "2Ti"
    nvidia.com/gpu: "64"
  reclaimable: true
  guarantee:
    resource:
      cpu: "128"
      memory: "512Gi"
      nvidia.com/gpu: "16"
"""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without any CRDs but ours."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started, queues.objects(plane) as made:
        # Without any queue in the cluster, labels of products without CRDs say nothing.
        made.create_and_wait(queues.queue("idle", 0))
        yield started


@pytest.fixture
def research(plane: controlplane.ControlPlane) -> Iterator[Namespace]:
    """Give the namespace of a LocalQueue, with a node of each flavor: 8 GPUs, and a taint."""
    namespace = Namespace(plane, "research")
    namespace.name = "ml-research"
    with namespace:
        own_nodes(namespace, A100, V100)
        yield namespace


@pytest.fixture
def production(plane: controlplane.ControlPlane) -> Iterator[Namespace]:
    """Give the namespace of the other LocalQueue."""
    namespace = Namespace(plane, "production")
    namespace.name = "ml-production"
    with namespace:
        yield namespace


def test_gangs_are_bound_in_flavors_of_kueue_whose_crds_come_later(
    plane: controlplane.ControlPlane, research: Namespace, production: Namespace, objects: Objects
) -> None:
    theirs = "ml-production-queue"
    research.create(*of_gpus("first", 2, "ml-research-queue", tolerations=[TOLERATION]))
    eventually("QueueNotFound", lambda: reason(research, "first"))

    queues.install(plane, *foreign_crds.queues_of_kueue(current="v1beta1"))
    objects.create(*yaml.safe_load_all(KUEUE_QUEUES))

    eventually({A100}, lambda: products(research, "first"))
    eventually(2, lambda: len(research.bound("first")))
    assert {("ClusterQueue/training-cluster-queue", "gpu-a100")} == charges(research, "first")

    production.create(*of_gpus("second", 2, theirs, tolerations=[TOLERATION]))
    eventually(2, lambda: len(production.bound("second")))
    assert {("ClusterQueue/training-cluster-queue", "gpu-v100")} == charges(production, "second")

    production.create(*of_gpus("untolerant", 1, theirs))
    eventually("Unschedulable", lambda: reason(production, "untolerant"))
    assert {} == production.bound("untolerant")


def test_a_gang_is_bound_by_a_queue_of_volcano_whose_crd_comes_later(
    plane: controlplane.ControlPlane, namespace: Namespace, objects: Objects
) -> None:
    own_nodes(namespace, A100)
    tolerant = of_gpus("gang", 2, "training-queue", VOLCANO_LABEL, tolerations=[TOLERATION])
    namespace.create(*tolerant)
    eventually("QueueNotFound", lambda: reason(namespace, "gang"))

    queues.install(plane, yaml.safe_load(foreign_crds.VOLCANO_QUEUE.read_text()))
    objects.create(yaml.safe_load(VOLCANO_QUEUE))

    eventually(2, lambda: len(namespace.bound("gang")))
    assert {("VolcanoQueue/training-queue", "default")} == charges(namespace, "gang")


def own_nodes(namespace: Namespace, *products: str) -> None:
    """Create a node for each product: with 8 of these GPUs, and the taint."""
    for each in products:
        namespace.own_nodes(1, labels={PRODUCT: each}, taints=[TAINT], devices={GPU: "8"})


def of_gpus(name: str, pods: int, queue: str, key: str = KUEUE_LABEL, **pod: Any) -> list[Manifest]:
    """Return a gang of pods with four GPUs each."""
    group, *members = gang(name, pods, queue, key=key, **pod)
    asked = {"cpu": "4", "memory": "4Gi", GPU: "4"}
    for each in members:
        each["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": {GPU: "4"}}
    return [group, *members]


def products(namespace: Namespace, gang: str) -> set[str]:
    """Return which GPUs the nodes of a gang have."""
    nodes = set(namespace.bound(gang).values())
    found = [namespace.cluster.request("GET", f"/api/v1/nodes/{each}") for each in nodes]
    return {each["metadata"]["labels"][PRODUCT] for each in found}


def charges(namespace: Namespace, gang: str) -> set[tuple[str, str]]:
    """Return the queue and the flavor of GPUs that bound pods are charged to."""
    return {(name, json.loads(text)[GPU]) for name, text in charged_to(namespace, gang)}
