"""Law: what waits suspended is let start where, and in the order in which, its pods would be bound.

The same manifests are decided twice, once with every workload suspended and once with none: the
same members get the same nodes in the same order, the same gangs are evicted for them, and the rest
waits for the same reasons.
"""

import json
from random import Random
from typing import Any

from hypothesis import given, settings

from gang_scheduler.model.refs import GangKey
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import objects, output_document
from gang_scheduler.simulation.documents import Document
from gang_scheduler.simulation.run import Options, Outcome, simulate
from property.random_cases import SEEDS, dice_of
from support.builders import SCHEDULER
from support.thoroughness import cases

Manifest = dict[str, Any]
LAYERS = [
    {"topologyLayer": "rack", "labelKey": ["rack"]},
    {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "rack"},
]
NETWORK: Manifest = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {"networkTopologySpec": LAYERS},
}
GATHER = "gang.scheduling.koordinator.sh/network-topology-spec"
PODSET = "kueue.x-k8s.io/podset-required-topology"


def time(minute: int) -> str:
    return f"2026-01-01T12:{minute:02d}:00Z"


def a_node(dice: Random, number: int) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "labels": {"rack": f"r{number % 3}"}},
        "status": {
            "allocatable": {"cpu": str(dice.randint(1, 6)), "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def some_queues(dice: Random) -> list[Manifest]:
    fairness = dice.choice(["Priority", "DRF", "DRS", "FairShare"])
    root: Manifest = {"name": "root", "spec": {"fairness": fairness}}
    leaves: list[Manifest] = [
        {
            "name": name,
            "spec": {
                "quota": {"soft": {"cpu": str(dice.randint(1, 9))}},
                "borrowing": {"enabled": dice.random() < 0.7},
                "strategy": dice.choice(["BestEffortFIFO", "StrictFIFO"]),
            },
        }
        for name in ("a", "b")
    ]
    return [
        {
            "apiVersion": "py-gang-scheduler.io/v1alpha1",
            "kind": "Queue",
            "metadata": {"name": each["name"], "creationTimestamp": time(0)},
            "spec": each["spec"],
        }
        for each in (root, *leaves)
    ]


def a_template(dice: Random, priority: int) -> Manifest:
    requests = {"cpu": str(dice.randint(1, 2))}
    asks: dict[str, str] = {}
    match dice.randint(0, 5):
        case 0:
            strategy = dice.choice(["MustGather", "PreferGather"])
            gather = [{"layer": "rack", "strategy": strategy}]
            asks = {GATHER: json.dumps({"gatherStrategy": gather})}
        case 1:
            asks = {PODSET: "rack"}
    return {
        "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}, "annotations": asks},
        "spec": {
            "schedulerName": SCHEDULER,
            "priority": priority,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        },
    }


def a_job(dice: Random, priority: int) -> tuple[str, str, Manifest]:
    pods = dice.randint(1, 4)
    return (
        "batch/v1",
        "Job",
        {
            "parallelism": pods,
            "completions": pods,
            "completionMode": dice.choice(["Indexed", "NonIndexed"]),
            "template": a_template(dice, priority),
        },
    )


def a_job_set(dice: Random, priority: int) -> tuple[str, str, Manifest]:
    jobs = [
        {
            "name": name,
            "replicas": dice.randint(1, 2),
            "template": {"spec": a_job(dice, priority)[2]},
        }
        for name in ("x", "y")[: dice.randint(1, 2)]
    ]
    return "jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs}


def a_pytorch_job(dice: Random, priority: int) -> tuple[str, str, Manifest]:
    template = a_template(dice, priority)
    template["metadata"]["annotations"] = {}
    roles = {
        "Master": {"replicas": 1, "template": template},
        "Worker": {"replicas": dice.randint(1, 3), "template": template},
    }
    spec: Manifest = {"runPolicy": {}, "pytorchReplicaSpecs": roles}
    if dice.random() < 0.5:
        spec["elasticPolicy"] = {"minReplicas": 1}
    return "kubeflow.org/v1", "PyTorchJob", spec


def a_workload(dice: Random, number: int) -> Manifest:
    make = dice.choice([a_job, a_job, a_job_set, a_pytorch_job])
    api_version, kind, spec = make(dice, dice.choice([0, 0, 5]))
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": f"w{number}",
            "creationTimestamp": time(dice.randint(1, 5)),
            "labels": {"py-gang-scheduler.io/queue": dice.choice(["a", "b"])},
        },
        "spec": spec,
    }


def a_running_pod(dice: Random, number: int, nodes: int) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"p{number}",
            "creationTimestamp": time(0),
            "labels": {"py-gang-scheduler.io/queue": dice.choice(["a", "b"])},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "nodeName": f"n{dice.randrange(nodes)}",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        },
    }


def suspended(workload: Manifest, *, suspends: bool) -> Manifest:
    spec = {**workload["spec"]}
    if "runPolicy" in spec:
        spec["runPolicy"] = {"suspend": suspends}
    else:
        spec["suspend"] = suspends
    return {**workload, "spec": spec}


def decide(manifests: list[Manifest]) -> Outcome:
    documents = [Document("f", number, body) for number, body in enumerate(manifests, start=1)]
    loaded = objects.load(documents, SCHEDULER)
    return simulate(loaded, Options(policy=Policy()))


def decisions(outcome: Outcome) -> dict[str, Any]:
    """Return what was decided, in order, and why the rest waits."""
    reasons: dict[GangKey, Any] = {
        each.gang.key: (each.reason, sorted(pod.name for pod in each.pods))
        for each in outcome.refused
        if not each.left_over
    }
    return {
        "placed": [
            (each.gang.key, bind.pod.name, bind.node, bind.flavors)
            for each in outcome.placed
            for bind in each.binds
        ],
        "nominated": [(key, bind.pod.name, bind.node) for key, bind in outcome.nominated],
        "victims": [each.pod.name for made in outcome.preemptions for each in made.victims],
        "waiting": reasons,
        "used": [
            (each.queue.ref, {key: amounts.used for key, amounts in each.amounts.items()})
            for each in outcome.queues
        ],
    }


@settings(max_examples=cases(30, thorough=600))
@given(SEEDS)
def test_suspended_workloads_start_where_their_pods_would_be_bound(seed: int) -> None:
    dice = dice_of(seed)
    nodes = dice.randint(1, 6)
    fixed = [NETWORK, *some_queues(dice)]
    fixed += [a_node(dice, number) for number in range(nodes)]
    fixed += [a_running_pod(dice, number, nodes) for number in range(dice.randint(0, 4))]
    workloads = [a_workload(dice, number) for number in range(dice.randint(1, 6))]

    without = decide([*fixed, *(suspended(each, suspends=False) for each in workloads)])
    within = decide([*fixed, *(suspended(each, suspends=True) for each in workloads)])

    assert decisions(without) == decisions(within)
    admitted = [each["object"] for each in output_document.document(within)["admissions"]]
    kinds = {each["metadata"]["name"]: each["kind"] for each in workloads}
    placed = dict.fromkeys(each.gang.key.name.partition("/")[0] for each in within.placed)
    assert [f"{kinds[name]} default/{name}" for name in placed] == admitted
