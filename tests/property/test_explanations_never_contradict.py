"""Law: an explanation says of a gang what the cycle decides on the same snapshot.

And each change that it proposes starts the gang, or makes room for it, in a cycle on the snapshot
with that change. What is said to lack quota alone has room.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gang_scheduler import from_settings
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.explanation.explain import explain
from gang_scheduler.scheduler.explanation.findings import Change, Explanation, Surroundings, Verdict
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.objects import filled
from property import queue_worlds
from search import answers, generator
from support.thoroughness import cases

WORLDS = cases(20, thorough=400)
QUEUES = cases(20, thorough=400)

World = tuple[Snapshot, Profile, Surroundings]


def of_manifests(seed: int) -> World:
    """Return a world of any manifests, as a cluster would be read."""
    loaded = answers.read(generator.world(seed).documents)
    cache = filled(loaded, Policy())
    snapshot = cache.snapshot(loaded.read_at)
    surroundings = Surroundings(cache.running(loaded.read_at))
    return snapshot, from_settings.profile(Policy()), surroundings


def of_queues(seed: int) -> World:
    """Return a world of queues."""
    world = queue_worlds.a_crowd(seed) if seed % 2 else queue_worlds.a_world(seed)
    return world.snapshot(), PROFILES["binpack"], Surroundings()


def waiting(snapshot: Snapshot) -> Iterator[GangKey]:
    for group in snapshot.groups:
        yield from (gang.key for gang in group.waiting)


def contradictions(plan: Plan, found: Explanation) -> list[str]:
    """Return in what an explanation differs from the plan."""
    refused = next((each for each in plan.refused if each.gang.key == found.key), None)
    placed = next((each for each in plan.placed if each.gang.key == found.key), None)
    expected: Verdict | None = None
    if placed is not None:
        expected = Verdict.STARTS
    elif refused is not None:
        makes_room = refused.reason is Reason.WAITING_FOR_VICTIMS
        expected = Verdict.MAKES_ROOM if makes_room else Verdict.WAITS
    wrong = [] if found.verdict is expected else [f"{found.verdict} for {expected}"]
    wrong += [] if found.refused == refused else ["another refusal"]
    nodes = {bind.node for bind in placed.binds} if placed is not None else None
    wrong += ["other nodes"] if nodes is not None and nodes != set(found.nodes_taken) else []
    room = found.room
    if room is not None and expected is Verdict.WAITS and refused is not None:
        full = refused.reason is Reason.UNSCHEDULABLE and refused.misfit is not None
        best = max((each.slots for each in room.where.explained), default=0)
        wrong += ["a domain has room"] if full and best >= room.where.needed else []
    return wrong


@pytest.mark.parametrize("seed", range(WORLDS))
def test_of_any_manifests(seed: int) -> None:
    assert [] == all_contradictions(*of_manifests(seed))


@pytest.mark.parametrize("seed", range(QUEUES))
def test_of_queues(seed: int) -> None:
    assert [] == all_contradictions(*of_queues(seed))


def all_contradictions(
    snapshot: Snapshot, profile: Profile, surroundings: Surroundings
) -> list[tuple[str, list[str]]]:
    plan = schedule(snapshot, profile)
    found = (explain(snapshot, profile, key, surroundings) for key in waiting(snapshot))
    told = ((str(each.key), contradictions(plan, each)) for each in found)
    return [(key, wrong) for key, wrong in told if wrong]


@pytest.mark.parametrize("seed", range(QUEUES))
def test_what_lacks_quota_alone_would_have_room(seed: int) -> None:
    snapshot, profile, surroundings = of_queues(seed)

    for group in snapshot.groups:
        for gang in group.waiting:
            found = explain(snapshot, profile, gang.key, surroundings)
            by_quota = any(v.change is Change.MORE_QUOTA for v in found.variants or ())
            assert not (by_quota and found.beside)
            if found.beside is None and not by_quota and lacks_quota(found):
                plan = schedule(without_quota(snapshot, group), profile)
                assert gang.key in {each.gang.key for each in plan.placed}


def lacks_quota(found: Explanation) -> bool:
    return found.refused is not None and found.refused.reason is Reason.WAITING_FOR_QUOTA


def without_quota(snapshot: Snapshot, group: GangGroup) -> Snapshot:
    """Return the snapshot with one group alone, in queues that refuse nothing."""
    assert snapshot.queues is not None
    declared = replace(snapshot.queues.declared, enforced=frozenset())
    return replace(snapshot, groups=(group,), queues=replace(snapshot.queues, declared=declared))
