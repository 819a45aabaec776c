"""Pods that are spread evenly over domains."""

from collections import Counter
from dataclasses import replace
from typing import Any

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import PodAffinity
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.filters import topology_spread
from gang_scheduler.scheduler.filters.topology_spread import NO_LABEL, SKEWED
from gang_scheduler.scheduler.trial import Trial
from support.builders import gang, node, pod
from support.selector_builders import asking, everybody, spread_over, world

NODES = [
    node("n1", labels={"zone": "a", "disk": "ssd"}),
    node("n2", labels={"zone": "a"}),
    node("n3", labels={"zone": "b", "disk": "ssd"}),
    node("n4", labels={"zone": "c"}, taints=["dedicated=infra:NoSchedule"]),
    node("n5"),
]


def waiting_for(pod_affinity: PodAffinity, *bound: str, name: str = "a", **asks: Any) -> Snapshot:
    """Return a world with a pod that waits, and pods of app `a` on these nodes."""
    there = [asking(pod(f"x-{i}", node=where), None, "a") for i, where in enumerate(bound)]
    waiting = asking(pod("a-0", **asks), pod_affinity, name)
    return world(NODES, [gang("g", members=[waiting])], there)


def first(shot: Snapshot) -> Pod:
    return shot.groups[0].gangs[0].pending[0]


def open_to(shot: Snapshot) -> list[bool]:
    allowed: list[bool] = (topology_spread.slots(first(shot).pod_class, Trial(shot)) > 0).tolist()
    return allowed


def test_no_domain_gets_more_than_its_skew_above_the_emptiest() -> None:
    assert [True, True, True, True, False] == open_to(waiting_for(spread_over()))
    assert [False, False, True, True, False] == open_to(waiting_for(spread_over(), "n1"))
    assert [True, True, True, True, False] == open_to(waiting_for(spread_over(max_skew=2), "n1"))


def test_a_pod_that_does_not_count_itself_may_fill_the_skew() -> None:
    shot = waiting_for(spread_over(), "n1", name="x")

    assert [True, True, True, True, False] == open_to(shot)


def test_too_few_domains_count_as_an_empty_one() -> None:
    everywhere = waiting_for(spread_over(min_domains=4), "n1", "n3", "n4")

    assert [False] * 5 == open_to(everywhere)
    assert [True, True, True, True, False] == open_to(
        waiting_for(spread_over(min_domains=3), "n1", "n3", "n4")
    )


def test_nodes_that_the_pod_could_never_be_on_do_not_count() -> None:
    shot = waiting_for(spread_over(), "n1", "n3", selector={"disk": "ssd"})

    assert [True, True, True, True, False] == open_to(shot)
    ignoring = waiting_for(
        spread_over(honours_affinity=False), "n1", "n3", selector={"disk": "ssd"}
    )
    assert [False, False, False, True, False] == open_to(ignoring)


def test_tainted_nodes_count_unless_taints_are_honoured() -> None:
    assert [False, False, False, True, False] == open_to(waiting_for(spread_over(), "n1", "n3"))
    assert [True, True, True, True, False] == open_to(
        waiting_for(spread_over(honours_taints=True), "n1", "n3")
    )


def test_an_empty_selector_counts_no_pod_but_the_pod() -> None:
    spread = replace(spread_over().spread[0], selector=everybody())

    assert [True, True, True, True, False] == open_to(
        waiting_for(PodAffinity(spread=(spread,)), "n1", "n1", "n1")
    )


def test_with_no_node_that_counts_nothing_is_too_much() -> None:
    shot = waiting_for(spread_over(), "n1", selector={"disk": "none"})

    assert [True, True, True, True, False] == open_to(shot)


def test_each_node_is_counted_for_the_first_constraint_that_rejects_it() -> None:
    shot = waiting_for(spread_over(), "n1")
    pod_class, trial = first(shot).pod_class, Trial(shot)
    rejected = topology_spread.slots(pod_class, trial) == 0

    assert Counter({SKEWED: 2, NO_LABEL: 1}) == topology_spread.reasons(pod_class, trial, rejected)
