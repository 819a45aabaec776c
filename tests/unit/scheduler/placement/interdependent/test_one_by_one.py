"""Pods that are placed one by one are where they would be if nodes were offered again to each."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from unittest import mock

import pytest

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import Affinity, AffinityTerm, PodAffinity, PodSelector, Spread
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.placement import feasible_slots
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, pod
from support.call_counts import calls_of
from support.plan_reading import nodes_of
from support.selector_builders import app, asking, beside, everybody, world

KEYS = ("zone", "rack", "host")
APPS = ("a", "b")
WORLDS = 60
OFFERED, STEP = "feasible_slots.offer_slots", "interdependent._as_many_of"


def one(options: Sequence[str], dice: Random) -> str:
    return dice.choice(options)


def selector(dice: Random) -> PodSelector:
    found = everybody() if dice.random() < 0.1 else app(one(APPS, dice))
    return replace(found, staying=True) if dice.random() < 0.5 else found


def asked(dice: Random) -> PodAffinity:
    """Return two things or more of all that pods can ask of each other."""
    spread = [
        Spread(
            one(KEYS, dice),
            dice.choice((1, 1, 2)),
            selector(dice),
            min_domains=dice.choice((1, 1, 3, 9)),
            honours_taints=dice.random() < 0.5,
            hard=dice.random() < 0.6,
        )
        for _ in range(dice.choice((0, 1, 2, 3)))
    ]
    anti = [AffinityTerm(selector(dice), one(KEYS, dice)) for _ in range(dice.choice((0, 0, 1, 2)))]
    preferred = [
        (dice.choice((-30, -1, 1, 20)), AffinityTerm(selector(dice), one(KEYS, dice)))
        for _ in range(dice.choice((0, 0, 1, 2)))
    ]
    keys = tuple(dice.sample(KEYS[:2], dice.choice((1, 2))))
    affinity = Affinity(app(one(APPS, dice)), keys) if dice.random() < 0.3 else None
    return PodAffinity(affinity, tuple(anti), tuple(spread), tuple(preferred))


def nodes(dice: Random) -> list[Node]:
    found = []
    for number in range(dice.randint(4, 14)):
        labels = {
            "zone": dice.choice("xy"),
            "rack": dice.choice("pqrs"),
            "host": f"n{number}",
        }
        for key in KEYS:
            if dice.random() < 0.08:
                del labels[key]
        taints = ["bad=:PreferNoSchedule"] if dice.random() < 0.2 else []
        cpu = dice.choice((1, 2, 4, 8))
        found.append(node(f"n{number}", cpu=cpu, labels=labels, taints=taints))
    return found


def random_world(seed: int) -> Snapshot:
    dice = Random(seed)  # noqa: S311 - for worlds, not for secrets.
    there = nodes(dice)
    bound: list[Pod] = [
        asking(pod(f"old-{i}", node=dice.choice(there).name), asked(dice), one(APPS, dice))
        for i in range(dice.randint(0, 5))
    ]
    waiting = []
    for number, name in enumerate(APPS):
        one_class = asked(dice)
        size = dice.randint(2, 9)
        members = [asking(pod(f"{name}-{i}"), one_class, name) for i in range(size)]
        waiting.append(gang(f"g{number}", members=members, min_member=dice.randint(1, size)))
    return world(there, waiting, bound)


def test_no_pod_is_elsewhere_than_if_all_nodes_were_offered_to_it() -> None:
    placed = 0
    for seed in range(WORLDS):
        snapshot = random_world(seed)
        for name in ("binpack", "spread"):
            found = schedule(snapshot, PROFILES[name])
            with mock.patch.object(feasible_slots, "one_by_one", return_value=None):
                expected = schedule(snapshot, PROFILES[name])
            assert nodes_of(expected) == nodes_of(found), (seed, name)
            placed += len(nodes_of(found))
    assert placed > WORLDS


@pytest.mark.parametrize(
    "asks",
    [
        PodAffinity(spread=tuple(Spread(key, 1, app("a")) for key in KEYS)),
        PodAffinity(anti=(AffinityTerm(app("a"), "host"), AffinityTerm(app("a"), "pair"))),
        PodAffinity(preferred=((10, AffinityTerm(app("a"), "rack")),)),
        PodAffinity(
            Affinity(app("a"), ("zone",)), spread=(Spread("rack", 1, app("a"), hard=False),)
        ),
    ],
)
def test_nodes_are_not_offered_anew_to_each_pod(asks: PodAffinity) -> None:
    there = [
        node(
            f"n{i}",
            cpu=8,
            labels={"zone": "x", "rack": f"r{i % 4}", "host": f"n{i}", "pair": f"{i // 2}"},
        )
        for i in range(80)
    ]
    members = [asking(pod(f"a-{i}"), asks) for i in range(40)]
    snapshot = world(there, [gang("g", members=members)])

    calls = calls_of(lambda: schedule(snapshot, PROFILES["binpack"]))

    assert calls[OFFERED] <= 4


def test_classes_that_wait_for_each_other_are_tried_again_only_when_it_may_help() -> None:
    there = [node(f"n{i}", cpu=64, labels={"zone": "x"}) for i in range(4)]
    number = 30
    members = [
        asking(pod(f"a-{i}"), beside(f"app-{i + 1}") if i < number - 1 else None, f"app-{i}")
        for i in range(number)
    ]
    snapshot = world(there, [gang("g", members=members)])

    calls = calls_of(lambda: schedule(snapshot, PROFILES["binpack"]))

    # Twice each: when it does not fit yet, and once the one is placed that it wants to be near.
    assert calls[STEP] <= 2 * number
