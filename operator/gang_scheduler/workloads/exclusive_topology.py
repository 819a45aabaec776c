"""Exclusive domains of JobSets and LeaderWorkerSets.

JobSet's webhook admits the first pod of a Job, and refuses the others until the first has a node.
After that, it gives the others a node selector for the domain of this node.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import field, label_field
from gang_scheduler.wire.base import Metadata

KEYS: Final = (annotations.EXCLUSIVE_TOPOLOGY, annotations.NODE_SELECTOR_STRATEGY)
INDEX: Final = "batch.kubernetes.io/job-completion-index"


def said_by(job_set: Metadata, template: Metadata) -> dict[str, str]:
    """Return the annotations on exclusive domains for the Jobs of a replicatedJob.

    Annotations of its template replace the annotations of the JobSet.
    """
    found: dict[str, str] = {}
    for each in (job_set.annotations, template.annotations):
        if annotations.EXCLUSIVE_TOPOLOGY in each:
            found.update((key, each[key]) for key in KEYS if key in each)
    return found


def layer_of(present: Mapping[str, str]) -> str:
    """Return the node label whose values are the domains; "" if no pod waits for the first."""
    if annotations.NODE_SELECTOR_STRATEGY in present:
        return ""
    return present.get(annotations.EXCLUSIVE_TOPOLOGY, "")


def is_first(index: str) -> bool:
    """Return whether a pod with this index is the first of its Job. Its node sets the domain."""
    return index == "0"


def is_held_back(present: Mapping[str, str]) -> bool:
    """Return whether a pod with these annotations is created after the first pod of its Job."""
    return bool(layer_of(present)) and not is_first(present.get(INDEX, ""))


def without_held_back(described: GangSpec, members: Iterable[Pod]) -> GangSpec:
    """Return a gang whose quorum leaves out pods that cannot exist yet.

    While the first pod of a Job waits, JobSet refuses the other pods of the Job. Until all pods
    exist, the gang starts only if the cluster has room for all members that have no node yet.
    """
    jobs: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in members:
        if pod.living and not pod.deleting:
            jobs[pod.job].append(pod)
    alone = sum(1 for pods in jobs.values() if len(pods) == 1 and _waits_as_first(pods[0]))
    if not alone:
        return replace(described, min_resources=(), own_domains=None)
    held = (pod.pod_class.requests for pods in jobs.values() for pod in pods if pod.node)
    needed = described.min_member - alone * described.held_back
    return replace(
        described,
        min_member=max(needed, min(described.min_member, alone)),
        min_resources=_less(described.min_resources, held),
        own_domains=described.own_domains and described.own_domains._replace(many=alone),
    )


def _less(
    amounts: Iterable[tuple[str, int]], held: Iterable[Iterable[tuple[str, int]]]
) -> tuple[tuple[str, int], ...]:
    left = dict(amounts)
    for each in held:
        for name, amount in each:
            left[name] = max(0, left.get(name, 0) - amount)
    return tuple(left.items())


def never_whole(key: GangKey, pending: Iterable[Pod], min_member: int) -> Problem | None:
    """Return why a gang never starts: JobSet creates its other pods once the first has a node.

    The gang of a replicatedJob does not wait for these pods.
    """
    if key.source == refs.JOB_SET.name:
        return None
    first = next(filter(_waits_as_first, pending), None)
    if first is None:
        return None
    text = (
        f"pod {first.key}: with {field(annotations.EXCLUSIVE_TOPOLOGY)} JobSet creates the other "
        f"pods of a Job only once its first one has a node, so {min_member} members cannot start "
        f"together: make a gang of them by {label_field(annotations.JOB_GANG_LABEL)} instead"
    )
    return Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(text))


def _waits_as_first(pod: Pod) -> bool:
    return (
        not pod.node
        and bool(layer_of(pod.annotations))
        and is_first(pod.labels.get(INDEX, pod.annotations.get(INDEX, "")))
    )


# A domain for each group of pods, by affinity that webhooks write into pods.

AFFINITY: Final = "requiredDuringSchedulingIgnoredDuringExecution"

Body = Mapping[str, Any]
NONE: Final[Body] = {}


def exclusive(
    pod: Body,
    layer: str,
    label: str,
    key: str,
    *,
    among: Body = NONE,
    others: Iterable[Body] = (),
) -> Body:
    """Return a pod that shares its domain of a layer with its group, and with no other group.

    The pods of the group have the value `key` of `label`. `among` says in which namespaces pods
    count, and `others` which pods of other groups are kept out. Without a layer, the pod is
    returned unchanged.
    """
    if not layer:
        return pod
    mine = {"key": label, "operator": "In", "values": [key]}
    apart = [{"key": label, "operator": "Exists"}, {**mine, "operator": "NotIn"}, *others]
    affinity = pod["spec"].get("affinity") or {}
    terms = {
        kind: {
            **affinity.get(kind, {}),
            AFFINITY: [
                *affinity.get(kind, {}).get(AFFINITY, ()),
                {"labelSelector": {"matchExpressions": selector}, "topologyKey": layer, **among},
            ],
        }
        for kind, selector in (("podAffinity", [mine]), ("podAntiAffinity", apart))
    }
    return {**pod, "spec": {**pod["spec"], "affinity": {**affinity, **terms}}}


def in_domain(pod: Body, layer: str, domain: str) -> Body:
    """Return a pod that may only use nodes of one domain."""
    spec = pod["spec"]
    selector = {**(spec.get("nodeSelector") or {}), layer: domain}
    return {**pod, "spec": {**spec, "nodeSelector": selector}}
