"""Usage is kept pod by pod, and always equals a count from scratch."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.state.nodes import NodeUsage
from support.builders import GPU, node, pod, pod_class

NAMES = [f"n{i}" for i in range(5)]


def free(usage: NodeUsage) -> dict[str, dict[str, int]]:
    table = usage.table()
    rows = zip(table.nodes, usage.free().tolist(), strict=True)
    return {each.name: dict(zip(table.resources, row, strict=True)) for each, row in rows}


def test_what_pods_use_is_not_free() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))

    usage.add(pod("a", cpu=3), "n1")

    assert {"n1": {"cpu": 5000, "pods": 109}} == free(usage)


def test_what_pods_used_is_free_again() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))

    usage.add(pod("a", cpu=3), "n1")
    usage.remove("uid-a", "n1")

    assert {"n1": {"cpu": 8000, "pods": 110}} == free(usage)


def test_a_pod_that_is_added_twice_counts_once_as_seen_last() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))

    usage.add(pod("a", cpu=3), "n1")
    usage.add(pod("a", cpu=4), "n1")

    assert {"n1": {"cpu": 4000, "pods": 109}} == free(usage)


def test_removing_a_pod_that_is_not_there_changes_nothing() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))

    usage.remove("uid-a", "n1")

    assert {"n1": {"cpu": 8000, "pods": 110}} == free(usage)


def test_pods_seen_before_their_node_count() -> None:
    usage = NodeUsage()
    usage.add(pod("a", cpu=3, ports=[HostPort(80)]), "n1")

    usage.upsert_node(node("n1", cpu=8, memory=0))

    assert {"n1": {"cpu": 5000, "pods": 109}} == free(usage)
    assert {0: Counter([HostPort(80)])} == usage.host_ports()


def test_a_node_that_comes_back_still_has_its_pods() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))
    usage.add(pod("a", cpu=3), "n1")
    usage.delete_node("n1")
    gone = free(usage)

    usage.upsert_node(node("n1", cpu=8, memory=0))

    assert {} == gone
    assert {"n1": {"cpu": 5000, "pods": 109}} == free(usage)


def test_a_resource_that_is_offered_later_was_used_all_along() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))
    usage.add(pod("a", cpu=1, gpu=2), "n1")
    free(usage)

    usage.upsert_node(node("n1", cpu=8, memory=0, gpu=8))

    assert {"n1": {"cpu": 7000, GPU: 6, "pods": 109}} == free(usage)


def test_a_port_is_free_when_its_last_claim_is_gone() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1"))
    web = pod_class(ports=[HostPort(80)])
    usage.add(replace(pod("a"), pod_class=web), "n1")
    usage.add(replace(pod("b"), pod_class=web), "n1")

    usage.remove("uid-a", "n1")
    half = usage.host_ports()
    usage.remove("uid-b", "n1")

    assert [{0: Counter([HostPort(80)])}, {}] == [half, usage.host_ports()]


def test_a_node_seen_again_unchanged_does_not_matter() -> None:
    usage = NodeUsage()

    assert [True, False, True] == [
        usage.upsert_node(each) for each in (node("n1"), node("n1"), node("n1", cpu=9))
    ]


def test_the_table_is_the_same_object_until_a_node_changes() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1"))
    before = usage.table()

    usage.add(pod("a"), "n1")
    usage.upsert_node(node("n1"))
    same = usage.table()
    usage.delete_node("n1")

    assert before is same
    assert before is not usage.table()


def test_what_was_handed_out_does_not_change() -> None:
    usage = NodeUsage()
    usage.upsert_node(node("n1", cpu=8, memory=0))
    handed_out = usage.free()

    usage.add(pod("a", cpu=3), "n1")

    assert [[8000, 110]] == handed_out.tolist()
    assert not handed_out.flags.writeable


class Oracle:
    """Counts everything again, in plain Python."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[PodClass, str]] = {}

    def free(self) -> dict[str, dict[str, int]]:
        """Return what is free, by node and resource."""
        axis = sorted({name for each in self.nodes.values() for name, _ in each.allocatable})
        result = {}
        for name, each in self.nodes.items():
            left = Counter(dict(each.allocatable))
            for asked, where in self.pods.values():
                if where == name:
                    left.subtract(dict(asked.requests))
            result[name] = {resource: left[resource] for resource in axis}
        return dict(sorted(result.items()))

    def ports(self) -> dict[str, Counter[HostPort]]:
        """Return the taken ports of each node that has any."""
        result: dict[str, Counter[HostPort]] = {}
        for asked, where in self.pods.values():
            if asked.host_ports and where in self.nodes:
                result.setdefault(where, Counter()).update(asked.host_ports)
        return result


def random_change(dice: random.Random, usage: NodeUsage, oracle: Oracle) -> None:
    name = dice.choice(NAMES)
    match dice.choice(["node", "node gone", "add", "add", "add", "remove"]):
        case "node":
            extra = {"example.com/rare": 3} if dice.random() < 0.2 else {}
            oracle.nodes[name] = node(
                name, cpu=dice.randint(1, 9), gpu=dice.choice([0, 8]), extra=extra
            )
            usage.upsert_node(oracle.nodes[name])
        case "node gone":
            oracle.nodes.pop(name, None)
            usage.delete_node(name)
        case "add":
            uid = str(dice.randint(0, 30))
            if uid in oracle.pods:
                name = oracle.pods[uid][1]
            ports = [HostPort(dice.randint(1, 3))] if dice.random() < 0.4 else []
            asked = pod_class(cpu=dice.randint(0, 3), gpu=dice.choice([0, 1]), ports=ports)
            oracle.pods[uid] = asked, name
            usage.add(replace(pod("x", uid=uid), pod_class=asked), name)
        case "remove" if oracle.pods:
            uid = dice.choice(sorted(oracle.pods))
            usage.remove(uid, oracle.pods.pop(uid)[1])
        case _:
            pass


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("looks", [1.0, 0.2], ids=["seen every time", "seen now and then"])
def test_usage_equals_a_recount_after_random_changes(seed: int, looks: float) -> None:
    dice = random.Random(seed)  # noqa: S311 - nothing secret.
    usage, oracle = NodeUsage(), Oracle()

    for _ in range(150):
        random_change(dice, usage, oracle)
        if dice.random() < looks:
            rows = {name: row for row, name in enumerate(sorted(oracle.nodes))}
            ports = {rows[name]: taken for name, taken in oracle.ports().items()}

            assert oracle.free() == free(usage)
            assert ports == usage.host_ports()


def test_pinned_pods_are_the_same_object_while_none_comes_or_goes() -> None:
    usage = NodeUsage()
    daemon = replace(pod("daemon", cpu=1), pinned=True)
    usage.add(daemon, "n1")
    usage.add(pod("other", cpu=2), "n1")
    before = usage.pinned()

    usage.add(daemon, "n1")
    usage.remove("uid-other", "n1")

    assert ((daemon.pod_class, "n1"),) == before.pods
    assert before is usage.pinned()


def test_pinned_pods_that_change_or_go_are_noticed() -> None:
    usage = NodeUsage()
    daemon = replace(pod("daemon", cpu=1), pinned=True)
    usage.add(daemon, "n1")
    larger = replace(daemon, pod_class=pod_class(cpu=2))

    usage.reclassify(larger, "n1")
    reclassified = usage.pinned().pods
    usage.remove(daemon.uid, "n1")

    assert (((larger.pod_class, "n1"),), ()) == (reclassified, usage.pinned().pods)
