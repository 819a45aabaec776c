"""Why a gang did not fit, in plain words and then in kube-scheduler's."""

from typing import Any

import pytest

from gang_scheduler.model.causes.specs import ObjectMissing
from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Misfit, Offers, Refused
from gang_scheduler.model.pods import HostPort, Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology import Domain
from gang_scheduler.report.words import messages
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import GPU, gang, gang_key, node, pod, snapshot

BINPACK = PROFILES["binpack"]


def message(nodes: list[Node], refused: Gang, bound: list[Pod] | None = None) -> str:
    plan = schedule(snapshot(nodes, [refused], bound or []), BINPACK)
    return messages.describe(plan.refused[0])


def test_a_pod_without_gang_gets_kube_schedulers_message_after_plain_words() -> None:
    nodes = [node(f"n{i}", cpu=1) for i in range(3)]

    expected = (
        "It asks 2 cpu, and the largest node has 1. It would not fit even the empty cluster: ask "
        "for less, or add larger nodes. 0/3 nodes are available: 3 Insufficient cpu."
    )
    assert expected == message(nodes, gang("a", cpu=2))


def test_the_message_says_what_a_gang_is_short_of() -> None:
    expected = (
        f"Needs 4 nodes with 1 free {GPU}, 2 have it. "
        "It would not fit even the empty cluster: ask for less, or add nodes. "
        f"0/2 nodes are available: 2 Insufficient {GPU}. "
        "Nodes are counted after placing 2 of the 4 members that gang default/a needs at once."
    )
    assert expected == message([node("n1", gpu=1), node("n2", gpu=1)], gang("a", pods=4, gpu=1))


def test_the_message_of_a_gang_with_a_quorum_says_how_many_wait() -> None:
    expected = (
        f"The quorum has a place; each of 2 more members waits for room: short of 1 {GPU} on one "
        f"node. 0/1 nodes are available: 1 Insufficient {GPU}."
    )
    assert expected == message([node("n1", gpu=2)], gang("a", pods=4, min_member=1, gpu=1))


def test_a_cluster_without_nodes_says_so() -> None:
    expected = "There are no nodes. no nodes available to schedule pods."
    assert expected == message([], gang("a"))


def test_the_message_of_a_gang_that_was_not_tried_says_the_cause() -> None:
    missing = ObjectMissing("PodGroup", gang_key("a"))
    problem = Problem(Reason.POD_GROUP_NOT_FOUND, missing)

    expected = 'PodGroup "default/a" does not exist'
    assert expected == message([node("n1")], gang("a", problem=problem))


@pytest.mark.parametrize(
    ("only", "asks", "words"),
    [
        (node("n1", unschedulable=True), {}, "node(s) were unschedulable"),
        (node("n1", ready=False), {}, "node(s) were not ready"),
        (
            node("n1", taints=["dedicated=infra:NoSchedule"]),
            {},
            "node(s) had untolerated taint {dedicated: infra}",
        ),
        (
            node("n1"),
            {"selector": {"zone": "a"}},
            "node(s) didn't match Pod's node affinity/selector",
        ),
        (node("n1", pods=0), {}, "Too many pods"),
        (node("n1"), {"gpu": 1}, f"Insufficient {GPU}"),
        (node("n1"), {"memory": "33Gi"}, "Insufficient memory"),
    ],
)
def test_every_filter_has_its_words(only: Node, asks: dict[str, Any], words: str) -> None:
    found = message([only], gang("a", **asks))

    assert found.endswith(f" 0/1 nodes are available: 1 {words}.")


def test_taken_ports_have_their_words() -> None:
    holder = pod("x", node="n1", ports=[HostPort(80)])

    words = "node(s) didn't have free ports for the requested pod ports"
    found = message([node("n1")], gang("a", ports=[HostPort(80)]), [holder])
    assert found.endswith(f" 0/1 nodes are available: 1 {words}.")


def test_a_node_that_lacks_two_resources_is_counted_twice() -> None:
    found = message([node("n1", cpu=1)], gang("a", cpu=2, gpu=1))

    assert found.startswith(f"It asks 2 cpu, and the largest node has 1; 1 {GPU}, ")
    assert found.endswith(f" 0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient {GPU}.")


CPU = (("Insufficient cpu", 8),)
TWO_SPINES = ((Domain("SpineLayer", ("s1",)), 3), (Domain("SpineLayer", ("s2",)), 3))


def in_domains(
    offers: Offers,
    *,
    needs: int = 4,
    rejections: tuple[tuple[str, int], ...] = CPU,
    satisfied: bool = False,
    left_over: bool = False,
) -> str:
    """Return what a gang of four reads, on eight nodes, that found no domain for itself."""
    waits = gang("a", pods=needs, satisfied=satisfied)
    fits = max((room for _, room in offers.best), default=0)
    misfit = Misfit(8, fits=fits, needs=needs, rejections=rejections, offers=offers)
    refused = Refused(waits, Reason.UNSCHEDULABLE, waits.pending, misfit, left_over=left_over)
    return messages.describe(refused)


def test_the_message_of_a_gang_without_a_domain_says_what_the_domains_offer() -> None:
    # `plan-must-spine-fail-3-of-4` of the conformance data (from Koordinator, Apache-2.0).
    expected = (
        "3 of 4 members fit now; the best SpineLayer has room for 3 of 4: s1 3, s2 3. "
        "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, "
        "topology topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3, "
        "0/8 nodes are available: 8 Insufficient cpu. "
        "Nodes are counted after placing members wherever there is room."
    )
    assert expected == in_domains(Offers(TWO_SPINES))


def test_multiples_are_named_at_the_end() -> None:
    # The end of `plan-must-spine-multiple-fail` of the same data.
    words = in_domains(Offers(TWO_SPINES, multiples=(("BlockLayer", 2), ("NodeTopologyLayer", 1))))

    ending = "8 Insufficient cpu.; podCountMultiple constraints: BlockLayer=2, NodeTopologyLayer=1"
    assert ending in words


@pytest.mark.parametrize(("more", "words"), [(1, "1 more domain"), (32, "32 more domains")])
def test_domains_beyond_the_best_are_counted(more: int, words: str) -> None:
    assert f"SpineLayer/s2: 3 and {words}, 0/8 nodes" in in_domains(Offers(TWO_SPINES, more))


def test_domains_of_one_name_are_distinguished_by_their_paths() -> None:
    paths = [("s1", "b1"), ("s2", "b1"), ("s2", "b2")]
    offers = Offers(tuple((Domain("BlockLayer", path), 1) for path in paths))

    found = in_domains(offers)

    names = ("BlockLayer/s1/b1", "BlockLayer/s2/b1", "BlockLayer/b2")
    assert ";".join(f"topology topologyNode {name}: 1" for name in names) in found


def test_nodes_that_all_have_room_are_no_reason() -> None:
    expected = (
        "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, "
        "topology topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3"
    )
    assert in_domains(Offers(TWO_SPINES), rejections=()).endswith(f" {expected}")


def test_a_topology_without_domains_offers_nothing() -> None:
    expected = (
        "0 of 4 members fit now; no domain has nodes for it. "
        "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, "
        "0/8 nodes are available: 8 Insufficient cpu."
    )
    assert expected == in_domains(Offers(()))


def test_the_message_of_surplus_names_the_domain_in_which_it_waits() -> None:
    expected = (
        "The quorum has a place; each of 2 more members waits for room in SpineLayer/s1. "
        "0/8 nodes are available: 8 Insufficient cpu."
    )
    assert expected == in_domains(Offers(TWO_SPINES[:1]), needs=2, left_over=True)


def test_the_message_of_a_new_member_of_a_running_gang_says_where_it_waits() -> None:
    expected = (
        "Gang default/a has started; 1 more member waits for room in one of SpineLayer/s1, "
        "SpineLayer/s2 and 3 more domains (podCountMultiple BlockLayer=2)."
    )
    offers = Offers(TWO_SPINES, 3, multiples=(("BlockLayer", 2),))
    assert expected == in_domains(offers, needs=1, rejections=(), satisfied=True)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (PreemptionBlock(BlockCause.SWITCHED_OFF), "preemption is switched off"),
        (
            PreemptionBlock(BlockCause.POLICY_NEVER, pod="default/a-9"),
            "pod default/a-9 has preemptionPolicy Never",
        ),
        (
            PreemptionBlock(BlockCause.TOO_MANY_ROUNDS, rounds=3),
            "3 preemption rounds in 10 minutes were not enough",
        ),
        (
            PreemptionBlock(BlockCause.IN_VAIN, rounds=3),
            "3 preemptions for gangs of this namespace and queue came to nothing in 10 minutes",
        ),
        (
            PreemptionBlock(BlockCause.UNDER_WAY),
            "not eligible due to terminating pod on the nominated node.",
        ),
    ],
)
def test_the_message_says_why_a_gang_may_not_evict(block: PreemptionBlock, words: str) -> None:
    assert words == messages.blocked(block)
