"""Law: a gang that may evict others is tried once these run, not only after a pause.

Random gangs and pods come and go, bindings are confirmed later and one by one, and victims leave
later. After each change, cycles are made without any time in between. Once nothing is on its way,
all gangs are tried, whether anything called for it or not: no gang is placed, and none evicts.
"""

import itertools
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given

from gang_scheduler.model.plan import Placed, Plan, Preemption
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.random_cases import SEEDS, dice_of
from support import applying, declared_objects
from support.in_memory_cluster import InMemoryCluster, group_body

EVENTS: Final = 25
MOST_CYCLES: Final = 30
CPUS: Final = 4
QUEUES: Final = ("a", "b", "c")
RECLAIM: Final = ("Any", "Any", "LowerPriority", "Never")
WITHIN: Final = ("LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "Never")


class SlowCluster(InMemoryCluster):
    """A cluster in which bindings and evictions are seen only when the test says so."""

    def __init__(self) -> None:
        super().__init__(cpu=CPUS)
        self.bindings: list[Placed] = []
        self.victims: list[tuple[str, str]] = []
        self._writers = _Slow(self)

    def decide(self) -> Plan:
        """Make a cycle at the same moment."""
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        assert () == plan.failures
        applying.take_in(self.cache, plan, self.now, self._writers)
        return plan

    def confirm(self, placed: Placed) -> None:
        """Let the members of a gang run."""
        for bind in placed.binds:
            pod = (bind.pod.name, bind.pod.namespace)
            if pod[::-1] in self.pods:
                running = {"phase": "Running"}
                self.change(*pod, spec={"nodeName": bind.node}, status=running)
        self.cache.decisions.bound(placed.gang.key)

    def leave(self, pod: tuple[str, str]) -> None:
        """Let a victim be gone."""
        if pod in self.pods:
            self.gone(pod[1], pod[0])


class _Slow(applying.WritesNothing):
    """Notes bindings and victims."""

    def __init__(self, cluster: SlowCluster) -> None:
        self._cluster = cluster
        self._under_way: set[tuple[str, ...]] = set()

    def bind(self, together: Sequence[Placed]) -> None:
        """Note bindings."""
        self._cluster.bindings += together

    def is_preempting(self, preemption: Preemption) -> bool:
        """Return whether the victims of a preemption are on their way."""
        return _marks(preemption) in self._under_way

    def preempt(self, preemption: Preemption) -> None:
        """Note victims."""
        self._under_way.add(_marks(preemption))
        named = [(each.pod.namespace, each.pod.name) for each in preemption.victims]
        self._cluster.victims += named


def _marks(preemption: Preemption) -> tuple[str, ...]:
    gangs = (str(gang.key) for gang in preemption.gangs)
    victims = (each.pod.uid for each in preemption.victims)
    return (*gangs, *victims)


@pytest.mark.parametrize("queues", [False, True])
@given(seed=SEEDS)
def test_a_gang_is_tried_once_it_may_evict_another(*, queues: bool, seed: int) -> None:
    dice, cluster = dice_of(seed), SlowCluster()
    for name in QUEUES if queues else ():
        cluster.put(a_queue(dice, name))
    names = (f"g{number}" for number in itertools.count())
    for _ in range(dice.randint(5, EVENTS)):
        change(dice, cluster, next(names), queues=queues)
        settle(cluster)
        if not (cluster.bindings or cluster.victims):
            assert_no_try_helps(cluster)
    while cluster.bindings or cluster.victims:
        if cluster.bindings:
            cluster.confirm(cluster.bindings.pop())
        else:
            cluster.leave(cluster.victims.pop())
        settle(cluster)
    assert_no_try_helps(cluster)


def assert_no_try_helps(cluster: SlowCluster) -> None:
    """Assert that no gang could start, or evict others, if all were tried now."""
    cluster.cache.gang_queue.try_all()
    plan = cluster.decide()
    assert () == plan.placed
    assert () == plan.preemptions


def a_queue(dice: Random, name: str) -> dict[str, Any]:
    """Return a queue that is promised some CPUs, and may borrow."""
    body = declared_objects.queue_body(name, 0)
    evicts = {"reclaim": dice.choice(RECLAIM), "withinQueue": dice.choice(WITHIN)}
    quota = {"soft": {"cpu": str(dice.randint(0, 3))}}
    strategy = dice.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"))
    body["spec"] = {
        "quota": quota,
        "borrowing": {"enabled": dice.choice((True, True, False))},
        "preemption": evicts,
        "strategy": strategy,
    }
    return body


def change(dice: Random, cluster: SlowCluster, name: str, *, queues: bool) -> None:
    """Let a gang come or end, a binding be seen, or a victim leave."""
    what = dice.choice(("comes", "comes", "confirmed", "confirmed", "leaves", "ends"))
    if what == "confirmed" and cluster.bindings:
        cluster.confirm(cluster.bindings.pop(dice.randrange(len(cluster.bindings))))
    elif what == "leaves" and cluster.victims:
        cluster.leave(cluster.victims.pop(dice.randrange(len(cluster.victims))))
    elif what == "ends" and cluster.pods:
        cluster.leave(dice.choice(sorted(cluster.pods)))
    else:
        size = dice.randint(1, 3)
        body: Any = group_body(name, size)
        labels = {declared_objects.QUEUE_LABEL: dice.choice(QUEUES)} if queues else {}
        if dice.random() < 0.8:
            body["metadata"]["labels"] = labels
        cluster.put(body)
        priority = dice.choice((0, 0, 1, 2))
        for rank in range(size):
            cluster.pod(f"{name}-{rank}", name, spec={"priority": priority})


def settle(cluster: SlowCluster) -> None:
    """Make cycles until one has no gang to try."""
    for _ in range(MOST_CYCLES):
        plan = cluster.decide()
        if not (plan.placed or plan.preemptions or plan.refused):
            return
    raise AssertionError("no end of cycles")
