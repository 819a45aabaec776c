"""A domain of a layer of its own for each group of pods, as webhooks write it into pods."""

from collections.abc import Mapping
from typing import Any, Final

AFFINITY: Final = "requiredDuringSchedulingIgnoredDuringExecution"

Body = Mapping[str, Any]
NONE: Final[Body] = {}


def exclusive(pod: Body, layer: str, label: str, key: str, among: Body = NONE) -> Body:
    """Return a pod that shares its domain of a layer with its group, and with no other one.

    A group is the pods with one value, `key`, of a label; `among` says in which namespaces others
    count. Without a layer the pod stays as it is.
    """
    if not layer:
        return pod
    mine = {"key": label, "operator": "In", "values": [key]}
    others = [{"key": label, "operator": "Exists"}, {**mine, "operator": "NotIn"}]
    affinity = pod["spec"].get("affinity") or {}
    terms = {
        kind: {
            **affinity.get(kind, {}),
            AFFINITY: [
                *affinity.get(kind, {}).get(AFFINITY, ()),
                {"labelSelector": {"matchExpressions": selector}, "topologyKey": layer, **among},
            ],
        }
        for kind, selector in (("podAffinity", [mine]), ("podAntiAffinity", others))
    }
    return {**pod, "spec": {**pod["spec"], "affinity": {**affinity, **terms}}}


def in_domain(pod: Body, layer: str, domain: str) -> Body:
    """Return a pod that goes to nodes of one domain alone."""
    spec = pod["spec"]
    selector = {**(spec.get("nodeSelector") or {}), layer: domain}
    return {**pod, "spec": {**spec, "nodeSelector": selector}}
