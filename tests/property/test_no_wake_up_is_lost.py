"""Law: a gang that is not tried in a cycle would have got the verdict that it has.

Random objects come, change and go. After each cycle all gangs are tried, whether anything called
for it or not: then none is placed, and each is told what it was told before. Only a verdict that
ends with a backoff may say until then what was true before.
"""

import json
from random import Random
from typing import Any, Final
from unittest.mock import patch

from hypothesis import given

from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.words.messages import describe
from gang_scheduler.state.gangs import gangs_to_try
from gang_scheduler.state.gangs.decisions import WITH_BACKOFF
from property.random_cases import SEEDS, dice_of
from support import api_objects, declared_objects
from support.in_memory_cluster import InMemoryCluster, group_body

NAMESPACES: Final = {**dict.fromkeys("abcd", "default"), "e": "other"}
NAMES = [*(f"{namespace}/{name}" for name, namespace in NAMESPACES.items()), "default/missing"]
QUEUES: Final = ["one", "two"]
TOPOLOGY = "gang.scheduling.koordinator.sh/network-topology-spec"
GATHER = json.dumps({"gatherStrategy": [{"layer": "RackLayer", "strategy": "MustGather"}]})
EVENTS = 25


@given(SEEDS)
def test_a_try_that_nothing_called_for_has_the_same_outcome(seed: int) -> None:
    dice = dice_of(seed)
    # As if very many gangs had changed: then groups are made ahead of the cycle.
    with patch.object(gangs_to_try, "MANY", dice.choice((1, 1000))):
        live(dice)


def live(dice: Random) -> None:
    cluster = InMemoryCluster(cpu=4)
    for _ in range(dice.randint(5, EVENTS)):
        dice.choice((of_a_gang, of_a_pod, of_a_pod, of_the_cluster))(dice, cluster)
        settle(cluster)
        told = verdicts(cluster)
        assert Reason.INTERNAL_ERROR not in {reason for reason, _ in told.values()}
        stands = {key: said for key, said in told.items() if said[0] not in WITH_BACKOFF}

        cluster.cache.gang_queue.to_try.update(cluster.cache.gang_queue.infos)

        assert set() == cluster.bound()
        found = verdicts(cluster)
        assert stands == {key: found.get(key) for key in stands}


# What may happen.


def of_a_gang(dice: Random, cluster: InMemoryCluster) -> None:
    """Let a PodGroup come, say something else, or go."""
    name = dice.choice(sorted(NAMESPACES))
    named = dice.sample(NAMES, dice.choice((0, 0, 1, 2)))
    given = {"groups": json.dumps(named)} if named else {}
    body: Any = group_body(name, dice.randint(1, 3), NAMESPACES[name], **given)
    if dice.random() < 0.3:
        body["metadata"]["labels"] = {declared_objects.QUEUE_LABEL: dice.choice(QUEUES)}
    if dice.random() < 0.2:
        body["metadata"]["annotations"][TOPOLOGY] = GATHER
    cluster.put(body, _change(dice))


def of_a_pod(dice: Random, cluster: InMemoryCluster) -> None:
    """Let a pod come, be replaced, end, or go."""
    gang = dice.choice(sorted(NAMESPACES))
    namespace, name = NAMESPACES[gang], f"{gang}-{dice.randint(0, 2)}"
    spec = {"nodeSelector": {"rack": dice.choice("12")}} if dice.random() < 0.3 else {}
    match dice.choice(("comes", "comes", "comes", "ends", "goes")):
        case "comes":
            cluster.pod(name, gang, namespace, spec=spec)
        case "ends" if (namespace, name) in cluster.pods:
            cluster.end(name, dice.choice(("Succeeded", "Failed")), namespace)
        case "goes" if (namespace, name) in cluster.pods:
            cluster.gone(name, namespace)


def of_the_cluster(dice: Random, cluster: InMemoryCluster) -> None:
    """Let a node, the tree or a queue come, change, or go."""
    size = {"cpu": str(dice.randint(0, 4)), "memory": "100Gi", "pods": "500"}
    labels = {"rack": dice.choice("12")} if dice.random() < 0.5 else {}
    node = dice.choice(("n1", "n2"))
    queue = declared_objects.queue_body(dice.choice(QUEUES), dice.randint(0, 3))
    body = dice.choice(
        (
            *[api_objects.node_body(node, allocatable=size, metadata={"labels": labels})] * 2,
            *[queue] * 2,
            declared_objects.tree_body(),
        )
    )
    cluster.put(body, _change(dice))


def _change(dice: Random) -> str:
    return dice.choice(("ADDED", "ADDED", "ADDED", "DELETED"))


# What follows.


def settle(cluster: InMemoryCluster) -> None:
    """Make cycles until none places a gang: a gang that starts may let others of its group go."""
    while cluster.bound():
        pass


def verdicts(cluster: InMemoryCluster) -> dict[GangKey, tuple[Reason, str]]:
    """Return why each gang waits that has a member to place: reason and message."""
    gangs = cluster.cache.gang_queue
    refusals = {key: info.verdict.refusal for key, info in gangs.infos.items()}
    return {
        key: (refusal.reason, describe(refusal))
        for key, refusal in refusals.items()
        if refusal is not None and gangs.infos[key].has_pending(gangs.schedulers)
    }
