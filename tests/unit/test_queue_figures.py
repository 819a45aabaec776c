"""Which gangs wait in which queue, and in which order."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler import queue_figures
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.queues import Aging
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import NO_SETTINGS, QueueRules, Rules
from gang_scheduler.simulation import documents, objects
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, queue_builders
from support.queue_builders import CPU, our_queue, queue_ref

NOW = 10_000
HOUR = 3600


class Line:
    """Gangs that wait in the queue `q`."""

    def __init__(self, aging: Aging | None = None) -> None:
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.queue = replace(our_queue("q", 4), aging=aging or Aging())

    def add(
        self,
        name: str,
        reason: Reason = Reason.WAITING_FOR_QUOTA,
        *,
        queue: str = "q",
        priority: int = 0,
        age: int = 0,
        left_over: bool = False,
    ) -> None:
        """Add a gang that waits; `left_over`: its quorum runs, and only more members wait."""
        pod = builders.pod(f"{name}-0", gang=name, priority=priority, created_at=NOW - age)
        self.cache.upsert_pod(pod)
        if left_over:
            self.cache.upsert_pod(builders.pod(f"{name}-1", gang=name, node="n"))
        info = self.cache.gang_queue.infos[builders.gang_key(name)]
        gang = replace(info.as_gang(self.cache.schedulers), queue=queue_ref(queue))
        info.verdict.note(Refused(gang, reason, gang.pending, left_over=left_over))

    def order(self, rules: Rules = NO_SETTINGS) -> Mapping[str, list[str]]:
        """Return the names of the gangs by queue."""
        forest = queue_builders.forest_of([self.queue])
        found = queue_figures.pending_of(self.cache, forest, rules, NOW)
        return {ref.name: [key.name for key in keys] for ref, keys in found.items()}


def test_a_higher_priority_is_first_and_then_the_older_gang() -> None:
    line = Line()
    line.add("young", age=1)
    line.add("old", age=100)
    line.add("high", priority=5)

    assert {"q": ["high", "old", "young"]} == line.order()


@pytest.mark.parametrize(
    ("own", "rules"),
    [
        (Aging(per_hour=10, most=100), NO_SETTINGS),
        (Aging(), Rules(queues=QueueRules(aging_per_hour=10, aging_max=100))),
    ],
)
def test_waiting_raises_the_priority(own: Aging, rules: Rules) -> None:
    line = Line(aging=own)
    line.add("high", priority=15)
    line.add("old", age=2 * HOUR)

    assert {"q": ["old", "high"]} == line.order(rules)


def test_waiting_raises_the_priority_to_a_limit() -> None:
    line = Line(aging=Aging(per_hour=10, most=10))
    line.add("high", priority=15)
    line.add("old", age=2 * HOUR)

    assert {"q": ["high", "old"]} == line.order()


def test_gangs_that_have_no_turn_are_last() -> None:
    line = Line()
    line.add("incomplete", Reason.WAITING_FOR_MEMBERS, priority=9)
    line.add("complete")

    assert {"q": ["complete", "incomplete"]} == line.order()


@pytest.mark.parametrize("reason", [Reason.WAITING_FOR_VICTIMS, Reason.WAITING_FOR_VOLUMES])
def test_gangs_that_have_quota_wait_as_all_others_do(reason: Reason) -> None:
    line = Line()
    line.add("nominated", reason)
    line.add("surplus", left_over=True)

    assert {"q": ["nominated"]} == line.order()


def test_each_queue_has_its_own_line() -> None:
    line = Line()
    line.add("a")
    line.add("b", queue="none")
    line.add("c", queue="gone")

    assert {"q": ["a"], "none": ["b"]} == line.order()


def test_without_queues_there_are_no_figures() -> None:
    assert () == queue_figures.figures_of(Line().cache, NO_SETTINGS, NOW)


QUEUES = """
{kind: Node, apiVersion: v1, metadata: {name: n}, status: {allocatable: {cpu: 100, pods: 10}}}
---
{kind: Queue, apiVersion: py-gang-scheduler.io/v1alpha1, metadata: {name: q},
 spec: {quota: {soft: {cpu: 4}}}}
"""
RUNNING = """
---
{{kind: Pod, apiVersion: v1, metadata: {{name: {name}, uid: {name},
 labels: {{py-gang-scheduler.io/queue: q}}}},
 spec: {{schedulerName: py-gang-scheduler, nodeName: "{node}",
 containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}
"""


def cluster(*pods: str) -> Cache:
    """Return a cluster with a queue of 4 CPUs, and with pods as manifests."""
    loaded = objects.load(documents.parse("f", QUEUES + "".join(pods)), builders.SCHEDULER).loaded
    cache = Cache([builders.SCHEDULER], Changes())
    for each in loaded:
        cache.upsert(kinds.of(each.gvr).store(cache), each.decoded)
    return cache


def of_q(cache: Cache, now: int = NOW, victims: Mapping[str, GangKey] | None = None) -> Any:
    found = queue_figures.figures_of(cache, NO_SETTINGS, now, victims)
    return next(each for each in found if each.queue.ref.name == "q")


def test_what_runs_is_charged() -> None:
    found = of_q(cluster(RUNNING.format(name="p", node="n", cpu=3)))

    assert (4000, 3000, 1) == (*found.amounts[CPU][:2], found.running)


def test_victims_are_charged_no_more() -> None:
    cache = cluster(
        RUNNING.format(name="p", node="n", cpu=1), RUNNING.format(name="v", node="n", cpu=2)
    )
    gang = next(key for key in cache.gang_queue.infos if key.name == "v")
    found = of_q(cache, victims={"v": gang})

    assert (1000, 1) == (found.amounts[CPU].used, found.running)


@pytest.mark.parametrize(
    ("waited", "cpu", "starves"), [(300, 4, True), (299, 4, False), (300, 5, False)]
)
def test_a_queue_starves_whose_gang_waits_long_for_the_own_quota(
    waited: int, cpu: int, *, starves: bool
) -> None:
    cache = cluster(RUNNING.format(name="p", node="", cpu=cpu))
    (group,) = cache.snapshot(NOW).groups
    (gang,) = group.gangs
    cache.decisions.refused(Refused(gang, Reason.UNSCHEDULABLE, gang.pending), NOW)

    assert starves == of_q(cache, math.ceil(gang.created_at) + waited).starving
