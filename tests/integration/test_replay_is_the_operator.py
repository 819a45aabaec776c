"""A replay is the operator: both start and evict the same gangs, on the same nodes.

The operator is a process of its own, and the API server that of the demo. Jobs come and end there
in the order of the replay, each once the operator has done what the replay says of the last one.
"""

import itertools
import time
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gang_scheduler.api.annotations import POD_GROUP_LABEL
from gang_scheduler.api.kinds import GVR, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Embedded
from gang_scheduler.replay import operator_cycles
from gang_scheduler.replay.gangs import Objects
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.run import Rules
from support.replayed_gangs import bodies, replayed, rows, stripped
from support.replays import Played

PATIENCE_SECONDS = 60.0
GANGS = 15
GAP = 750
RESTART_DELAY = 7
SEED = 24
"""One with evictions, and with which no two things happen at about the same time.

Here hours pass in seconds: a gang that a replay evicts again hours later still rests from the last
eviction. No such gang may be among these.
"""
KINDS = {"Node": NODES, "Queue": QUEUES, "PriorityClass": PRIORITY_CLASSES}
Running = dict[str, str]
"""The node of each pod that has one, by name."""


class Step(NamedTuple):
    """What happens to a job at a moment: its pods come, come `again`, or it has `ended`."""

    moment: int
    job: Job
    what: str


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


@pytest.mark.timeout(900)
def test_the_operator_does_what_a_replay_says(tmp_path: Path) -> None:
    rules = Rules(restart_delay=RESTART_DELAY)
    found, scenario = replayed(rows(GANGS, GAP, SEED), tmp_path, rules)
    expected = steps(found)
    evicted = [key for _, kind, key, _ in found.replay.log or () if kind == "evicted"]
    moments = [step.moment for step in expected]

    assert evicted
    assert all(later - sooner > 2 for sooner, later in itertools.pairwise(moments))
    with cluster.embedded() as server:
        for definition in world.definitions():
            cluster.create(server, definition.gvr, definition.body)
        for body in bodies():
            cluster.create(server, KINDS[body["kind"]], body)
        with cluster.operator(server.kubeconfig, "--reservations=0"):
            live = Live(server, operator_cycles.objects_of(scenario))
            for step, until in zip(expected, [*moments[1:], found.replay.now + 1], strict=True):
                live.carry_out(step)
                there = running_at(found, live, until)
                assert there == live.running(there), step
    assert [] == server.problems()


def steps(found: Played) -> list[Step]:
    """Return what happens to the jobs, in its order."""
    lives = found.replay.measures.lives
    happens = [Step(life.job.submit, life.job, "comes") for life in lives.values()]
    happens += [Step(life.ended, life.job, "ends") for life in lives.values() if life.ended]
    for moment, kind, key, _ in found.replay.log or ():
        if kind == "evicted":
            happens.append(Step(moment + 1 + RESTART_DELAY, lives[key].job, "comes"))
    return sorted(happens, key=attrgetter("moment"))


def running_at(found: Played, live: "Live", until: int) -> Running:
    """Return which pods have nodes in the replay right before a moment."""
    there: dict[str, Running] = {}
    lives = found.replay.measures.lives
    for moment, kind, key, where in found.replay.log or ():
        if moment < until:
            if kind == "evicted":
                there.pop(key)
            else:
                names = {live.pod_name(lives[key].job, number): at for number, at in where.items()}
                there.setdefault(key, {}).update(names)
    over = {key for key, life in lives.items() if life.ended is not None and life.ended < until}
    return {pod: at for key, some in there.items() if key not in over for pod, at in some.items()}


class Live:
    """The jobs of a replay on an API server."""

    def __init__(self, server: Embedded, objects: Objects) -> None:
        self._server, self._objects = server, objects

    def pod_name(self, job: Job, number: int) -> str:
        """Return the name of a pod."""
        return f"{self._objects.name_of(job)}-{number}"

    def carry_out(self, step: Step) -> None:
        """Create the pods of a job, or delete all of it. No two objects are of the same second."""
        begun = int(time.time())
        while int(time.time()) == begun:
            time.sleep(0.05)
        job = step.job
        group = self._objects.group(job)
        assert group is not None
        if step.what == "comes":
            if job.name not in {each["metadata"]["name"] for each in self._items(POD_GROUPS)}:
                cluster.create(self._server, POD_GROUPS, stripped(group))
            for number in range(job.pods):
                cluster.create(self._server, PODS, stripped(self._objects.pod(job, number, 0)))
            return
        # In one request, so that no cycle sees a gang of which some pods have ended.
        path = f"{PODS.path(job.namespace)}?labelSelector={POD_GROUP_LABEL}%3D{job.name}"
        self._server.request("DELETE", path, {"gracePeriodSeconds": 0})
        self._server.request("DELETE", POD_GROUPS.path(job.namespace, job.name))

    def running(self, awaited: Running) -> Running:
        """Return the nodes of pods, once they are as awaited, or when patience is over."""
        over = time.monotonic() + PATIENCE_SECONDS
        while (there := self._running()) != awaited and time.monotonic() < over:
            time.sleep(0.1)
        return there

    def _running(self) -> Running:
        bound = (each for each in self._items(PODS) if each["spec"].get("nodeName"))
        return {each["metadata"]["name"]: each["spec"]["nodeName"] for each in bound}

    def _items(self, gvr: GVR) -> list[dict[str, Any]]:
        return cluster.items(self._server, gvr, "default")
