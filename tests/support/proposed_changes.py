"""Random clusters as manifests, and the changes that explanations propose, made to manifests.

The manifests are changed as a user would change them. Gangs wait in clusters of which the pods run,
some of them with a declared end.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple

from gang_scheduler.inspection.explaining.document_fields import as_json
from gang_scheduler.scheduler.explanation.findings import Change, Variant

Body = dict[str, Any]
SPEC: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
MIN_RUNTIME: Final = "py-gang-scheduler.io/min-runtime"
NOON: Final = 1_767_268_800
HOUR: Final = 3600
LAYERS: Final = (
    {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
    {"topologyLayer": "RackLayer", "labelKey": ["rack"], "parentTopologyLayer": "SpineLayer"},
    {
        "topologyLayer": "NodeTopologyLayer",
        "labelKey": ["kubernetes.io/hostname"],
        "parentTopologyLayer": "RackLayer",
    },
)
DEDICATED: Final = {"key": "dedicated", "value": "serving", "effect": "NoSchedule"}
QUEUE: Final = {
    "kind": "Queue",
    "apiVersion": "py-gang-scheduler.io/v1alpha1",
    "name": "team",
    "spec": {"quota": {"soft": {"cpu": "16"}, "hard": {"cpu": "16"}}},
}
TREE: Final = {
    "kind": "ClusterNetworkTopology",
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "name": "default",
    "spec": {"networkTopologySpec": [*LAYERS]},
}


class Proposal(NamedTuple):
    """A change by its name, with what it is about: a number, a layer, a gang that ends, labels.

    `taints` are as in `kubectl taint`, `requests` amounts by resource, and `quotas` amounts by the
    name of a Queue, a resource and the fields that have them.
    """

    change: str
    number: int | None = None
    layer: str | None = None
    after: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str, ...] = ()
    requests: tuple[tuple[str, str], ...] = ()
    quotas: tuple[tuple[str, str, tuple[str, ...], str], ...] = ()


def of_variant(found: Variant) -> Proposal:
    """Return the proposal that a variant is."""
    return of_document(as_json(found))


def of_document(found: Mapping[str, Any]) -> Proposal:
    """Return the proposal that a document tells."""
    labels = tuple(sorted(found["labels"].items()))
    return Proposal(
        *(found["change"], found["number"], found["layer"], found["after"], labels),
        taints=tuple(found["taints"]),
        requests=tuple((each["resource"], each["amount"]) for each in found["requests"]),
        quotas=tuple(
            (each["queue"], each["resource"], tuple(each["fields"]), each["amount"])
            for each in found["quotas"]
        ),
    )


def cluster(dice: Random, now: int = NOON) -> Iterator[Body]:
    """Yield nodes in racks and spines, pods that run, some of which end in time, and gangs.

    The manifests are short, as in `cases`. `now` is in seconds.
    """
    yield TREE
    nodes = dice.choice((4, 6, 8))
    for i in range(nodes):
        labels = {"spine": f"s{i // 4}", "rack": f"r{i // 2}"}
        tainted = dice.random() < 0.2
        yield {
            "kind": "Node",
            "name": f"n{i}",
            "allocatable": {"cpu": 8},
            "metadata": {"labels": labels},
            "spec": {"taints": [DEDICATED]} if tainted else {},
        }
    for i in range(nodes):
        if dice.random() < 0.7:
            yield _running(dice, i, now)
    if limited := dice.random() < 0.3:
        yield QUEUE
    for i in range(dice.randint(1, 2)):
        yield from _gang(dice, f"g{i}", now, queue="team" if limited else "")


def in_trees(dice: Random, now: int = NOON) -> Iterator[Body]:
    """Yield a large node, queues in trees of up to four levels, and pods that ask for quota."""
    amount = ("0", "2", "4", "6", "8", "12")
    names = ["top", "mid", "team", "mate"]
    parents = {"mid": "top", "team": dice.choice(("top", "mid")), "mate": dice.choice(names[:2])}
    yield {"kind": "Node", "name": "n", "allocatable": {"cpu": 100}}
    for name in ["root", *names]:
        quota: Body = {}
        if name in ("team", "mate") or dice.random() < 0.6:
            quota["soft"] = {"cpu": dice.choice(amount)}
        if dice.random() < 0.3:
            most = int(quota["soft"]["cpu"]) if "soft" in quota else 0
            quota["hard"] = {"cpu": str(most + dice.choice((0, 2, 4)))}
        yield {
            "kind": "Queue",
            "apiVersion": QUEUE["apiVersion"],
            "name": name,
            "spec": {
                **({"parent": parents[name]} if name in parents else {}),
                **({"quota": quota} if quota else {}),
                "borrowing": {"enabled": dice.random() < 0.5},
            },
        }
    for number in range(dice.randint(1, 5)):
        yield {
            "kind": "Pod",
            "name": f"g{number}",
            "priority": dice.choice((0, 2)),
            "requests": {"cpu": dice.choice((2, 3, 6))},
            "metadata": {
                "labels": {"py-gang-scheduler.io/queue": dice.choice(("team", "mate"))},
                "creationTimestamp": time_of(now - 60 + number),
            },
            "spec": {"nodeName": "n"} if dice.random() < 0.3 else {},
        }


def in_part(dice: Random, now: int = NOON) -> Iterator[Body]:
    """Yield small nodes, and gangs that have lost members beside pods that run."""
    nodes = dice.randint(2, 4)
    for i in range(nodes):
        yield {"kind": "Node", "name": f"n{i}", "allocatable": {"cpu": 4}}
    members = dice.randint(2, 5)
    yield {"kind": "PodGroup", "name": "g", "minMember": members, "started": True}
    for i in range(members):
        runs = i < members // 2 and i < nodes
        yield {
            "kind": "Pod",
            "name": f"g-{i}",
            "gang": "g",
            "priority": dice.choice((0, 1)) if dice.random() < 0.3 else 0,
            "requests": {"cpu": dice.choice((3, 4)) if runs else 1},
            "metadata": {"creationTimestamp": time_of(now - 60)},
            "spec": {"nodeName": f"n{i}"} if runs else {},
        }
    for i in range(members // 2, nodes):
        yield {
            "kind": "Pod",
            "name": f"x{i}",
            "nodeName": f"n{i}",
            "priority": dice.choice((0, 5)),
            "requests": {"cpu": 4},
            "metadata": {"creationTimestamp": time_of(now - HOUR)},
        }


def _running(dice: Random, number: int, now: int) -> Body:
    spec = {"activeDeadlineSeconds": 2 * HOUR} if dice.random() < 0.5 else {}
    return {
        "kind": "Pod",
        "name": f"x{number}",
        "nodeName": f"n{number}",
        "priority": dice.choice((0, 5)),
        "requests": {"cpu": dice.choice((2, 4, 8))},
        "metadata": {"creationTimestamp": time_of(now - HOUR)},
        "spec": spec,
        "status": {"phase": "Running", "startTime": time_of(now - HOUR + 60 * number)},
    }


def _gang(dice: Random, name: str, now: int, queue: str) -> Iterator[Body]:
    members = dice.randint(2, 6)
    layer = dice.choice(("SpineLayer", "RackLayer", ""))
    request = {"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]}
    metadata = {
        "name": name,
        "annotations": {SPEC: json.dumps(request)} if layer else {},
        "labels": {"py-gang-scheduler.io/queue": queue} if queue else {},
    }
    yield {"kind": "PodGroup", "metadata": metadata, "minMember": members}
    yield {
        "kind": "Pod",
        "copies": members,
        "name": name,
        "gang": name,
        "priority": dice.choice((0, 3)),
        "requests": {"cpu": dice.choice((3, 4, 8, 12))},
        "metadata": {"creationTimestamp": time_of(now - 60)},
        "spec": {"nodeSelector": {"spine": "s0"}} if dice.random() < 0.2 else {},
    }


def time_of(seconds: int) -> str:
    """Return a time as manifests have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def changed(bodies: Iterable[Body], name: str, proposal: Proposal) -> Iterator[Body]:
    """Yield the manifests with what a user does about the gang of a name, or waits for.

    Minimum run times are over once the pods have run for an hour longer.
    """
    ended = (proposal.after or "").partition("/")[2]
    for body in copy.deepcopy([*bodies]):
        metadata = body["metadata"]
        gang = metadata.get("labels", {}).get(LABEL)
        if body["kind"] == "PodGroup" and metadata["name"] == name:
            _change_group(body, proposal)
        elif body["kind"] == "Pod" and name in (gang, metadata["name"]):
            _change_member(body, proposal)
        elif body["kind"] == "Queue":
            _change_queue(body, proposal)
        elif body["kind"] == "Pod" and ended and ended in (metadata["name"], gang):
            continue
        elif body["kind"] == "Pod" and proposal.change == Change.RUN_TIMES_OVER:
            _age(body)
        yield body


def _change_group(body: Body, proposal: Proposal) -> None:
    if proposal.change == Change.FEWER_MEMBERS:
        body["spec"]["minMember"] = proposal.number
    elif proposal.change == Change.SOFTER_LAYER:
        annotations = body["metadata"]["annotations"]
        annotations[SPEC] = annotations[SPEC].replace("MustGather", "PreferGather")


def _change_member(body: Body, proposal: Proposal) -> None:
    if proposal.change == Change.HIGHER_PRIORITY:
        body["spec"]["priority"] = proposal.number
    elif proposal.change == Change.OTHER_FLAVOR:
        body["spec"]["nodeSelector"] |= dict(proposal.labels)
    elif proposal.change == Change.SELECTOR_REMOVED:
        selector = body["spec"]["nodeSelector"].items()
        body["spec"]["nodeSelector"] = dict(
            each for each in selector if each not in proposal.labels
        )
    elif proposal.change == Change.TAINTS_TOLERATED:
        body["spec"]["tolerations"] = [*map(_toleration, proposal.taints)]
    for resource, amount in () if "nodeName" in body["spec"] else proposal.requests:
        for container in body["spec"]["containers"]:
            container["resources"]["requests"][resource] = amount


def _toleration(taint: str) -> Body:
    named, _, effect = taint.rpartition(":")
    key, _, value = named.partition("=")
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}


def _change_queue(body: Body, proposal: Proposal) -> None:
    for queue, resource, fields, amount in proposal.quotas:
        if queue == body["metadata"]["name"]:
            for field in fields:
                quota = body["spec"].setdefault("quota", {})
                quota.setdefault(field.rpartition(".")[2], {})[resource] = amount


def _age(body: Body) -> None:
    if started := body.get("status", {}).get("startTime"):
        at = int(datetime.fromisoformat(started).timestamp())
        body["status"]["startTime"] = time_of(at - HOUR)
