"""What must never be seen of pods, in a record of what was."""

from typing import Any

from tools.chaos import witness
from tools.controlplane.wholeness import PodEvent


def event(name: str, uid: str, node: str | None, **changed: Any) -> PodEvent:
    fields: dict[str, Any] = {
        "gang": name.rpartition("-")[0],
        "phase": "Running",
        "deleting": False,
        "gone": False,
        "resource_version": "1",
        "received_at": 0.0,
        **changed,
    }
    return PodEvent(name=name, uid=uid, node=node, **fields)


def words(*events: PodEvent, cpu: int = 4) -> list[str]:
    timed = [(float(number), each) for number, each in enumerate(events)]
    return [each.words for each in witness.violations(timed, cpu)]


def test_a_pod_on_two_nodes_is_a_violation() -> None:
    there = event("g1-c1-0", "a", "node-1")

    assert [] == words(there, there)
    assert ["g1-c1-0 is on node-2, and was on node-1"] == words(
        there, event("g1-c1-0", "a", "node-2")
    )


def test_a_node_with_too_much_is_a_violation_once() -> None:
    full = [event("g1-c2-0", "a", "node-1"), event("g1-c2-1", "b", "node-1")]
    more = event("g2-c1-0", "c", "node-1")

    assert [] == words(*full)
    assert ["node-1 has 5 of 4 CPUs with g2-c1-0"] == words(*full, more, more)


def test_pods_that_have_ended_or_are_gone_take_no_room() -> None:
    first = event("g1-c4-0", "a", "node-1")
    second = event("g2-c4-0", "b", "node-1")

    ended = event("g1-c4-0", "a", "node-1", phase="Succeeded")
    assert [] == words(first, ended, second)
    assert [] == words(first, event("g1-c4-0", "a", "node-1", gone=True), second)
    assert 1 == len(words(first, event("g1-c4-0", "a", "node-1", deleting=True), second))


def test_the_pods_of_a_job_are_read_as_well() -> None:
    assert 16 == witness.cpu_of("g12-c16-0-xk2vf")
    assert 2 == witness.cpu_of("g12a-c2-7")
