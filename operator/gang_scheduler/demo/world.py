"""The objects of the story, as users would write them: nodes, gangs as Jobs, queues, priorities."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations, crds
from gang_scheduler.api.kinds import (
    CRDS,
    GVR,
    JOBS,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PRIORITY_CLASSES,
    QUEUES,
)

NAMESPACE: Final = "gang-demo"
SCHEDULER: Final = "py-gang-scheduler"
GPU: Final = "nvidia.com/gpu"
GPUS: Final = 8
NODE_COUNT: Final = 16
IN_A_RACK: Final = 4
RACK: Final = "gang-demo/rack"
MARK: Final = "py-gang-scheduler.io/demo"
"""The label and the taint of the demo's nodes.

The label attracts its gangs; the taint keeps others away.
"""
URGENT: Final = "gang-demo-urgent"
Body = dict[str, Any]


class Gang(NamedTuple):
    """A gang of the story: `pods` members with `gpus` GPUs each."""

    name: str
    pods: int
    gpus: int = GPUS
    queue: str = ""
    priority: str = ""

    @property
    def size(self) -> str:
        """The size of the gang, in words."""
        return f"{self.pods} pods of {self.gpus} GPUs"


class Object(NamedTuple):
    """An object, and the API resource by which it is created and deleted."""

    gvr: GVR
    body: Body

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.body["metadata"]["name"])


def definitions() -> list[Object]:
    """Return the CRDs of the product."""
    return [Object(CRDS, crds.custom_resource_definition(each)) for each in crds.DEFINITIONS]


def ground(*, guarded: bool) -> list[Object]:
    """Return the objects needed before the first gang: the namespace, the nodes, and a priority.

    `guarded` nodes have a taint, so that other pods stay away.
    """
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": URGENT},
        "value": 1000,
    }
    nodes = (Object(NODES, _node(number, guarded=guarded)) for number in range(NODE_COUNT))
    return [Object(NAMESPACES, namespace), Object(PRIORITY_CLASSES, urgent), *nodes]


def gang(asked: Gang) -> Iterator[Object]:
    """Yield the two objects of a gang: its PodGroup, and a Job whose pods are its members."""
    labels = {annotations.QUEUE: asked.queue} if asked.queue else {}
    metadata = {"name": asked.name, "namespace": NAMESPACE, "labels": labels}
    yield Object(
        POD_GROUPS,
        {
            "apiVersion": POD_GROUPS.api_version,
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": {"minMember": asked.pods},
        },
    )
    yield Object(
        JOBS,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": asked.name, "namespace": NAMESPACE},
            "spec": {
                "completionMode": "Indexed",
                "completions": asked.pods,
                "parallelism": asked.pods,
                # An evicted pod is created again, and does not count as failed.
                "podFailurePolicy": {
                    "rules": [
                        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
                    ]
                },
                "template": {
                    "metadata": {"labels": {annotations.POD_GROUP_LABEL: asked.name}},
                    "spec": _pod(asked),
                },
            },
        },
    )


def queue(name: str, gpus: int) -> Object:
    """Return a queue with a quota, which may borrow quota that other queues leave idle."""
    spec = {"quota": {"soft": {GPU: str(gpus)}}, "borrowing": {"enabled": True}}
    body = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": name}}
    return Object(QUEUES, {**body, "spec": spec})


def _pod(asked: Gang) -> Body:
    amount = {GPU: str(asked.gpus)}
    container = {
        "name": "trainer",
        "image": "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime",
        "command": ["torchrun", f"--nnodes={asked.pods}", "train.py"],
        "resources": {"requests": amount, "limits": amount},
    }
    return {
        "schedulerName": SCHEDULER,
        "restartPolicy": "Never",
        **({"priorityClassName": asked.priority} if asked.priority else {}),
        "nodeSelector": {MARK: "true"},
        "tolerations": [{"key": MARK, "operator": "Exists"}],
        "containers": [container],
    }


def _node(number: int, *, guarded: bool) -> Body:
    name = f"gang-demo-{number:02d}"
    room = {"cpu": "96", "memory": "768Gi", "pods": "110", GPU: str(GPUS)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                MARK: "true",
                RACK: f"rack-{number // IN_A_RACK}",
                "kubernetes.io/hostname": name,
                # KWOK looks after such nodes, if it is installed.
                "type": "kwok",
            },
        },
        "spec": {"taints": [{"key": MARK, "effect": "NoSchedule"}] if guarded else []},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


LASTING: Final = frozenset({CRDS, NAMESPACES, PRIORITY_CLASSES, NODES})
"""The objects that stay from scene to scene."""
