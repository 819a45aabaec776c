"""Law: a start that is told is the first end after which the gang would be placed.

All ends are tried, one after the other: of what runs then, a new cluster is read and decided on.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest

from cases.test_cases import expanded
from gang_scheduler import from_settings
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.explanation.explain import explain
from gang_scheduler.scheduler.explanation.findings import StartBasis, Surroundings
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import filled
from gang_scheduler.state.cache import Cache
from property.random_cases import dice_of
from support.proposed_changes import NOON, SPEC, TREE, Body, time_of
from support.thoroughness import cases

CLUSTERS: Final = cases(50, thorough=1000)
MINUTE: Final = 60
ZONE: Final = "topology.kubernetes.io/zone"
TOLD: Final = set[StartBasis]()
"""On what the starts were based that the clusters have had."""


def a_cluster(dice: Random) -> Iterator[Body]:
    """Yield nodes in racks, pods that end one after the other, and one gang that waits."""
    yield TREE
    nodes = dice.choice((4, 6))
    for i in range(nodes):
        labels = {"spine": f"s{i // 4}", "rack": f"r{i // 2}", ZONE: f"z{i % 2}"}
        yield {
            "kind": "Node",
            "name": f"n{i}",
            "allocatable": {"cpu": 8},
            "metadata": {"labels": labels},
        }
    ends = dice.sample(range(1, 60), 2 * nodes)
    for i in range(2 * nodes):
        if dice.random() < 0.8:
            yield _running(dice, f"x{i}", f"n{i // 2}", ends[i])
    yield from _gang(dice)


def _running(dice: Random, name: str, node: str, minutes: int) -> Body:
    return {
        "kind": "Pod",
        "name": name,
        "nodeName": node,
        "priority": 5,
        "requests": {"cpu": dice.choice((2, 3, 4))},
        "metadata": {
            "creationTimestamp": time_of(NOON - MINUTE),
            "labels": {"app": dice.choice("ab")},
        },
        "spec": {"activeDeadlineSeconds": MINUTE * (minutes + 1)},
        "status": {"phase": "Running", "startTime": time_of(NOON - MINUTE)},
    }


def _gang(dice: Random) -> Iterator[Body]:
    """Yield a gang of members of one or two sizes, some of which depend on where others are."""
    numbers = dice.choice(((2,), (3,), (4,), (1, 2), (2, 2), (3, 1)))
    layer = dice.choice(("SpineLayer", "RackLayer", "RackLayer", ""))
    request = {"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]}
    metadata = {"name": "g", "annotations": {SPEC: json.dumps(request)} if layer else {}}
    yield {"kind": "PodGroup", "metadata": metadata, "minMember": sum(numbers)}
    beside = dice.choice((*_BESIDE, {}, {}))
    for i, number in enumerate(numbers):
        yield {
            "kind": "Pod",
            "copies": number,
            "name": f"g-{i}",
            "gang": "g",
            "requests": {"cpu": dice.choice((3, 4, 5, 6))},
            "metadata": {"creationTimestamp": time_of(NOON - MINUTE)},
            "spec": beside,
        }


def _term(**more: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": ZONE, **more}


_BESIDE: Final[tuple[dict[str, Any], ...]] = (
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term()]}}},
    {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    _term(topologyKey="kubernetes.io/hostname")
                ]
            }
        }
    },
    {"topologySpreadConstraints": [_term(maxSkew=1, whenUnsatisfiable="DoNotSchedule")]},
)
"""What members may ask of pods that run."""


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_a_start_is_the_first_end_after_which_the_gang_is_placed(seed: int) -> None:
    bodies = [*expanded(a_cluster(dice_of(seed)))]
    cache = cache_of(bodies)
    snapshot = cache.snapshot(NOON)
    (key,) = (key for key in cache.gang_queue.infos if key.name == "g")

    running = Surroundings(cache.running(NOON))
    start = explain(snapshot, from_settings.profile(Policy()), key, running).start

    if start is None:
        assert starts(key, bodies)
        return
    TOLD.add(start.basis)
    ends = sorted(filter(None, map(end_of, bodies)))
    after = (at for at in ends if starts(key, [each for each in bodies if is_there(each, at)]))
    assert next(after, None) == start.at


def test_starts_and_gangs_that_never_start_were_among_them() -> None:
    if TOLD:
        assert {StartBasis.ENDS, StartBasis.NEVER} == TOLD


def end_of(body: Body) -> int | None:
    """Return when a pod ends by its deadline, in seconds."""
    deadline = body.get("spec", {}).get("activeDeadlineSeconds")
    return None if deadline is None else NOON - MINUTE + int(deadline)


def is_there(body: Body, at: int) -> bool:
    """Return whether an object is still there at a time."""
    ends_at = end_of(body)
    return ends_at is None or ends_at > at


def starts(key: GangKey, bodies: list[Body]) -> bool:
    """Return whether the gang is placed."""
    plan = schedule(cache_of(bodies).snapshot(NOON), from_settings.profile(Policy()))
    return any(each.gang.key == key for each in plan.placed)


def cache_of(bodies: list[Body]) -> Cache:
    ours = (documents.Document("cluster", i, body) for i, body in enumerate(bodies))
    found = objects.load(ours, "py-gang-scheduler", at=NOON)
    return filled(found, Policy())
