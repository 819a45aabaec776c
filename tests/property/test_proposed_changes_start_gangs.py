"""Law: each change that an explanation proposes, made to the manifests, starts the gang.

The manifests are changed as a user would change them, and read anew: what the explanation tried on
its snapshot comes true in a cluster.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest

from cases.test_cases import expanded
from gang_scheduler import policy
from gang_scheduler.decode.fields import timestamp
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.explanation.evictions import preemption_for
from gang_scheduler.scheduler.explanation.explain import explain
from gang_scheduler.scheduler.explanation.findings import Change, Surroundings, Variant
from gang_scheduler.settings import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.run import filled
from gang_scheduler.state.cache import Cache
from property.random_cases import dice_of

Body = dict[str, Any]
CLUSTERS: Final = 200
SPEC: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
NOW: Final = "2026-01-01T12:00:00Z"
LAYERS: Final = (
    {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
    {"topologyLayer": "RackLayer", "labelKey": ["rack"], "parentTopologyLayer": "SpineLayer"},
    {
        "topologyLayer": "NodeTopologyLayer",
        "labelKey": ["kubernetes.io/hostname"],
        "parentTopologyLayer": "RackLayer",
    },
)
TREE: Final = {
    "kind": "ClusterNetworkTopology",
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "name": "default",
    "spec": {"networkTopologySpec": [*LAYERS]},
}
TOLD: Counter[Change] = Counter()


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_in_random_clusters(seed: int) -> None:
    bodies = [*expanded(cluster(dice_of(seed)))]
    cache = cache_of(bodies)
    snapshot = cache.snapshot(timestamp(NOW))
    surroundings = Surroundings(cache.running(timestamp(NOW)))
    profile = policy.profile(Policy())
    waiting = [gang.key for group in snapshot.groups for gang in group.waiting]

    for key in waiting:
        for variant in explain(snapshot, profile, key, surroundings).variants or ():
            TOLD[variant.change] += 1
            assert starts(key, [*changed(bodies, key, variant)]), (str(key), variant)


def test_every_change_was_among_them() -> None:
    if sum(TOLD.values()) > CLUSTERS // 4:
        tried = {Change.FEWER_MEMBERS, Change.SOFTER_LAYER, Change.HIGHER_PRIORITY, Change.NEXT_END}
        assert tried == {*TOLD}


def cluster(dice: Random) -> Iterator[Body]:
    """Yield nodes in racks and spines, pods that run, some of which end in time, and gangs."""
    yield TREE
    nodes = dice.choice((4, 6, 8))
    for i in range(nodes):
        labels = {"spine": f"s{i // 4}", "rack": f"r{i // 2}"}
        yield {
            "kind": "Node",
            "name": f"n{i}",
            "allocatable": {"cpu": 8},
            "metadata": {"labels": labels},
        }
    for i in range(nodes):
        if dice.random() < 0.7:
            yield running(dice, i)
    for i in range(dice.randint(1, 2)):
        yield from gang(dice, f"g{i}")


def running(dice: Random, number: int) -> Body:
    spec = {"activeDeadlineSeconds": 7200} if dice.random() < 0.5 else {}
    return {
        "kind": "Pod",
        "name": f"x{number}",
        "nodeName": f"n{number}",
        "priority": dice.choice((0, 5)),
        "requests": {"cpu": dice.choice((2, 4, 8))},
        "metadata": {"creationTimestamp": "2026-01-01T11:00:00Z"},
        "spec": spec,
        "status": {"phase": "Running", "startTime": f"2026-01-01T11:{number:02}:00Z"},
    }


def gang(dice: Random, name: str) -> Iterator[Body]:
    members = dice.randint(2, 6)
    layer = dice.choice(("SpineLayer", "RackLayer", ""))
    request = {"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]}
    metadata = {"name": name, "annotations": {SPEC: json.dumps(request)} if layer else {}}
    yield {"kind": "PodGroup", "metadata": metadata, "minMember": members}
    yield {
        "kind": "Pod",
        "copies": members,
        "name": name,
        "gang": name,
        "priority": dice.choice((0, 3)),
        "requests": {"cpu": dice.choice((3, 4, 8))},
        "metadata": {"creationTimestamp": "2026-01-01T11:59:00Z"},
    }


def changed(bodies: list[Body], key: GangKey, variant: Variant) -> Iterator[Body]:
    """Yield the manifests with a change that a user makes."""
    for body in copy.deepcopy(bodies):
        metadata = body["metadata"]
        if body["kind"] == "PodGroup" and metadata["name"] == key.name:
            _change_group(body, variant)
        elif metadata.get("labels", {}).get(LABEL) == key.name:
            if variant.change is Change.HIGHER_PRIORITY:
                body["spec"]["priority"] = variant.number
        elif variant.end is not None and metadata["name"] == variant.end.name:
            continue
        yield body


def _change_group(body: Body, variant: Variant) -> None:
    if variant.change is Change.FEWER_MEMBERS:
        body["spec"]["minMember"] = variant.number
    elif variant.change is Change.SOFTER_LAYER:
        annotations = body["metadata"]["annotations"]
        annotations[SPEC] = annotations[SPEC].replace("MustGather", "PreferGather")


def starts(key: GangKey, bodies: list[Body]) -> bool:
    """Return whether the gang starts, or pods leave for it."""
    snapshot = cache_of(bodies).snapshot(timestamp(NOW))
    plan = schedule(snapshot, policy.profile(Policy()))
    groups = (group for group in snapshot.groups if any(g.key == key for g in group.gangs))
    makes_room = any(preemption_for(group, plan) is not None for group in groups)
    return makes_room or any(each.gang.key == key for each in plan.placed)


def cache_of(bodies: list[Body]) -> Cache:
    ours = (documents.Document("cluster", i, body) for i, body in enumerate(bodies))
    found = objects.load(ours, "py-gang-scheduler", at=timestamp(NOW))
    return filled(found, Policy())
