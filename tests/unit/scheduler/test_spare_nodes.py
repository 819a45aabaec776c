"""Which nodes are kept for members that replace lost ones, and what may use them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from gang_scheduler.model.bound_pods import PinnedPods
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import IfEmpty, Plan
from gang_scheduler.model.rules import GangRules, Rules, SpareNodes
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.periodic.largest_fit import most_members
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler import spare_nodes
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import bound_pod, bound_pods, gang, node, pod, pod_class, snapshot
from support.plan_reading import nodes_of, victims_of
from support.topology_builders import BLOCK, BLOCK_KEY, SPINE, SPINE_KEY, TREE_SPEC

RULE = SpareNodes(BLOCK)


def nodes(**of_last: Any) -> list[Node]:
    """Return two blocks of four nodes; `of_last` are fields of the last one, n7."""
    labels = [{SPINE_KEY: "s0", BLOCK_KEY: f"b{number // 4}"} for number in range(8)]
    made = [node(f"n{number}", cpu=4, labels=each) for number, each in enumerate(labels)]
    return [*made[:-1], replace(made[-1], **of_last)] if of_last else made


def names_of(found: Snapshot, *rules: SpareNodes) -> list[str]:
    kept = spare_nodes.kept(found, rules or (RULE,))
    rows = [] if kept is None else np.flatnonzero(kept).tolist()
    return [found.nodes.nodes[row].name for row in rows]


def cluster(*gangs: Gang, taken: Iterable[str] = (), **fields: Any) -> Snapshot:
    on_nodes = [pod(f"on-{name}", node=name, cpu=1) for name in taken]
    return replace(snapshot(nodes(), gangs, on_nodes, [TREE_SPEC]), **fields)


def plan_of(found: Snapshot, *rules: SpareNodes) -> Plan:
    return schedule(found, profile(*rules))


def profile(*rules: SpareNodes) -> Profile:
    return replace(PROFILES["binpack"], rules=Rules(gangs=GangRules(spare_nodes=rules or (RULE,))))


def test_the_last_free_node_of_each_domain_is_kept() -> None:
    assert ["n3", "n7"] == names_of(cluster())
    assert ["n2", "n7"] == names_of(cluster(taken=["n3"]))
    assert ["n2", "n3", "n6", "n7"] == names_of(cluster(), SpareNodes(BLOCK, 2))
    assert ["n7"] == names_of(cluster(), SpareNodes(SPINE))
    assert ["n7"] == names_of(cluster(taken=["n0", "n1", "n2", "n3"]))


def test_without_rules_or_with_an_unknown_layer_none_is_kept() -> None:
    assert spare_nodes.kept(cluster(), ()) is None
    assert [] == names_of(cluster(), SpareNodes("RackLayer"))


def test_only_nodes_with_the_labels_are_kept() -> None:
    assert ["n3"] == names_of(cluster(), SpareNodes(BLOCK, node_selector={BLOCK_KEY: "b0"}))


def test_a_node_that_could_take_no_pod_is_no_spare_one() -> None:
    for of_last in ({"ready": False}, {"unschedulable": True}):
        assert ["n3", "n6"] == names_of(snapshot(nodes(**of_last), tree_specs=[TREE_SPEC]))
    assert ["n3", "n6"] == names_of(cluster(failed_nodes=frozenset({"n7", "gone"})))


def test_pods_that_come_back_to_a_node_leave_it_free() -> None:
    daemon = pod("daemon", node="n7", cpu=1)
    pinned = PinnedPods(((daemon.pod_class, "n7"),))
    found = snapshot(nodes(), bound=[daemon], tree_specs=[TREE_SPEC])

    assert ["n3", "n6"] == names_of(found)
    assert ["n3", "n7"] == names_of(replace(found, pinned=pinned))


def test_room_that_is_reserved_is_not_free() -> None:
    waiting = pod("p", nominated="n7", cpu=4)

    found = cluster(nominated=(Nominated(waiting, waiting.gang, 0),))

    assert ["n3", "n6"] == names_of(found)


def test_a_gang_that_starts_uses_no_spare_node() -> None:
    plan = plan_of(cluster(gang("a", pods=7, cpu=4)))

    (refused,) = plan.refused
    assert {} == nodes_of(plan)
    assert "2 node(s) were kept as spare" in describe(refused)
    assert "2 more are kept as spare" in describe(refused)
    assert IfEmpty.TOO_LARGE is refused.if_empty


def test_a_gang_that_leaves_the_spare_nodes_free_starts() -> None:
    assert {"n0", "n1", "n2", "n4", "n5", "n6"} == set(
        nodes_of(plan_of(cluster(gang("a", pods=6, cpu=4)))).values()
    )


def test_what_replaces_lost_members_uses_spare_nodes() -> None:
    lost = gang("a", pods=2, cpu=4, bound=2, satisfied=True)
    full = ["n0", "n1", "n2", "n4", "n5", "n6"]

    assert {"n3", "n7"} == set(nodes_of(plan_of(cluster(lost, taken=full))).values())


def test_a_misfit_of_a_gang_that_starts_says_nothing_of_replacements() -> None:
    full = ["n0", "n1", "n2", "n4", "n5", "n6"]
    starting = gang("a", pods=1, cpu=4, priority=5)
    lost = gang("b", pods=1, cpu=4, bound=2, satisfied=True)

    assert ["b-0"] == list(nodes_of(plan_of(cluster(starting, lost, taken=full))))


def test_surplus_of_a_gang_that_lost_members_uses_no_spare_node() -> None:
    lost = gang("a", pods=2, cpu=4, min_member=3, bound=2, satisfied=True)
    full = ["n0", "n1", "n2", "n4", "n5", "n6"]

    assert 1 == len(nodes_of(plan_of(cluster(lost, taken=full))))


def test_pods_are_evicted_while_a_node_is_kept() -> None:
    victims = [bound_pod(f"v{i}", f"n{i}", cpu=4) for i in range(8) if i not in (3, 7)]
    urgent = gang("a", pods=1, cpu=4, priority=5)
    found = snapshot(
        nodes(), [urgent], tree_specs=[TREE_SPEC], bound_pods=bound_pods(*victims), taken_at=1000
    )

    assert 1 == len(victims_of(plan_of(found)))
    assert set() == victims_of(schedule(found, PROFILES["binpack"]))


def test_the_largest_gang_leaves_spare_nodes_free() -> None:
    found = most_members(pod_class(cpu=4), cluster(), profile())

    assert (6, 3) == (found[SPINE], found[BLOCK])
