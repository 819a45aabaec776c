"""What a replay says of 40 gangs happens on a real API server: same gangs, order, times and nodes.

There they come, run and end at 20 times the speed, on nodes of KWOK. `played_jobs` plays their
users and controllers without knowing what the replay says.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import operator_health
from e2e.support.namespaces import Namespace
from e2e.support.played_jobs import Did, PlayedJobs
from e2e.support.queues import Objects
from gang_scheduler.replay import gangs, operator_cycles
from gang_scheduler.replay.run import Rules
from support.replayed_gangs import bodies, replayed, rows
from support.replays import Played
from tools import controlplane
from tools.controlplane import Watcher, nodes

# Alone: beside other tests an end can come so late that the next gang finds other nodes.
pytestmark = [pytest.mark.e2e, pytest.mark.alone]

GANGS = 40
GAP = 77
RESTART_DELAY = 31
SEED = 36
"""One with evictions for priority and for quota, and with which no two things happen at once."""
FLAGS = ("--reservations=0", "--batch-milliseconds=300")
"""The pods of a gang end one after the other here: no cycle may see a part of that."""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with the nodes and priorities of the replay, and nothing else on it."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        nodes.create(started.access, of_kind("Node"))
        for each in of_kind("PriorityClass"):
            started.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", each)
        yield started


@pytest.mark.timeout(1500)
def test_forty_gangs_at_twenty_times_the_speed_go_as_a_replay_says(
    plane: controlplane.ControlPlane, namespace: Namespace, objects: Objects, tmp_path: Path
) -> None:
    rules = Rules(restart_delay=RESTART_DELAY)
    found, scenario = replayed(rows(GANGS, GAP, SEED, namespace.name), tmp_path, rules)
    expected = said(found, operator_cycles.objects_of(scenario))
    assert GANGS == len({each.job for each in expected if each.what == "placed"})
    assert len([each for each in expected if each.what == "evicted"]) >= 5

    with controlplane.Scheduler(plane, *FLAGS) as operator, Watcher(plane, namespace.name) as seen:
        for each in of_kind("Queue"):
            objects.create_and_wait(each)
        jobs = [life.job for life in found.replay.measures.lives.values()]
        made = operator_cycles.objects_of(scenario)
        live = PlayedJobs(namespace, seen, made, jobs, RESTART_DELAY).run()
        assert [] == operator_health.take_tracebacks(operator)
    assert expected == sorted(live)


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [dict(each) for each in bodies() if each["kind"] == kind]


def said(found: Played, objects: gangs.Objects) -> list[Did]:
    """Return what a replay says that the scheduler does."""
    made = []
    lives = found.replay.measures.lives
    for at, what, key, where in found.replay.log or ():
        job = lives[key].job
        pods = sorted((f"{objects.name_of(job)}-{number}", node) for number, node in where.items())
        made.append(Did(at, what, job.name, tuple(pods)))
    return sorted(made)
