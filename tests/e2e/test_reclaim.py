"""What a team lent comes back when it asks for it, and the Jobs that gave it back run again."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.support import gang_manifests, operator_health, preemption
from e2e.support.gang_watcher import GangWatcher
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import QUEUE, Objects, gang, queue, reason
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited", "operator")]

JOB_SECONDS = 60.0
BORROWS = {"enabled": True}


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: a queue may borrow what all nodes have."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture
def operator(
    plane: controlplane.ControlPlane, request: pytest.FixtureRequest
) -> Iterator[controlplane.Scheduler]:
    """Give an operator of the test's own, which may kill it, and may give flags."""
    with controlplane.Scheduler(plane, *getattr(request, "param", ())) as started:
        yield started
        assert [] == operator_health.take_tracebacks(started)


def test_a_job_gives_back_what_it_borrowed_and_runs_again_when_there_is_quota(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(2, cpu=4)
    objects.create(queue("root", 8), queue("owner", 4), queue("guest", 4, borrowing=BORROWS))
    kept = starts(namespace, "kept", "guest")
    namespace.wait_for_the_next_second()
    lent = starts(namespace, "lent", "guest")

    with GangWatcher(namespace.cluster, namespace.name) as watcher:
        starts(namespace, "own", "owner")
        again = until(partial(fresh, namespace, "lent", lent), JOB_SECONDS)
        assert lent == {event.uid for event in watcher.history if event.deleting}
        assert kept == uids(pods_of(namespace, "kept"))
        (note,) = until(partial(namespace.notes, "lent", "Reclaimed"))
        assert f"{namespace.name}/own" in note
        eventually({"WaitingForQuota"}, lambda: reasons(namespace, fresh(namespace, "lent", lent)))
        assert not any("nodeName" in each["spec"] for each in again)

        namespace.delete("jobs", "own")

        eventually(4, lambda: len(bound(fresh(namespace, "lent", lent))), JOB_SECONDS)
        assert [] == watcher.partial_gangs({"kept": 4, "lent": 4, "own": 4})
    assert 0 == namespace.get("jobs", "lent")["status"].get("failed", 0)


def test_a_reclaim_goes_on_as_it_began_when_the_operator_is_killed(
    namespace: Namespace, objects: Objects, operator: controlplane.Scheduler
) -> None:
    node_a, node_b = namespace.own_nodes(2, cpu=4, kubelets=False)
    objects.create(queue("root", 8), queue("owner", 4), queue("guest", 4, borrowing=BORROWS))
    for name, node in (("first", node_a), ("second", node_b)):
        namespace.wait_for_the_next_second()
        members = gang(name, 4, "guest", on=namespace.here, terminationGracePeriodSeconds=600)
        namespace.create(*members)
        eventually([node] * 4, partial(nodes_of, namespace, name))
        for pod in namespace.bound(f"{name}-"):
            namespace.set_phase(pod, "Running")

    namespace.create(*gang("own", 4, "owner", on=namespace.here))
    victims = until(lambda: all_of_a_gang(preemption.evicted(namespace)))
    places = preemption.nominated(namespace, "own-")

    operator.kill()
    operator.start()

    eventually(places, lambda: preemption.nominated(namespace, "own-"))
    assert victims == preemption.evicted(namespace)
    preemption.let_go(namespace, victims)
    eventually(places, lambda: namespace.bound("own-"))
    assert 4 == len(namespace.bound("first-")) + len(namespace.bound("second-"))


@pytest.mark.parametrize("operator", [["--queue-deletion-grace-seconds=600"]], indirect=True)
def test_a_queue_that_is_created_anew_loses_no_gang(namespace: Namespace, objects: Objects) -> None:
    kept, guest = all_room_is_taken(namespace, objects)

    objects.delete(guest)
    namespace.create(*gang("seen", 1, "owner", on=namespace.here))
    until(lambda: reason(namespace, "seen"))
    objects.create_and_wait(guest)
    namespace.create(*gang("seen-too", 1, "owner", on=namespace.here))
    until(lambda: reason(namespace, "seen-too"))

    assert kept == uids(pods_of(namespace, "kept"))
    assert set() == preemption.evicted(namespace)


def test_gangs_of_a_queue_that_is_gone_make_room(namespace: Namespace, objects: Objects) -> None:
    kept, guest = all_room_is_taken(namespace, objects)

    objects.delete(guest)

    eventually(4, lambda: len(namespace.bound("more-")), JOB_SECONDS)
    eventually(set(), lambda: kept & uids(pods_of(namespace, "kept")), JOB_SECONDS)


def all_room_is_taken(namespace: Namespace, objects: Objects) -> tuple[set[str], Manifest]:
    """Let two queues use what they were promised, and one wait for the rest of its promise.

    Return the pods of the other, and its Queue.
    """
    namespace.own_nodes(2, cpu=4)
    guest = queue("guest", 4)
    objects.create(queue("root", 12), queue("owner", 8), guest)
    kept = starts(namespace, "kept", "guest")
    starts(namespace, "own", "owner")
    namespace.create(*gang("more", 4, "owner", on=namespace.here))
    eventually("Unschedulable", lambda: reason(namespace, "more"))
    return kept, guest


def test_a_big_gang_is_promised_a_start_that_only_gangs_which_end_before_pass(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=10)
    soon = {"enabled": True, "reservationAfter": "1s"}
    objects.create(queue("root", 10), queue("team", 10, backfill=soon))
    here: dict[str, Any] = {"on": namespace.here}
    namespace.create(*gang("runs", 6, "team", activeDeadlineSeconds=1200, **here))
    eventually(6, lambda: len(namespace.bound("runs-")))

    namespace.create(*gang("big", 8, "team", **here))
    until(partial(namespace.notes, "big", "ReservationMade"))
    until(lambda: namespace.status("big").get("queue", {}).get("estimatedStart"))
    namespace.create(*gang("long", 3, "team", activeDeadlineSeconds=7200, **here))
    namespace.create(*gang("short", 1, "team", activeDeadlineSeconds=600, **here))
    eventually(1, lambda: len(namespace.bound("short-")))
    eventually("WaitingForTurn", lambda: reason(namespace, "long"))
    assert f"{namespace.name}/big" in namespace.condition_of_gang("long", "Scheduled")["message"]

    namespace.delete_gangs("runs")

    eventually(8, lambda: len(namespace.bound("big-")))
    assert {} == namespace.bound("long-")


def starts(namespace: Namespace, name: str, queue: str) -> set[str]:
    """Create a Job of four pods that is a gang in a queue; return its pods once all have nodes."""
    namespace.create(job(namespace, name, queue))
    eventually(4, lambda: len(bound(pods_of(namespace, name))), JOB_SECONDS)
    return uids(pods_of(namespace, name))


def job(namespace: Namespace, name: str, queue: str) -> Manifest:
    """Return a Job of four pods in a queue, which evictions never end."""
    labels = {**gang_manifests.JOB_LABEL, QUEUE: queue}
    return gang_manifests.evictable_job(name, 4, labels, on=namespace.here)


def nodes_of(namespace: Namespace, name: str) -> list[str]:
    """Return the nodes that pods of a gang have."""
    return sorted(namespace.bound(f"{name}-").values())


def pods_of(namespace: Namespace, name: str) -> list[Manifest]:
    """Return the pods of a Job."""
    found = namespace.every("pods")
    return [each for each in found if each["metadata"]["name"].startswith(f"{name}-")]


def fresh(namespace: Namespace, name: str, before: set[str]) -> list[Manifest]:
    """Return the four pods that a Job made in place of others; none while there are fewer."""
    found = [each for each in pods_of(namespace, name) if each["metadata"]["uid"] not in before]
    return found if len(found) == 4 else []


def all_of_a_gang(names: set[str]) -> set[str]:
    """Return pods once they are as many as a gang has."""
    return names if len(names) >= 4 else set()


def uids(pods: list[Manifest]) -> set[str]:
    return {each["metadata"]["uid"] for each in pods}


def bound(pods: list[Manifest]) -> list[Manifest]:
    return [each for each in pods if "nodeName" in each["spec"]]


def reasons(namespace: Namespace, pods: list[Manifest]) -> set[str | None]:
    names = (each["metadata"]["name"] for each in pods)
    return {namespace.condition_of_pod(name).get("reason") for name in names}
