"""An elastic Job grows and shrinks at the pace that it asks for, as a watcher sees it."""

import json
import time
from collections.abc import Iterator
from typing import Final

import pytest

from e2e.support import gang_manifests, manifests, preemption
from e2e.support.manifests import GANG_LABEL, Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import high
from e2e.support.waiting import eventually, until
from support import elastic_judge
from support.elastic_judge import Rules
from tools import controlplane
from tools.controlplane.wholeness import PodEvent

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

COOLDOWN: Final = 8
# Times are whole seconds for the scheduler, and bindings take theirs to be seen.
RULES: Final = Rules(2, 8, COOLDOWN, COOLDOWN, up_step=2, down_step=2, slack=2)
BURST: Final = 3.0
"""Pods that are bound, or evicted, by one decision are seen within so many seconds."""
PATIENCE: Final = 90.0


@pytest.fixture(scope="module", autouse=True)
def priorities(plane: controlplane.ControlPlane) -> Iterator[None]:
    with preemption.priority_classes(plane):
        yield


def test_a_job_grows_by_whole_steps_and_gives_way_by_whole_steps(namespace: Namespace) -> None:
    with namespace.watch() as watcher:
        namespace.own_nodes(5, cpu=1)
        namespace.create(pod_group(), job(namespace))
        until_bound(namespace, 5)

        # One more is no whole step.
        namespace.own_nodes(1, cpu=1)
        time.sleep(COOLDOWN + 2)
        assert 5 == len(workers(namespace))
        namespace.own_nodes(1, cpu=1)
        until_bound(namespace, 7)
        # One more reaches the most.
        namespace.own_nodes(1, cpu=1)
        until_bound(namespace, 8)

        namespace.create(*high("urgent", 3, on=namespace.here))
        eventually(3, lambda: len(namespace.bound("urgent-")), PATIENCE)
        eventually(4, lambda: len(workers(namespace)), PATIENCE)
        eventually([0, 1, 2, 3], lambda: indexes(namespace), PATIENCE)
        time.sleep(COOLDOWN + 2)
        assert 4 == len(workers(namespace))

        changes = elastic_judge.changes_of(sizes(watcher.history), BURST)
    assert [5, 7, 8, 4] == [each.after for each in changes]
    assert [] == elastic_judge.faults(changes, RULES)
    eventually(4, lambda: namespace.status("train")["elastic"]["now"])
    status = namespace.status("train")["elastic"]
    assert {"min": 2, "now": 4, "max": 8} == {key: status[key] for key in ("min", "now", "max")}
    assert (-4, "Preempted") == (status["lastScale"], status["reason"])
    # Events of one reason that follow each other soon are one.
    ups = until(lambda: namespace.notes("train", "ScaledUp"))
    assert "From 5 to 7 workers of at most 8" == ups[0]
    (down,) = until(lambda: namespace.notes("train", "ScaledDown"))
    assert f"From 8 to 4 workers of at least 2, for {namespace.name}/urgent" == down


def pod_group() -> Manifest:
    """Return the PodGroup of a Job of two to eight workers."""
    cooldown = f"{COOLDOWN}s"
    policy = {
        "scaleUpCooldown": cooldown,
        "scaleDownCooldown": cooldown,
        "scaleUpStep": RULES.up_step,
        "scaleDownStep": RULES.down_step,
    }
    said = {"minWorkers": RULES.least, "maxWorkers": RULES.most, "scalePolicy": policy}
    group = manifests.pod_group("train", RULES.least)
    group["metadata"]["annotations"] = {"py-gang-scheduler.io/elastic": json.dumps(said)}
    return group


def job(namespace: Namespace) -> Manifest:
    """Return the Job: it makes as many pods as it can use, and evictions never end it."""
    of_gang = {GANG_LABEL: "train"}
    pods = {"priorityClassName": preemption.LOW, "on": namespace.here}
    return gang_manifests.evictable_job("train", RULES.most, of_gang, **pods)


def until_bound(namespace: Namespace, number: int) -> None:
    eventually(number, lambda: len(workers(namespace)), PATIENCE)


def workers(namespace: Namespace) -> list[Manifest]:
    """Return the pods of the Job that have a node and stay there."""
    pods = namespace.every("pods")
    mine = (each for each in pods if each["metadata"]["labels"].get(GANG_LABEL) == "train")
    there = (each for each in mine if "nodeName" in each["spec"])
    return [each for each in there if "deletionTimestamp" not in each["metadata"]]


def indexes(namespace: Namespace) -> list[int]:
    """Return the completion indexes of the workers."""
    key = "batch.kubernetes.io/job-completion-index"
    return sorted(int(each["metadata"]["annotations"][key]) for each in workers(namespace))


def sizes(history: list[PodEvent]) -> Iterator[tuple[float, int]]:
    """Yield how many workers had a node after each event that a watcher has seen."""
    there: set[str] = set()
    for event in history:
        if event.gang != "train":
            continue
        if event.bound and not event.deleting:
            there.add(event.uid)
        else:
            there.discard(event.uid)
        yield event.received_at, len(there)
