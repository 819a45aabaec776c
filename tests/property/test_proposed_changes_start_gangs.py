"""Law: each change that an explanation proposes, made to the manifests, starts the gang.

The manifests are changed as a user would change them, and read anew: what the explanation tried on
its snapshot comes true in a cluster.
"""

from collections import Counter
from typing import Final

import pytest

from cases.test_cases import expanded
from gang_scheduler import from_settings
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.explanation.evictions import preemption_for
from gang_scheduler.scheduler.explanation.explain import explain
from gang_scheduler.scheduler.explanation.findings import Change, Surroundings, Variant
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import filled
from gang_scheduler.state.cache import Cache
from property.random_cases import dice_of
from support.proposed_changes import NOON, Body, changed, cluster, in_part, in_trees, of_variant
from support.thoroughness import cases

CLUSTERS: Final = cases(80, thorough=1000)
TOLD: Counter[Change] = Counter()
ELSEWHERE: Final = {Change.RUN_TIMES_OVER, Change.OTHER_FLAVOR}
"""What these clusters do not have: minimum run times, and flavors."""


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_in_random_clusters(seed: int) -> None:
    for variant in hold([*expanded(cluster(dice_of(seed)))]):
        TOLD[variant.change] += 1


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_in_random_trees_of_queues(seed: int) -> None:
    hold([*expanded(in_trees(dice_of(seed)))])


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_for_gangs_that_have_lost_members(seed: int) -> None:
    for variant in hold([*expanded(in_part(dice_of(seed)))]):
        assert "default/g" not in {each.gang for each in variant.victims}


def hold(bodies: list[Body]) -> list[Variant]:
    """Return all changes that are proposed, and raise for one that does not start its gang."""
    cache = cache_of(bodies)
    snapshot = cache.snapshot(NOON)
    surroundings = Surroundings(cache.running(NOON))
    profile = from_settings.profile(Policy())
    waiting = [gang.key for group in snapshot.groups for gang in group.waiting]
    told: list[Variant] = []

    for key in waiting:
        for variant in explain(snapshot, profile, key, surroundings).variants or ():
            told.append(variant)
            after = [*changed(bodies, key.name, of_variant(variant))]
            assert starts(key, after), (str(key), variant)
    return told


def test_every_change_was_among_them() -> None:
    if sum(TOLD.values()) > CLUSTERS // 4:
        assert {*Change} - ELSEWHERE == {*TOLD}


def starts(key: GangKey, bodies: list[Body]) -> bool:
    """Return whether the gang starts, or pods leave for it."""
    snapshot = cache_of(bodies).snapshot(NOON)
    plan = schedule(snapshot, from_settings.profile(Policy()))
    groups = (group for group in snapshot.groups if any(g.key == key for g in group.gangs))
    makes_room = any(preemption_for(group, plan) is not None for group in groups)
    return makes_room or any(each.gang.key == key for each in plan.placed)


def cache_of(bodies: list[Body]) -> Cache:
    ours = (documents.Document("cluster", i, body) for i, body in enumerate(bodies))
    found = objects.load(ours, "py-gang-scheduler", at=NOON)
    return filled(found, Policy())
