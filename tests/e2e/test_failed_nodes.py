"""Nodes of a running gang fail, several at once: lost members are replaced, or the gang is told."""

import functools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import preemption, preemption_stages
from e2e.support.failed_nodes import (
    CPU,
    Blocks,
    come_back,
    crash,
    delete_gently,
    gathering_job,
    names_of,
    nodes_by_rank,
    pods_of_ranks,
    remove,
    taint,
)
from e2e.support.fault_proxy import FaultProxy, after
from e2e.support.manifests import Manifest, gang, pod, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.networks import asking
from e2e.support.operator_health import Start
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = pytest.mark.e2e

SIZE = 16
LOST = (3, 4, 11)
SOON = "--node-failure-seconds=1"
ALLOWS = "py-gang-scheduler.io/force-delete-stuck-pods"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: all nodes and the topology are those of one test."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    kubeconfig = plane.directory / "kubeconfig-proxy"
    with FaultProxy(plane.access, kubeconfig, preemption_stages.stage_of) as started:
        yield started


def test_three_nodes_of_a_gang_fail_together_and_three_members_take_the_places_in_its_block(
    start: Start, namespace: Namespace
) -> None:
    with Blocks(namespace.cluster, b0=SIZE + 4, b1=SIZE + 4):
        start(SOON)
        before = running(namespace, SIZE)
        (block,) = {node.partition("-")[0] for _, node in before.values()}
        lost = {rank: before[rank] for rank in LOST}
        first, second, third = (node for _, node in lost.values())

        crash(namespace, first, second)
        taint(namespace, second)
        namespace.kubectl("delete", "node", third)
        told = f"3 of {SIZE} members lack in BlockLayer/s0/{block}; failed: "
        until(lambda: message(namespace).startswith(told))
        assert degraded(namespace)[0] == "True"
        said = message(namespace)
        assert f"node {third} (gone)" in said
        assert f"node {second} (taint node.kubernetes.io/out-of-service)" in said
        assert f"node {first} (not ready since " in said

        remove(namespace, *names_of(namespace, (uid for uid, _ in lost.values())))
        # A Job waits for some seconds before it creates pods in place of others.
        until(lambda: SIZE == len(pods_of_ranks(namespace, "a", lost)))
        began = time.monotonic()
        eventually(SIZE, lambda: len(others(namespace, lost)))
        seconds = time.monotonic() - began

        after = others(namespace, lost)
        assert {rank: before[rank] for rank in before if rank not in lost} == {
            rank: after[rank] for rank in after if rank not in lost
        }
        assert {block} == {node.partition("-")[0] for _, node in after.values()}
        assert SIZE == len({node for _, node in after.values()})
        assert {first, second, third}.isdisjoint(node for _, node in after.values())
        eventually(("False", "Whole"), lambda: degraded(namespace))
        assert namespace.notes("a", "DegradedDomain")
        until(lambda: namespace.notes("a", "DomainHealed"))
        print(f"\nthree members bound {seconds:.2f} s after their Job has created them")


def test_members_that_are_created_again_at_once_are_bound_at_once(
    start: Start, namespace: Namespace
) -> None:
    with Blocks(namespace.cluster, b0=SIZE + 4, b1=SIZE + 4):
        start(SOON)
        namespace.create(*asking(gang("a", SIZE, cpu=CPU), BlockLayer="MustGather"))
        eventually("Running", lambda: namespace.phase("a"))
        before = namespace.bound("a-")
        lost = [f"a-{rank}" for rank in LOST]
        crash(namespace, *(before[name] for name in lost))
        eventually(("True", "NodesFailed"), lambda: degraded(namespace))

        began = time.monotonic()
        namespace.delete("pods", *lost)
        _, *created = asking([pod_group("a", SIZE), *named(lost)], BlockLayer="MustGather")
        namespace.create(*created)
        eventually(SIZE, lambda: len(namespace.bound("a-")))
        seconds = time.monotonic() - began

        after = namespace.bound("a-")
        assert {name: before[name] for name in before if name not in lost} == {
            name: after[name] for name in after if name not in lost
        }
        assert {"b0"} == {node.partition("-")[0] for node in after.values()}
        eventually(("False", "Whole"), lambda: degraded(namespace))
        print(f"\nthree members bound {seconds:.2f} s after the deletion of three")


def test_without_room_a_gang_gets_an_event_and_is_healed_when_a_node_comes_back(
    start: Start, namespace: Namespace
) -> None:
    with Blocks(namespace.cluster, b0=4, b1=3):
        start(SOON)
        before = running(namespace, 4, at_once=True)
        (_, first), (_, second) = before[1], before[2]
        crash(namespace, first, second)
        delete_gently(namespace, *names_of(namespace, (before[1][0], before[2][0])))

        eventually(("True", "NoRoomInDomain"), lambda: degraded(namespace))
        until(lambda: "stuck: " in message(namespace))
        assert message(namespace).startswith("2 of 4 members lack in BlockLayer/s0/b0; ")
        assert f"node {first} (not ready since " in message(namespace)
        until(lambda: "2 members wait in their place without room: " in message(namespace))
        assert {0, 3} == set(nodes_by_rank(namespace, "a"))

        come_back(namespace, first)
        eventually(3, lambda: len(nodes_by_rank(namespace, "a")))
        until(lambda: message(namespace).startswith("1 of 4 members lack"))
        come_back(namespace, second)

        eventually(4, lambda: len(nodes_by_rank(namespace, "a")))
        after = nodes_by_rank(namespace, "a")
        assert (before[0], before[3]) == (after[0], after[3])
        assert {first, second} == {after[1][1], after[2][1]}
        eventually(("False", "Whole"), lambda: degraded(namespace))


def test_pods_that_are_stuck_are_named_and_removed_only_where_their_owner_allows_it(
    start: Start, namespace: Namespace
) -> None:
    with Blocks(namespace.cluster, b0=3, b1=3):
        start(SOON, "--force-delete-stuck-pods-seconds=1")
        before = running(namespace, 2, name="a", annotations={ALLOWS: "2s"})
        strict = running(namespace, 2, name="b")
        crash(namespace, before[0][1], strict[0][1])
        (allowed,) = names_of(namespace, [before[0][0]])
        (kept,) = names_of(namespace, [strict[0][0]])

        delete_gently(namespace, allowed, kept)

        for name, stuck in (("a", allowed), ("b", kept)):
            eventually(1, functools.partial(number_of_notes, namespace, name, "StuckPods"))
            assert stuck in namespace.notes(name, "StuckPods")[0]
        eventually([], lambda: names_of(namespace, [before[0][0]]))
        # What would have been removed would be gone by now.
        with pytest.raises(AssertionError):
            until(lambda: not names_of(namespace, [strict[0][0]]), timeout_seconds=5)


def test_a_gang_that_its_domain_cannot_hold_starts_anew_elsewhere_where_the_settings_say_so(
    start: Start, namespace: Namespace
) -> None:
    with Blocks(namespace.cluster, b0=4, b1=5):
        start(SOON, "--degraded-gangs=Evict")
        before = running(namespace, 4, timeout_seconds=3)
        (_, failed) = before[2]
        assert failed.startswith("b0-")
        crash(namespace, failed)
        remove(namespace, *names_of(namespace, [before[2][0]]))

        eventually(("True", "NoRoomInDomain"), lambda: degraded(namespace))
        eventually(4, lambda: sum(node.startswith("b1-") for node in living_nodes(namespace)))

        uids = {uid for uid, _ in before.values()}
        assert uids.isdisjoint(uid for uid, _ in nodes_by_rank(namespace, "a").values())
        until(lambda: namespace.notes("a", "EvictedWhole"))
        eventually(("False", "Whole"), lambda: degraded(namespace))


def test_a_spare_node_is_kept_for_lost_members(start: Start, namespace: Namespace) -> None:
    with Blocks(namespace.cluster, b0=4):
        start(SOON, '--spare-nodes={"layer": "BlockLayer"}')
        before = running(namespace, 3)
        namespace.create(pod("stranger", cpu=CPU))
        kept = "1 node(s) were kept as spare"
        until(lambda: kept in namespace.condition_of_pod("stranger").get("message", ""))
        (uid, failed) = before[1]

        crash(namespace, failed)
        remove(namespace, *names_of(namespace, [uid]))

        eventually(3, lambda: len(nodes_by_rank(namespace, "a")))
        (spare,) = {f"b0-{number}" for number in range(4)} - {node for _, node in before.values()}
        assert spare == nodes_by_rank(namespace, "a")[1][1]
        assert namespace.node_of("stranger") is None


def test_an_operator_that_was_killed_in_the_middle_goes_on(
    start: Start, namespace: Namespace
) -> None:
    with Blocks(namespace.cluster, b0=6, b1=6):
        first = start(SOON)
        before = running(namespace, 5)
        crash(namespace, before[1][1], before[3][1])
        eventually("True", lambda: degraded(namespace)[0])
        remove(namespace, *names_of(namespace, (before[1][0], before[3][0])))
        first.kill()

        start(SOON)

        # One node of the block is free, for one of the two.
        eventually(("True", "NoRoomInDomain"), lambda: degraded(namespace))
        eventually(4, lambda: len(nodes_by_rank(namespace, "a")))
        assert {"b0"} == {node.partition("-")[0] for node in living_nodes(namespace)}
        come_back(namespace, before[1][1])
        eventually(5, lambda: len(nodes_by_rank(namespace, "a")))
        after = nodes_by_rank(namespace, "a")
        assert [before[rank] for rank in (0, 2, 4)] == [after[rank] for rank in (0, 2, 4)]
        eventually(("False", "Whole"), lambda: degraded(namespace))


def test_a_gang_that_was_evicted_in_part_by_a_killed_operator_starts_anew_whole(
    start: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    flags = (SOON, "--degraded-gangs=Evict")
    with Blocks(namespace.cluster, b0=4, b1=5):
        first = start(*flags)
        before = running(namespace, 4, timeout_seconds=3)
        (lost, failed) = before[2]
        assert failed.startswith("b0-")
        proxy.start_over(after(1, "evict"))
        crash(namespace, failed)
        remove(namespace, *names_of(namespace, [lost]))
        # Three run, and are deleted one beside the other.
        eventually(2, lambda: len(proxy.held))
        first.kill()
        proxy.start_over()

        start(*flags)

        eventually(4, lambda: sum(node.startswith("b1-") for node in living_nodes(namespace)))
        uids = {uid for uid, _ in before.values()}
        assert uids.isdisjoint(uid for uid, _ in nodes_by_rank(namespace, "a").values())
        assert 4 == len(living_nodes(namespace))
        eventually(("False", "Whole"), lambda: degraded(namespace))
        eventually(set(), lambda: preemption.marked(namespace))


def running(
    namespace: Namespace, size: int, *, name: str = "a", **fields: Any
) -> dict[int, tuple[str, str]]:
    """Start a Job of one gang; return the uid and the node of each member by its rank."""
    namespace.create(*gathering_job(name, size, **fields))
    eventually("Running", lambda: namespace.phase(name))
    return nodes_by_rank(namespace, name)


def named(names: Iterable[str]) -> list[Manifest]:
    """Return members of the gang."""
    return [pod(name, gang_name="a", cpu=CPU) for name in names]


def others(namespace: Namespace, lost: dict[int, tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """Return the members that are there without the lost ones."""
    gone = {uid for uid, _ in lost.values()}
    return {
        rank: each for rank, each in nodes_by_rank(namespace, "a").items() if each[0] not in gone
    }


def number_of_notes(namespace: Namespace, name: str, reason: str) -> int:
    """Return how many Events of a reason are about a gang."""
    return len(namespace.notes(name, reason))


def living_nodes(namespace: Namespace) -> list[str]:
    """Return the nodes of the living members."""
    return [node for _, node in nodes_by_rank(namespace, "a").values()]


def degraded(namespace: Namespace) -> tuple[str | None, str | None]:
    """Return the status and the reason of the condition DegradedDomain."""
    found = namespace.condition_of_gang("a", "DegradedDomain")
    return found.get("status"), found.get("reason")


def message(namespace: Namespace) -> str:
    """Return what the condition says."""
    return str(namespace.condition_of_gang("a", "DegradedDomain").get("message", ""))
