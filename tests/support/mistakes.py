"""Manifests with everyday mistakes, and right ones beside them: one edit each of a right manifest.

An API server judges each of them, too (`tests/e2e/test_strict_manifests.py`).
"""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support import yaml_texts

WHOLE: Final = Path(__file__).parent / "whole_manifests.yaml"
"""One manifest of each kind, with most fields that it can have."""
Body = dict[str, Any]
RIGHT, REFUSED, DROPPED = "right", "refused", "dropped"
GONE: Final = object()

POD: Final[Body] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "main", "image": "i", "resources": {}}]},
}
JOB: Final[Body] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "completionMode": "Indexed",
        "template": {"spec": {"restartPolicy": "Never", **POD["spec"]}},
    },
}
DEPLOYMENT: Final[Body] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": POD["spec"]},
    },
}
CRON_JOB: Final[Body] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "c"},
    "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": JOB["spec"]}},
}
NODE: Final[Body] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}}
BUDGET: Final[Body] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "d"}}},
}
PRIORITY: Final[Body] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}
GPU: Final = "nvidia.com/gpu"
IN_POD: Final = "spec.containers.0"
IN_JOB: Final = "spec.template.spec.containers.0"


@dataclass(frozen=True)
class Edit:
    """A manifest with one field changed, and what becomes of it. `at`: the field that is named."""

    body: Body
    path: str
    value: Any
    verdict: str
    at: str = ""

    @property
    def name(self) -> str:
        """How a test calls it."""
        value = "gone" if self.value is GONE else str(self.value)
        return f"{self.body['kind']}-{self.path}-{value}"[:90]

    @property
    def manifest(self) -> Body:
        """The manifest, changed."""
        return edited(self.body, self.path, self.value)


def edited(body: Body, path: str, value: object) -> Body:
    """Return a manifest with a field changed, given by its dotted path."""
    changed = copy.deepcopy(body)
    *above, last = path.strip(",").split(",") if "," in path else path.split(".")
    here: Any = changed
    for step in above:
        here = here[int(step)] if step.isdigit() else here.setdefault(step, {})
    key: Any = int(last) if last.isdigit() else last
    if value is GONE:
        del here[key]
    else:
        here[key] = value
    return changed


def _resources(requests: Body, limits: Body | None = None) -> Body:
    return {"requests": requests} if limits is None else {"requests": requests, "limits": limits}


def _rules(*rules: Body) -> Body:
    return {"rules": [*rules]}


def _exits(*values: int, operator: str = "In", action: str = "Ignore") -> Body:
    return {"action": action, "onExitCodes": {"operator": operator, "values": [*values]}}


IGNORED: Final[Body] = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}

EDITS: Final = (
    # Never ends, or does not say that it does.
    Edit(JOB, "spec.template.spec.restartPolicy", GONE, REFUSED, "restartPolicy"),
    Edit(JOB, "spec.template.spec.restartPolicy", "Always", REFUSED, "restartPolicy"),
    Edit(JOB, "spec.template.spec.restartPolicy", "never", REFUSED, "restartPolicy"),
    Edit(JOB, "spec.template.spec.restartPolicy", "", REFUSED, "restartPolicy"),
    Edit(JOB, "spec.template.spec.restartPolicy", "OnFailure", RIGHT),
    Edit(
        CRON_JOB,
        "spec.jobTemplate.spec.template.spec.restartPolicy",
        GONE,
        REFUSED,
        "spec.jobTemplate.spec.template.spec.restartPolicy",
    ),
    Edit(DEPLOYMENT, "spec.template.spec.restartPolicy", "Never", REFUSED, "restartPolicy"),
    Edit(DEPLOYMENT, "spec.template.spec.restartPolicy", "Always", RIGHT),
    Edit(POD, "spec.restartPolicy", "OnFailure", RIGHT),
    Edit(POD, "spec.restartPolicy", "ExitCode", REFUSED, "spec.restartPolicy"),
    # Amounts of what is counted in whole pieces.
    *(
        Edit(JOB, f"{IN_JOB}.resources", {"limits": {GPU: amount}}, REFUSED, GPU)
        for amount in (0.5, "0.5", "500m", "1.5", 1.25, "100m", "1500m", "2.000001")
    ),
    *(
        Edit(JOB, f"{IN_JOB}.resources", {"limits": {GPU: amount}}, RIGHT)
        for amount in (1, "8", "1000m", "1e0", "1k", 0, "2.0")
    ),
    Edit(POD, f"{IN_POD}.resources", {"limits": {"amd.com/gpu": "0.5"}}, REFUSED, "amd.com/gpu"),
    Edit(DEPLOYMENT, f"{IN_JOB}.resources", {"limits": {GPU: "0.5"}}, REFUSED, GPU),
    Edit(JOB, f"{IN_JOB}.resources", _resources({GPU: 8}), REFUSED, GPU),
    Edit(JOB, f"{IN_JOB}.resources", _resources({GPU: 8}, {"cpu": 8}), REFUSED, GPU),
    Edit(CRON_JOB, f"spec.jobTemplate.{IN_JOB}.resources", _resources({GPU: 8}), REFUSED, GPU),
    Edit(JOB, f"{IN_JOB}.resources", _resources({GPU: 8}, {GPU: 4}), REFUSED, GPU),
    Edit(JOB, f"{IN_JOB}.resources", _resources({GPU: 4}, {GPU: 8}), REFUSED, GPU),
    Edit(POD, f"{IN_POD}.resources", _resources({GPU: 4}, {GPU: 8}), REFUSED, GPU),
    Edit(JOB, f"{IN_JOB}.resources", _resources({GPU: "8"}, {GPU: "8000m"}), RIGHT),
    Edit(JOB, f"{IN_JOB}.resources", _resources({"rdma/hca": 1}, {"rdma/hca": 1}), RIGHT),
    # Requests above limits.
    Edit(JOB, f"{IN_JOB}.resources", _resources({"cpu": 8}, {"cpu": 4}), REFUSED, "cpu"),
    Edit(JOB, f"{IN_JOB}.resources", _resources({"cpu": "1001m"}, {"cpu": 1}), REFUSED, "cpu"),
    Edit(
        POD,
        f"{IN_POD}.resources",
        _resources({"memory": "2Gi"}, {"memory": "2G"}),
        REFUSED,
        "memory",
    ),
    Edit(POD, f"{IN_POD}.resources", _resources({"memory": "1Gi"}, {"memory": "1Gi"}), RIGHT),
    Edit(POD, f"{IN_POD}.resources", _resources({"cpu": "500m"}, {"cpu": 1}), RIGHT),
    Edit(POD, f"{IN_POD}.resources", _resources({"cpu": 4}), RIGHT),
    # Names of resources.
    Edit(POD, f"{IN_POD}.resources", {"limits": {"gpu": 1}}, REFUSED, "gpu"),
    Edit(POD, f"{IN_POD}.resources", {"limits": {"mem": "1Gi"}}, REFUSED, "mem"),
    Edit(POD, f"{IN_POD}.resources", {"limits": {"pods": 1}}, REFUSED, "pods"),
    Edit(POD, f"{IN_POD}.resources", {"limits": {"ephemeral-storage": "1Gi"}}, RIGHT),
    Edit(POD, f"{IN_POD}.resources", {"limits": {"hugepages-2Mi": "2Mi"}}, REFUSED, "huge pages"),
    Edit(POD, f"{IN_POD}.resources", {"limits": {"hugepages-2Mi": "2Mi", "cpu": 1}}, RIGHT),
    # Values of which there are a few.
    Edit(JOB, "spec.completionMode", "indexed", REFUSED, "completionMode"),
    Edit(JOB, "spec.completionMode", "INDEXED", REFUSED, "completionMode"),
    Edit(JOB, "spec.podReplacementPolicy", "failed", REFUSED, "podReplacementPolicy"),
    Edit(POD, f"{IN_POD}.imagePullPolicy", "ifNotPresent", REFUSED, "imagePullPolicy"),
    Edit(POD, "spec.preemptionPolicy", "Always", REFUSED, "preemptionPolicy"),
    Edit(POD, "spec.tolerations", [{"key": "a", "operator": "Exist"}], REFUSED, "operator"),
    Edit(POD, "spec.tolerations", [{"key": "a", "effect": "noSchedule"}], REFUSED, "effect"),
    Edit(POD, "spec.dnsPolicy", "clusterFirst", REFUSED, "dnsPolicy"),
    # Fields that are misspelt: without what is required, and beside it.
    Edit(
        JOB,
        "spec.template.spec",
        {"restartPolicy": "Never", "containerz": []},
        REFUSED,
        "containers",
    ),
    Edit(POD, "spec", {"container": POD["spec"]["containers"]}, REFUSED, "containers"),
    Edit(JOB, "spec.paralelism", 2, DROPPED, "spec.paralelism (did you mean parallelism?)"),
    Edit(JOB, "spec.Parallelism", 2, DROPPED, "spec.Parallelism (did you mean parallelism?)"),
    Edit(JOB, "spec.completionmode", "Indexed", DROPPED, "did you mean completionMode?"),
    Edit(JOB, "spec.replicas", 2, DROPPED, "spec.replicas"),
    Edit(JOB, "spec.schedulerName", "x", DROPPED, "spec.schedulerName"),
    Edit(JOB, "spec.restartPolicy", "Never", DROPPED, "spec.restartPolicy"),
    Edit(JOB, "spec.template.spec.nodeselector", {"a": "b"}, DROPPED, "nodeselector"),
    Edit(JOB, "spec.template.spec.toleration", [], DROPPED, "did you mean tolerations?"),
    Edit(JOB, f"{IN_JOB}.resource", {"limits": {GPU: 8}}, DROPPED, "did you mean resources?"),
    Edit(JOB, f"{IN_JOB}.resources.limit", {GPU: 8}, DROPPED, "did you mean limits?"),
    Edit(JOB, f"{IN_JOB}.resources.nvidia/gpu", 8, DROPPED, "resources.nvidia/gpu"),
    Edit(POD, "metadata.label", {"a": "b"}, DROPPED, "did you mean labels?"),
    Edit(POD, "schedulerName", "x", DROPPED, "unknown field schedulerName"),
    Edit(NODE, "spec.taint", [], DROPPED, "did you mean taints?"),
    Edit(PRIORITY, "spec", {"value": 1}, DROPPED, "unknown field spec"),
    # Types.
    Edit(JOB, "spec.parallelism", "2", REFUSED, "spec.parallelism"),
    Edit(JOB, "spec.parallelism", 2.5, REFUSED, "spec.parallelism"),
    Edit(JOB, "spec.suspend", "true", REFUSED, "spec.suspend"),
    Edit(POD, f"{IN_POD}.env", [{"name": "A", "value": 1}], REFUSED, "env[0].value"),
    Edit(POD, f"{IN_POD}.env", [{"name": "A", "value": "1"}], RIGHT),
    Edit(POD, f"{IN_POD}.command", "sleep 60", REFUSED, "command"),
    Edit(POD, "spec.containers", {"name": "main"}, REFUSED, "spec.containers"),
    Edit(POD, "spec.nodeSelector", {"gpu": True}, REFUSED, "nodeSelector"),
    # Numbers.
    Edit(JOB, "spec.parallelism", -1, REFUSED, "spec.parallelism"),
    Edit(JOB, "spec.backoffLimit", -1, REFUSED, "spec.backoffLimit"),
    Edit(JOB, "spec.parallelism", 2**31, REFUSED, "spec.parallelism"),
    Edit(POD, "spec.activeDeadlineSeconds", 0, REFUSED, "activeDeadlineSeconds"),
    Edit(POD, f"{IN_POD}.ports", [{"containerPort": 70000}], REFUSED, "containerPort"),
    Edit(PRIORITY, "value", 2_000_000_000, REFUSED, "value"),
    Edit(PRIORITY, "value", GONE, RIGHT),
    # What belongs together.
    Edit(JOB, "spec.completions", GONE, REFUSED, "spec.completions"),
    Edit(edited(JOB, "spec.parallelism", GONE), "spec.completions", GONE, RIGHT),
    Edit(JOB, "spec.backoffLimitPerIndex", 1, RIGHT),
    Edit(JOB, "spec.maxFailedIndexes", 1, REFUSED, "backoffLimitPerIndex"),
    Edit(
        {**JOB, "spec": {**JOB["spec"], "completionMode": "NonIndexed"}},
        "spec.backoffLimitPerIndex",
        1,
        REFUSED,
        "backoffLimitPerIndex",
    ),
    Edit(JOB, "spec.selector", {"matchLabels": {"a": "b"}}, REFUSED, "spec.selector"),
    Edit(JOB, "spec.podFailurePolicy", _rules(IGNORED, _exits(143)), RIGHT),
    Edit(JOB, "spec.podFailurePolicy", _rules(_exits(2, 1)), REFUSED, "values"),
    Edit(JOB, "spec.podFailurePolicy", _rules(_exits(0)), REFUSED, "values"),
    Edit(JOB, "spec.podFailurePolicy", _rules(_exits(1, action="ignore")), REFUSED, "action"),
    Edit(JOB, "spec.podFailurePolicy", _rules(_exits(1, action="FailIndex")), REFUSED, "action"),
    Edit(JOB, "spec.podFailurePolicy", _rules({"action": "Ignore"}), REFUSED, "rules[0]"),
    Edit(JOB, "spec.podFailurePolicy", _rules({**IGNORED, **_exits(1)}), REFUSED, "rules[0]"),
    Edit(
        {
            **JOB,
            "spec": {
                **JOB["spec"],
                "template": {"spec": {**POD["spec"], "restartPolicy": "OnFailure"}},
            },
        },
        "spec.podFailurePolicy",
        _rules(IGNORED),
        REFUSED,
        "restartPolicy",
    ),
    Edit(POD, "spec.containers", [*POD["spec"]["containers"] * 2], REFUSED, "must differ"),
    Edit(POD, f"{IN_POD}.name", "Main_1", REFUSED, "name"),
    Edit(POD, f"{IN_POD}.name", GONE, REFUSED, "name"),
    Edit(
        POD,
        f"{IN_POD}.volumeMounts",
        [{"name": "v", "mountPath": "/v"}],
        REFUSED,
        "volumeMounts[0].name",
    ),
    Edit(
        POD,
        "spec.tolerations",
        [{"key": "a", "operator": "Exists", "value": "b"}],
        REFUSED,
        "value",
    ),
    Edit(POD, "spec.tolerations", [{"operator": "Exists"}], RIGHT),
    Edit(POD, "spec.tolerations", [{"value": "b"}], REFUSED, "operator"),
    Edit(POD, "spec.subdomain", "Train", REFUSED, "spec.subdomain"),
    Edit(POD, "spec.hostname", "train-0", RIGHT),
    Edit(BUDGET, "spec.maxUnavailable", 1, REFUSED, "maxUnavailable"),
    Edit(BUDGET, "spec.minAvailable", "50%", RIGHT),
    Edit(DEPLOYMENT, "spec.replicas", -1, REFUSED, "spec.replicas"),
    Edit(DEPLOYMENT, "spec.selector", GONE, REFUSED, "selector"),
    Edit(NODE, "spec.taints", [{"key": "a", "effect": "NoSchedule"}], RIGHT),
)
"""A mistake or a right value, of each kind of them in several spellings."""


def whole() -> list[Body]:
    """Return a manifest of each kind with most of its fields."""
    return [*yaml_texts.read_all(WHOLE.read_text())]
