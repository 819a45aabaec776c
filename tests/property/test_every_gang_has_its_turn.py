"""Law: every gang is tried within some cycles, however many gangs others make, and change.

How many depends on the gangs of its own namespace. Cycles have few looks, so that gangs are left by
most of them; the attacker's are of a higher priority, or older, and never fit.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.set_aside import PATIENCE_SECONDS
from property.random_cases import SEEDS, dice_of
from support import cache_feeding
from support.api_objects import container, node_body, pod_body
from support.applying import WritesNothing, take_in
from support.thoroughness import cases

Body = dict[str, Any]
NOW: Final = 1_704_067_300
NAMESPACES: Final = ("one", "two", "three")
EVIL: Final = "evil"
CYCLES: Final = 40


@contextmanager
def few_looks() -> Iterator[None]:
    """Let a cycle have the looks for some ten gangs, and for some two searches."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(effort, "MOST_OF_CYCLE", 60))
        stack.enter_context(patch.object(effort, "MOST_LOOKS", 40))
        yield


class Cluster:
    """A cluster in which one cycle a second is made, and which gangs were tried so far."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.cache = Cache(["py-gang-scheduler"], Changes())
        self._handlers = cache_feeding.event_handlers(self.cache)
        self.now = NOW
        self.tried: set[str] = set()
        self.made = 0
        for i in range(3):
            self.tell(node_body(f"n{i}"))
            self.tell(pod("lower", f"low{i}", -1, cpu=7, nodeName=f"n{i}"))

    def tell(self, body: Body, change: str = "ADDED") -> None:
        """Let an object come, change, or go."""
        cache_feeding.tell(self._handlers, change, body)

    def cycle(self) -> None:
        """Make a cycle."""
        self.now += 1
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        assert () == plan.failures
        self.tried.update(each.gang.key.name for each in plan.placed)
        self.tried.update(each.gang.key.name for each in plan.refused)
        take_in(self.cache, plan, self.now, WritesNothing())

    def evil(self) -> Body:
        """Return a pod that is like no other, and for which no room can be found or made."""
        self.made += 1
        return pod(EVIL, f"e{self.made}", self.dice.choice((0, 9)), cpu=9 + self.made)


def pod(namespace: str, name: str, priority: int, *, cpu: float, **spec: Any) -> Body:
    made = f"2024-01-01T00:00:{0 if namespace == EVIL else 30:02}Z"
    metadata = {"namespace": namespace, "uid": f"{namespace}-{name}", "creationTimestamp": made}
    asked = [container(requests={"cpu": str(cpu)})]
    return pod_body(name, metadata=metadata, containers=asked, priority=priority, **spec)


Attack = Callable[[Cluster, list[Body]], list[Body]]


def none(_: Cluster, there: list[Body]) -> list[Body]:
    """Leave all as it is."""
    return there


def changed(cluster: Cluster, there: list[Body]) -> list[Body]:
    """Change each pod."""
    for each in there:
        each["metadata"]["labels"] = {"x": str(cluster.now)}
        cluster.tell(each, "MODIFIED")
    return there


def other_names(cluster: Cluster, there: list[Body]) -> list[Body]:
    """Delete the pods, and make others."""
    for each in there:
        cluster.tell(each, "DELETED")
    found = [cluster.evil() for _ in there]
    for each in found:
        cluster.tell(each)
    return found


def more(cluster: Cluster, there: list[Body]) -> list[Body]:
    """Make more pods, and more."""
    found = [cluster.evil() for _ in range(5)]
    for each in found:
        cluster.tell(each)
    return there + found


@pytest.mark.parametrize("attack", [none, changed, other_names, more])
@settings(max_examples=cases(2, thorough=30))
@given(seed=SEEDS)
def test_every_gang_is_tried_whatever_others_make(attack: Attack, seed: int) -> None:
    dice = dice_of(seed)
    cluster = Cluster(dice)
    there = [cluster.evil() for _ in range(60)]
    for each in there:
        cluster.tell(each)
    waited: dict[str, int] = {}
    most = PATIENCE_SECONDS + 4
    with few_looks():
        for number in range(CYCLES):
            there = attack(cluster, there)
            if number < 9 and number % 3 == 0:
                for namespace in NAMESPACES[: dice.randint(1, 3)]:
                    name = f"{namespace}-{number}"
                    cluster.tell(pod(namespace, name, 0, cpu=dice.choice((0.25, 1, 50))))
                    waited[name] = number
            cluster.cycle()
            for name in cluster.tried & waited.keys():
                del waited[name]
            # At most three gangs of a namespace wait, and it has every other cycle.
            late = {name: since for name, since in waited.items() if number > since + most + 2 * 3}
            assert not late, (number, late)
    assert not waited
