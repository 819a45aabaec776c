"""Two replicas: one takes over from the other, and nothing is written by both at a time."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import operator_health
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.replicas import Pair, Replica, Write, options
from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import audit

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

GANGS, SIZE = 12, 4
PODS = GANGS * SIZE
ROUNDS = int(os.environ.get("STOPPED_ROUNDS", "2"))
LONG = ("--lease-duration-seconds=600", "--renew-deadline-seconds=300")
"""In the time of a test no such Lease runs out: what takes over was given it."""
SLOWLY = "--bind-concurrency=1"
"""So that there is a middle."""
ENDS_ITSELF = 1
IN_TURN = re.compile(r"(\S+) became leader \d+\.\d s after (?!\1 )\S+ released the Lease")


@pytest.fixture(scope="module")
def plane(
    crds: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane that keeps what each replica writes."""
    with controlplane.start(options(tmp_path_factory.mktemp("audit"))) as started:
        started.kubectl("apply", f"--filename={crds}")
        started.nodes(10, allocatable={"cpu": "32", "memory": "64Gi", "pods": "110"})
        yield started


def test_a_leader_that_is_asked_to_end_hands_over_in_the_middle_of_its_work(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    with Pair(plane, "update", *LONG, SLOWLY) as pair, namespace.watch() as watcher:
        first, other = pair.turns()
        offset = audit.end(plane.audit_log)
        create_gangs(namespace, "early")
        watcher.wait_until(lambda seen: bound(seen) >= SIZE)
        first.stop()
        create_gangs(namespace, "late")
        other.wait_until_it_leads()

        watcher.wait_until(lambda seen: bound(seen) == 2 * PODS)
        assert 1 == other.metric("pgs_handover_seconds_count")
        wrote_in_turn(first, other, offset)
        # A gang of which the first had bound a member was bound whole by it.
        assert not gangs_bound_by(first) & gangs_bound_by(other)
        until(lambda: ends(pair, "stopped leading, and released the Lease"))
        until(lambda: [note for note in pair.notes() if IN_TURN.fullmatch(note)])
        assert [] == operator_health.tracebacks(first) + operator_health.tracebacks(other)


def test_a_leader_that_is_killed_is_followed_when_its_lease_has_run_out(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    with Pair(plane, "kill", SLOWLY) as pair, namespace.watch() as watcher:
        first, other = pair.turns()
        offset = audit.end(plane.audit_log)
        create_gangs(namespace, "early")
        watcher.wait_until(lambda seen: bound(seen) >= SIZE)
        first.kill()
        create_gangs(namespace, "late")

        watcher.wait_until(lambda seen: bound(seen) == 2 * PODS)
        assert other.leads
        wrote_in_turn(first, other, offset)
        until(lambda: ends(pair, "was last seen to renew the Lease"))
        assert [] == operator_health.tracebacks(other)


@pytest.mark.timeout(300 + 90 * ROUNDS)
def test_a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_when_it_goes_on(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    with Pair(plane, "stopped", SLOWLY) as pair:
        for number in range(ROUNDS):
            stop_beyond_the_lease(plane, namespace, *pair.turns(), f"r{number}")


def stop_beyond_the_lease(
    plane: controlplane.ControlPlane,
    namespace: Namespace,
    first: Replica,
    other: Replica,
    prefix: str,
) -> None:
    """Stop the leader in the middle of its work, and have it go on when another leads."""
    offset = audit.end(plane.audit_log)
    with namespace.watch() as watcher:
        names = create_gangs(namespace, f"{prefix}early")
        watcher.wait_until(lambda seen: bound(seen) >= SIZE)
        with plane.processes.paused(first.name):
            names += create_gangs(namespace, f"{prefix}late")
            other.wait_until_it_leads()
            # From here on, a write of the first would come beside those of the other.
            until(lambda: gangs_bound_by(other, offset))
        # It finds out by itself.
        until(lambda: plane.processes.exit_code(first.name) is not None)
        assert ENDS_ITSELF == plane.processes.exit_code(first.name)

        watcher.wait_until(lambda seen: bound(seen) == 2 * PODS)
        wrote_in_turn(first, other, offset)
    namespace.delete_gangs(*names)
    first.kill()
    first.start()


def wrote_in_turn(first: Replica, other: Replica, offset: int) -> None:
    """Assert that all writes of the first came before the other had the Lease, and none after.

    Those that were refused count as well. Events do not: those on the Lease tell of its end.
    """
    before, after = decisive(first, offset), decisive(other, offset)
    taken_at = min(
        write.received_at
        for write in other.writes(offset)
        if write.is_of_lease and write.code in {200, 201}
    )
    assert [] == [write for write in before if write.received_at >= taken_at]
    assert [] == [write for write in after if write.received_at < taken_at]
    assert before
    assert after


def decisive(replica: Replica, offset: int) -> list[Write]:
    """Return the writes by which the cluster becomes another."""
    found = replica.writes(offset)
    return [write for write in found if not write.is_of_lease and write.resource != "events"]


def gangs_bound_by(replica: Replica, offset: int = 0) -> set[str]:
    """Return the gangs of which a replica has bound a member."""
    found = replica.writes(offset)
    return {each.name.partition("-")[0] for each in found if each.resource == "pods/binding"}


def ends(pair: Pair, words: str) -> bool:
    """Return whether an Event on the Lease ends with these words."""
    return any(note.endswith(words) for note in pair.notes())


def create_gangs(namespace: Namespace, prefix: str) -> list[str]:
    names = [f"{prefix}{number}" for number in range(GANGS)]
    namespace.create(*(doc for name in names for doc in gang(name, SIZE)))
    return names


def bound(seen: controlplane.Watcher) -> int:
    return sum(1 for each in seen.states.values() if each.node)
