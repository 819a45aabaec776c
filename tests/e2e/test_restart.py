"""Whatever is killed in the middle of 50 gangs, all end whole: operator, API server or etcd."""

import os
import signal
from collections.abc import Iterator

import pytest

from e2e.support import operator_health
from e2e.support.manifests import Manifest, gang, members, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Lasting
from e2e.support.waiting import eventually
from tools import controlplane

pytestmark = pytest.mark.e2e

GANGS = 50
SIZE = 4
PODS = GANGS * SIZE
# The promise is that all end whole, not when. A gang bound by half waits for the next operator, or
# for a request that was never answered, which is given up after 30 s.
DOWN_SECONDS = 60.0
TIMEOUT_SECONDS = 90.0


@pytest.fixture(scope="module")
def plane(crds: object) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: others shall not be disturbed."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture(scope="module")
def the_lasting(plane: controlplane.ControlPlane) -> Iterator[Lasting]:
    """Give the operator of all tests, without a proxy before the API server."""
    made = Lasting(plane, plane.kubeconfig)
    yield made
    made.end()


@pytest.fixture
def scheduler(the_lasting: Lasting) -> Iterator[controlplane.Scheduler]:
    # One at a time, so that there is a middle to kill it in.
    yield the_lasting.start("--bind-concurrency=1")
    the_lasting.check()


@pytest.mark.parametrize("percent", [5, 70])
def test_the_operator_is_killed(
    scheduler: controlplane.Scheduler, namespace: Namespace, percent: int
) -> None:
    with namespace.watch() as watcher:
        start_50_gangs(namespace)
        wait_for_the_middle(watcher, percent)
        scheduler.kill()
        assert_it_was_the_middle(namespace)
        scheduler.start()

        assert_all_end_whole(namespace, watcher)


def test_the_operator_is_killed_again_and_again(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    with namespace.watch() as watcher:
        start_50_gangs(namespace)
        for percent in (20, 40, 60):
            wait_for_the_middle(watcher, percent)
            scheduler.kill()
            assert_it_was_the_middle(namespace)
            scheduler.start()

        assert_all_end_whole(namespace, watcher)


def test_the_operator_is_killed_and_there_is_room_for_half_of_the_gangs(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    with namespace.watch() as watcher:
        start_50_gangs(namespace, room_for=25)
        wait_for_the_middle(watcher, 20)
        scheduler.kill()
        assert_it_was_the_middle(namespace)
        scheduler.start()

        watcher.wait_until(lambda seen: len(bound(seen)) == 25 * SIZE, TIMEOUT_SECONDS)
        assert [] == watcher.partial_gangs(everyone(), DOWN_SECONDS)
    sizes = sorted(len(watcher.bound(name)) for name in everyone())
    assert [0] * 25 + [SIZE] * 25 == sizes


def test_the_rest_of_a_half_bound_gang_comes_before_an_older_gang(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    scheduler.kill()
    (node,) = namespace.own_nodes(1, cpu=SIZE)
    namespace.create(pod_group("older", SIZE - 1))
    namespace.wait_for_the_next_second()
    namespace.create(*gang("younger", SIZE, on=namespace.here))
    # What a scheduler that was killed leaves behind.
    namespace.bind("younger-0", node)
    # As many as the rest of the other: there is room for either.
    namespace.create(*members("older", SIZE - 1, on=namespace.here))

    with namespace.watch() as watcher:
        scheduler.start()

        watcher.wait_until(lambda seen: len(seen.bound("younger")) == SIZE, timeout_seconds=10)
        assert set() == watcher.ever_bound("older")


def test_the_operator_is_asked_to_end_and_first_finishes_what_it_began(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    with namespace.watch() as watcher:
        start_50_gangs(namespace)
        wait_for_the_middle(watcher, 30)
        scheduler.stop()
        assert {0, SIZE} >= {len(namespace.bound(f"{name}-")) for name in everyone()}
        scheduler.start()

        assert_all_end_whole(namespace, watcher)


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd"])
def test_a_server_is_killed(
    plane: controlplane.ControlPlane,
    scheduler: controlplane.Scheduler,
    namespace: Namespace,
    component: str,
) -> None:
    with operator_health.is_unharmed(scheduler), namespace.watch() as watcher:
        start_50_gangs(namespace)
        wait_for_the_middle(watcher, 30)
        plane.stop_component(component)
        assert 0 < len(bound(watcher)) < PODS
        plane.start_component(component)

        assert_all_end_whole(namespace, watcher)

        # It still sees what is new.
        namespace.delete_gangs(*everyone())
        namespace.create(*gang("new", SIZE, on=namespace.here))
        eventually(SIZE, lambda: len(namespace.bound("new")), TIMEOUT_SECONDS)
        eventually(SIZE, lambda: namespace.status("new").get("scheduled"))


def test_pods_deleted_while_its_connection_was_down_free_their_room(
    plane: controlplane.ControlPlane, scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    namespace.own_nodes(1, cpu=SIZE)
    namespace.create(*gang("first", SIZE, on=namespace.here))
    eventually("Running", lambda: namespace.phase("first"))
    namespace.create(*gang("second", SIZE, on=namespace.here))
    eventually("Scheduling", lambda: namespace.phase("second"))

    with operator_health.is_unharmed(scheduler):
        process = plane.processes.pid(scheduler.name)
        os.kill(process, signal.SIGSTOP)
        try:
            namespace.delete_gangs("first")
            # The history that the operator's watch would go on from is gone with the server.
            plane.restart("kube-apiserver")
        finally:
            os.kill(process, signal.SIGCONT)

        eventually(SIZE, lambda: len(namespace.bound("second")), TIMEOUT_SECONDS)


def test_what_was_deleted_while_it_was_down_is_not_there_for_it(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    namespace.own_nodes(1, cpu=SIZE)
    namespace.create(*gang("first", SIZE, on=namespace.here))
    eventually("Running", lambda: namespace.phase("first"))
    scheduler.kill()
    namespace.delete_gangs("first")
    namespace.create(*gang("second", SIZE, on=namespace.here))

    scheduler.start()

    eventually("Running", lambda: namespace.phase("second"))


def start_50_gangs(namespace: Namespace, room_for: int = GANGS) -> None:
    namespace.own_nodes(25, cpu=room_for * SIZE // 25)
    namespace.create(*(doc for name in everyone() for doc in gang(name, SIZE, on=namespace.here)))


def everyone() -> dict[str, int]:
    return {f"g{number}": SIZE for number in range(GANGS)}


def bound(seen: controlplane.Watcher) -> list[str]:
    return [pod.name for pod in seen.states.values() if pod.node]


def wait_for_the_middle(watcher: controlplane.Watcher, percent: int) -> None:
    watcher.wait_until(lambda seen: 100 * len(bound(seen)) >= percent * PODS)


def assert_it_was_the_middle(namespace: Namespace) -> None:
    assert 0 < len(namespace.bound()) < PODS


def assert_all_end_whole(namespace: Namespace, watcher: controlplane.Watcher) -> None:
    watcher.wait_until(lambda seen: len(bound(seen)) == PODS, TIMEOUT_SECONDS)
    assert [] == watcher.partial_gangs(everyone(), DOWN_SECONDS)
    # Not the phase: KWOK forgets pods that it could not write to while the server was down.
    eventually({SIZE}, lambda: {status_scheduled(g) for g in namespace.every("podgroups")})


def status_scheduled(pod_group: Manifest) -> int | None:
    scheduled: int | None = pod_group.get("status", {}).get("scheduled")
    return scheduled
