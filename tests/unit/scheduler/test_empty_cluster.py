"""Whether a group that waits would fit the nodes without pods."""

from dataclasses import replace

import pytest

from gang_scheduler.model.bound_pods import PinnedPods
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import IfEmpty
from gang_scheduler.model.pods import HostPort, Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.volumes import Need, Storage
from gang_scheduler.scheduler import empty_cluster
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, group, node, pod, pod_class, snapshot
from support.call_counts import calls_of

BINPACK = PROFILES["binpack"]
FULL = (node("n1", cpu=8), node("n2", cpu=8))
HELD = (pod("x", node="n1", cpu=8), pod("y", node="n2", cpu=8))


def told(
    waits: Gang | GangGroup,
    nodes: tuple[Node, ...] = FULL,
    bound: tuple[Pod, ...] = HELD,
    pinned: tuple[Pod, ...] = (),
) -> IfEmpty | None:
    """Return what the first gang of a group that waits is told."""
    there = PinnedPods(tuple((each.pod_class, each.node) for each in pinned))
    shot = snapshot(nodes, [waits], (*bound, *pinned))
    return decided(replace(shot, pinned=there))[0]


def decided(shot: Snapshot) -> list[IfEmpty | None]:
    """Return what all that wait are told."""
    return [each.if_empty for each in schedule(shot, BINPACK).refused]


def test_the_refusal_says_that_a_gang_fits_once_all_pods_are_gone() -> None:
    assert IfEmpty.FITS is told(gang("a", pods=2, cpu=8))


@pytest.mark.parametrize(("pods", "cpu"), [(3, 8), (1, 9)])
def test_the_refusal_says_that_a_gang_never_fits(pods: int, cpu: int) -> None:
    assert IfEmpty.TOO_LARGE is told(gang("a", pods=pods, cpu=cpu))


def test_nodes_are_as_they_are() -> None:
    nodes = (FULL[0], replace(FULL[1], unschedulable=True))

    assert IfEmpty.TOO_LARGE is told(gang("a", pods=2, cpu=8), nodes)


def test_pinned_pods_stay() -> None:
    pinned = pod("daemon", node="n1", cpu=1, ports=[HostPort(80)])
    free = HELD[1:]

    assert IfEmpty.TOO_LARGE is told(gang("a", pods=2, cpu=8), bound=free, pinned=(pinned,))
    assert IfEmpty.FITS is told(gang("b", pods=2, cpu=7), bound=free, pinned=(pinned,))
    ports = gang("c", pods=2, ports=[HostPort(80)])
    assert IfEmpty.TOO_LARGE is told(ports, bound=free, pinned=(pinned,))


def test_pinned_pods_of_nodes_that_are_gone_count_nowhere() -> None:
    shot = snapshot(FULL, [gang("a", pods=2, cpu=8)], HELD)
    pinned = PinnedPods(((pod_class(cpu=8), "gone"),))

    assert [IfEmpty.FITS] == decided(replace(shot, pinned=pinned))


def test_gangs_of_a_group_must_fit_together() -> None:
    one, other = gang("a", cpu=8), gang("b", cpu=8)

    assert IfEmpty.FITS is told(group(one, other))
    assert IfEmpty.TOO_LARGE is told(group(one, gang("c", pods=2, cpu=8)))


@pytest.mark.parametrize("cpu", [1, 9])
def test_of_a_gang_with_a_pod_on_a_node_nothing_is_said(cpu: int) -> None:
    assert told(gang("a", pods=2, bound=1, cpu=cpu)) is None


@pytest.mark.parametrize(
    "storage", [Storage(problem="a claim is missing"), Storage(needs=(Need("fast"),))]
)
def test_the_refusal_of_a_gang_that_waits_for_volumes_does_not_say_that_it_never_fits(
    storage: Storage,
) -> None:
    assert told(gang("a", storage=storage)) is None


def test_what_was_found_is_kept_while_the_nodes_are_the_same() -> None:
    shot = snapshot(FULL, [gang("a", pods=2, cpu=8)], HELD)

    first, second = (calls_of(lambda: decided(shot)) for _ in range(2))

    fit = "empty_cluster.EmptyCluster._fit"
    assert (1, 0) == (first[fit], second[fit])


def test_what_was_found_does_not_outlive_pinned_pods() -> None:
    shot = snapshot(FULL, [gang("a", pods=2, cpu=8)], HELD)
    pinned = PinnedPods(((pod_class(cpu=1), "n1"),))

    assert [IfEmpty.FITS] == decided(shot)
    assert [IfEmpty.TOO_LARGE] == decided(replace(shot, pinned=pinned))
    assert [IfEmpty.FITS] == decided(shot)


def test_a_cycle_searches_no_more_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(empty_cluster, "MOST_LOOKS", 9)
    shot = snapshot(FULL, [gang(f"g{i}", pods=2, cpu=8 - i) for i in range(4)], HELD)

    # What was kept counts as if it had been searched: the same snapshot gives the same plan.
    plans = [decided(shot) for _ in range(3)]

    assert [[IfEmpty.FITS] * 3 + [IfEmpty.NOT_SEARCHED]] * 3 == plans


def different(*cpus: int) -> Gang:
    return gang("a", members=[pod(f"a-{i}", gang="a", cpu=cpu) for i, cpu in enumerate(cpus)])


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ((4, 8), IfEmpty.FITS),
        ((5, 8), IfEmpty.TOO_LARGE),
        ((3, 9), IfEmpty.TOO_LARGE),
        # More members than nodes, and two that share one.
        ((4, 3, 5), IfEmpty.FITS),
        ((5, 3), IfEmpty.FITS),
        ((6, 7), IfEmpty.TOO_LARGE),
    ],
)
def test_many_different_members_fit_if_they_do(
    cpus: tuple[int, ...], expected: IfEmpty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(empty_cluster, "MANY_CLASSES", 2)
    nodes = (node("n1", cpu=4), node("n2", cpu=8))
    full = (pod("x", node="n1", cpu=4), pod("y", node="n2", cpu=8))

    assert expected is told(different(*cpus), nodes, full)


def test_many_different_members_are_not_placed_if_each_class_alone_shows_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    placed = "quorums.Quorums.in_any_order"
    searched = calls_of(lambda: told(different(6, 7)))[placed]
    monkeypatch.setattr(empty_cluster, "MANY_CLASSES", 2)

    for cpus in ((6, 7), (8, 9)):
        assert searched - 1 == calls_of(lambda cpus=cpus: told(different(*cpus)))[placed]  # type: ignore[misc]
    # There are more members than nodes.
    assert searched == calls_of(lambda: told(different(4, 3, 5)))[placed]


@pytest.mark.parametrize(
    ("cpus", "expected"), [((4, 7, 9), IfEmpty.FITS), ((9, 10, 3), IfEmpty.TOO_LARGE)]
)
def test_surplus_that_has_no_node_does_not_decide_about_many_different_members(
    cpus: tuple[int, ...], expected: IfEmpty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(empty_cluster, "MANY_CLASSES", 2)
    nodes = [node(f"n{cpu}", cpu=cpu) for cpu in (4, 8, 2)]
    full = [pod(f"x{each.name}", node=each.name, cpu=1) for each in nodes]

    assert expected is told(replace(different(*cpus), min_member=2), tuple(nodes), tuple(full))
