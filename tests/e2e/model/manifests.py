"""The objects of random sequences: each source writes its gangs in its own way."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from e2e.model.rules import Name, Said
from e2e.support.manifests import SCHEDULER

Manifest = dict[str, Any]

PREFIX = "gang.scheduling.koordinator.sh/"
GROUPS, POLICY, MODE = PREFIX + "groups", PREFIX + "match-policy", PREFIX + "mode"
POD_GROUP, OTHER_SPELLING = "pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group"
LIGHT_NAME, LIGHT_MINIMUM = f"{POD_GROUP}/name", f"{POD_GROUP}/min-available"
NAME, MINIMUM = PREFIX + "name", PREFIX + "min-available"
JOB_GANG = "py-gang-scheduler.io/gang"

SOURCES = ("PodGroup", "other spelling", "annotations", "labels", "Job")
WITH_POD_GROUP = ("PodGroup", "other spelling")
BY_MEMBERS = ("annotations", "labels")


def pod(name: str, node: Mapping[str, str], priority: int) -> Manifest:
    """Return a pod of a gang of its own."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"name": name, "labels": {}, "annotations": {}},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [container],
            "nodeSelector": dict(node),
            "terminationGracePeriodSeconds": 0,
            **({"priorityClassName": "sequences"} if priority else {}),
        },
    }


def join(body: Manifest, source: str, gang: str, said: Said | None, uid: str) -> None:
    """Write into a pod that it is a member, of this gang alone. `uid` is that of the gang's Job."""
    body["metadata"].get("annotations", {}).pop(GROUPS, None)
    labels = body["metadata"].setdefault("labels", {})
    marks = body["metadata"].setdefault("annotations", {})
    if source == "PodGroup":
        labels[POD_GROUP] = gang
    elif source == "other spelling":
        labels[OTHER_SPELLING] = gang
    elif source == "Job":
        labels[JOB_GANG] = "true"
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": gang, "uid": uid}
        body["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    elif said is not None:
        minimum = str(said.minimum)
        if source == "annotations":
            marks |= {NAME: gang, MINIMUM: minimum}
        else:
            labels |= {LIGHT_NAME: gang, LIGHT_MINIMUM: minimum}
        marks |= _groups(said.names)


def pod_group(name: str, said: Said) -> Manifest:
    """Return a PodGroup."""
    marks = _groups(said.names)
    if said.policy != "once-satisfied":
        marks[POLICY] = said.policy
    if not said.strict:
        marks[MODE] = "NonStrict"
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "annotations": marks},
        "spec": {"minMember": said.minimum},
    }


def job(name: str, said: Said) -> Manifest:
    """Return a Job that no controller looks after: the sequence plays it."""
    template = pod("unused", {}, 0)
    template["metadata"] = {"labels": {JOB_GANG: "true"}}
    template["spec"]["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "managedBy": "example.com/random-sequences",
            "parallelism": said.minimum,
            "completions": said.completions,
            "template": template,
        },
    }


def _groups(names: Iterable[Name]) -> dict[str, str]:
    written = [f"{each.namespace}/{each.name}" for each in names]
    return {GROUPS: json.dumps(written)} if written else {}
