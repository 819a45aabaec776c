"""Gangs of every kind, with the pods that real controllers make: whole or not at all."""

import random

import pytest

from e2e.support import manifests
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from integrations import gangs
from integrations.gangs import RoleWatcher
from integrations.kinds import Kind
from tools import controllers, controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

ORDERS = 20


@pytest.mark.usefixtures("controller")
def test_room_for_the_quorum_less_one_binds_nothing_and_one_more_binds_all(
    kind: Kind, namespace: Namespace
) -> None:
    gangs.add_room(namespace, kind.room - 1)
    with RoleWatcher(namespace, kind) as watcher:
        gangs.create(namespace, kind)
        gangs.wait(lambda: gangs.all_have_waited(namespace, kind.made_first))
        assert {} == gangs.bound_by_role(namespace, kind)

        # The rest has room, too: what is over the quorum, and what comes later.
        gangs.add_room(namespace, 1)
        gangs.add_room(namespace, 2 * len(kind.pods))

        gangs.wait_for_all(namespace, kind)
        assert [] == watcher.parts()


@pytest.mark.having("at_once")
def test_no_order_of_creation_binds_a_quorum_without_each_role(
    kind: Kind,
    controller: controllers.Controller,
    plane: controlplane.ControlPlane,
    namespace: Namespace,
) -> None:
    gangs.create(namespace, kind)
    gangs.wait(lambda: gangs.all_have_waited(namespace, kind.made_first))
    pods = [gangs.as_made_by_hand(each) for each in gangs.ours(namespace)]
    gangs.wait_until_alone(namespace)
    gangs.add_room(namespace, kind.quorum_cpus)
    with controller.paused(), plane.processes.paused("kube-controller-manager"):
        for seed in range(ORDERS):
            gangs.delete_pods(namespace)
            chance = random.Random(seed)  # noqa: S311 - no secret.
            with RoleWatcher(namespace, kind) as watcher:
                order = gangs.create_in_any_order(namespace, pods, chance)
                gangs.wait_for_quorum(namespace, kind)
            made = gangs.made_before_the_first_binding(watcher.history)
            assert gangs.has_quorum(made, kind), f"{made} of {order}"


@pytest.mark.having("replaces")
@pytest.mark.usefixtures("controller")
def test_a_member_that_is_killed_is_replaced_in_the_domain_of_its_gang(
    kind: Kind, namespace: Namespace
) -> None:
    for rack in ("a", "b", "c"):
        gangs.add_room(namespace, 2 * len(kind.pods), 2, rack=rack)
    gangs.create_in_a_rack(namespace, kind)
    gangs.wait_for_all(namespace, kind)
    role, _ = max(kind.sizes.items(), key=lambda each: each[1])
    (rack,) = gangs.racks(namespace, kind, role)
    before = gangs.uids(namespace)
    victim = next(name for name in before if kind.role_of(name) == role)

    namespace.delete("pods", victim)

    gangs.wait(lambda: before[victim] not in gangs.uids(namespace).values())
    gangs.wait_until_all_stay(namespace, kind)
    (rack_after,) = gangs.racks(namespace, kind, role)
    # Some controllers make all pods of the gang again.
    was_kept = before.items() & gangs.uids(namespace).items()
    assert not was_kept or rack == rack_after


@pytest.mark.having("scale")
@pytest.mark.usefixtures("controller")
def test_a_gang_grows_and_shrinks_with_its_workload(kind: Kind, namespace: Namespace) -> None:
    gangs.add_room(namespace, 4 * len(kind.pods))
    gangs.create(namespace, kind)
    gangs.wait_for_all(namespace, kind)
    before = gangs.uids(namespace)
    more = kind.scale.adds if kind.scale else 0

    gangs.scale(namespace, kind, 1)
    gangs.wait(lambda: len(gangs.bound(namespace)) == len(before) + more)
    assert before.items() <= gangs.uids(namespace).items()

    gangs.scale(namespace, kind, 0)
    gangs.wait(lambda: len(gangs.ours(namespace)) == len(before))


@pytest.mark.usefixtures("controller")
def test_a_workload_that_is_deleted_leaves_its_room(kind: Kind, namespace: Namespace) -> None:
    gangs.add_room(namespace, kind.quorum_cpus)
    gangs.create(namespace, kind)
    gangs.wait_for_quorum(namespace, kind)
    namespace.create(*manifests.gang("next", kind.quorum_cpus, on=namespace.here))

    gangs.delete(namespace, kind)

    eventually("Running", lambda: namespace.phase("next"), gangs.PATIENCE_SECONDS)
    gangs.wait(lambda: kind.quorum_cpus == len(gangs.ours(namespace)))
