"""Pods that want others near, or far."""

from collections import Counter
from dataclasses import replace

from gang_scheduler.model.affinity.pod_affinity import Affinity, PodAffinity
from gang_scheduler.model.nodes import UNLIMITED
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler.filters import inter_pod_affinity
from gang_scheduler.scheduler.filters.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, AVOIDED
from gang_scheduler.scheduler.trial import Trial
from support.builders import gang, node, pod
from support.selector_builders import apart_from, app, asking, beside, world

NODES = [
    node("n1", labels={"zone": "a", "rack": "a1"}),
    node("n2", labels={"zone": "a", "rack": "a2"}),
    node("n3", labels={"zone": "b", "rack": "b1"}),
    node("n4"),
]


def open_to(waiting: Pod, *bound: Pod) -> list[bool]:
    """Tell on which nodes the waiting pod may be."""
    shot = world(NODES, [gang("g", members=[waiting])], bound)
    pod_class = shot.groups[0].gangs[0].pending[0].pod_class
    allowed: list[bool] = (inter_pod_affinity.slots(pod_class, Trial(shot)) > 0).tolist()
    return allowed


def on(where: str, name: str = "a", pod_affinity: PodAffinity | None = None) -> Pod:
    return asking(pod(f"{name}-on-{where}", node=where), pod_affinity, name)


def test_a_pod_keeps_away_from_the_domains_of_those_it_avoids() -> None:
    waiting = asking(pod("x"), apart_from("a"), "x")

    assert [False, False, True, True] == open_to(waiting, on("n1"), on("n3", "b"))


def test_a_pod_keeps_away_from_those_that_avoid_it() -> None:
    waiting = asking(pod("x"), None, "x")

    assert [True, True, False, True] == open_to(waiting, on("n3", "a", apart_from("x")))


def test_a_pod_that_avoids_itself_has_one_slot_a_node_that_is_in_a_domain() -> None:
    shot = world(NODES, [gang("g", members=[asking(pod("a-0"), apart_from("a"))])])
    pod_class = shot.groups[0].gangs[0].pending[0].pod_class

    assert [1, 1, 1, UNLIMITED] == inter_pod_affinity.slots(pod_class, Trial(shot)).tolist()


def test_a_pod_joins_the_domain_of_those_it_wants() -> None:
    waiting = asking(pod("x"), beside("a"), "x")

    assert [True, True, False, False] == open_to(waiting, on("n2"))
    assert [False, False, False, False] == open_to(waiting, on("n4"))


def test_the_first_of_a_series_goes_anywhere_that_has_the_key() -> None:
    assert [True, True, True, False] == open_to(asking(pod("a-0"), beside("a")))
    assert [False, False, False, False] == open_to(asking(pod("x"), beside("a"), "x"))


def test_the_first_of_a_series_may_not_care_for_pods_outside_every_domain() -> None:
    assert [True, True, True, False] == open_to(asking(pod("a-0"), beside("a")), on("n4"))


def test_only_pods_that_all_terms_mean_count_for_an_affinity() -> None:
    both = replace(app("a"), clauses=(*app("a").clauses, *app("b").clauses))
    waiting = asking(pod("x"), PodAffinity(affinity=Affinity(both, ("zone",))), "x")

    assert not any(open_to(waiting, on("n1", "a"), on("n1", "b")))


def test_every_key_of_an_affinity_must_be_shared() -> None:
    waiting = asking(pod("x"), beside("a", "zone", "rack"), "x")

    assert [True, False, False, False] == open_to(waiting, on("n1"))


def test_each_node_is_counted_for_the_first_rule_that_rejects_it() -> None:
    rules = replace(beside("a"), anti=apart_from("b", "rack").anti)
    bound = [on("n1"), on("n2", "b"), on("n3", "c", apart_from("x"))]
    shot = world(NODES, [gang("g", members=[asking(pod("x"), rules, "x")])], bound)
    pod_class, trial = shot.groups[0].gangs[0].pending[0].pod_class, Trial(shot)
    rejected = inter_pod_affinity.slots(pod_class, trial) == 0

    expected = Counter({AFFINITY: 2, ANTI_AFFINITY: 1})
    assert expected == inter_pod_affinity.reasons(pod_class, trial, rejected)
    assert {AVOIDED: 1} == inter_pod_affinity.reasons(
        replace(pod_class, pod_affinity=None), trial, rejected
    )


def test_pods_of_no_concern_are_not_looked_at() -> None:
    shot = world(NODES, [gang("g", members=[asking(pod("x"), None, "x")])], [on("n1")])

    pod_class = shot.groups[0].gangs[0].pending[0].pod_class
    assert not inter_pod_affinity.concerns(pod_class, Trial(shot))
