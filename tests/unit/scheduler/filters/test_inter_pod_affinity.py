"""Pods that want others near, or far."""

from collections import Counter
from dataclasses import replace

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.selectors import (
    Affinity,
    AffinityTerm,
    Clause,
    PodAffinity,
    PodSelector,
)
from gang_scheduler.scheduler.filters import inter_pod_affinity
from gang_scheduler.scheduler.filters.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, AVOIDED
from gang_scheduler.scheduler.pod_affinity import MOST_PENDING
from gang_scheduler.scheduler.preferences import inter_pod_affinity as preferences
from gang_scheduler.scheduler.trial import COLUMNS_A_LOOK, Share, Trial
from support.builders import NAMESPACE, gang, node, pod, requirement
from support.call_counts import calls_of
from support.selector_builders import apart_from, app, asking, beside, world

HERE = frozenset({NAMESPACE})
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


def several(number: int, *own: str) -> PodAffinity:
    """Return anti-affinity to so many apps that are on nodes, and to some more."""
    names = [f"other-{i}" for i in range(number)]
    terms = [AffinityTerm(app(name), "zone") for name in (*names, *own)]
    return PodAffinity(anti=tuple(terms))


def crowd(number: int, *own: str) -> tuple[PodClass, Trial]:
    """Return a class that keeps away from many apps, and a trial where a pod of each is there."""
    waiting = asking(pod("x"), several(number, *own), "x")
    others = [on("n3", f"other-{i}") for i in range(number)]
    shot = world(NODES, [gang("g", members=[waiting])], others)
    return shot.groups[0].gangs[0].pending[0].pod_class, Trial(shot)


def share(pod_class: PodClass, row: int) -> Share:
    return Share(pod_class, np.array([row]), np.array([1]))


def test_no_column_is_summed_again_that_has_not_changed() -> None:
    pod_class, trial = crowd(7, "x")
    inter_pod_affinity.slots(pod_class, trial)
    first = trial.pod_affinity.summed

    inter_pod_affinity.slots(pod_class, trial)
    again = trial.pod_affinity.summed
    trial.assume(share(pod_class, 0))
    inter_pod_affinity.slots(pod_class, trial)

    # Of what has come only the term that selects it, and its own terms that are avoided.
    assert (7, 7, 9) == (first, again, trial.pod_affinity.summed)


def test_what_is_remembered_follows_what_is_assumed_undone_and_copied() -> None:
    pod_class, trial = crowd(3, "x")
    expected = inter_pod_affinity.slots(pod_class, trial).tolist()

    with trial.all_or_nothing():
        trial.assume(share(pod_class, 0))
        copied = trial.copy()
        inside = inter_pod_affinity.slots(pod_class, trial).tolist()
        copied.release(share(pod_class, 0))
        assert expected == inter_pod_affinity.slots(pod_class, copied).tolist()
        assert inside == inter_pod_affinity.slots(pod_class, trial).tolist()

    assert [1, 1, 0, UNLIMITED] == expected
    assert [0, 0, 0, UNLIMITED] == inside
    assert expected == inter_pod_affinity.slots(pod_class, trial).tolist()


def test_the_terms_of_a_pod_count_as_work_and_a_search_pays_for_many() -> None:
    def work(number: int) -> tuple[float, float]:
        pod_class, trial = crowd(number)
        inter_pod_affinity.slots(pod_class, trial)
        first = trial.effort.done
        inter_pod_affinity.slots(pod_class, trial)
        return trial.effort.done - first, trial.effort.spent

    few, many = work(5), work(500)

    assert 0 == few[1] < few[0]
    assert many[0] > 50 * few[0]
    assert many[0] == many[1] / 2 == 500 / inter_pod_affinity.TERMS_A_LOOK


def assume_times(number: int, share: Share, trial: Trial) -> None:
    for _ in range(number):
        trial.assume(share)


def test_columns_that_are_not_read_are_not_added_up() -> None:
    trial = Trial(world(NODES, [gang("g", members=[pod("x")])]))
    selectors = [app(f"s{number}") for number in range(100)]
    chosen = replace(pod("p").pod_class, selected_by=frozenset(selectors))
    share = Share(chosen, np.array([0]), np.array([1]))

    made = calls_of(lambda: assume_times(20, share, trial))

    assert 0 == made["pod_affinity._Changed.sum"]
    assert [20, 0, 0, 0] == trial.pod_affinity.present(selectors[0]).tolist()


def test_a_column_that_changes_very_often_is_added_up_now_and_then() -> None:
    trial = Trial(world(NODES, [gang("g", members=[pod("x")])]))
    chosen = replace(pod("p").pod_class, selected_by=frozenset({app("s")}))
    share = Share(chosen, np.array([0]), np.array([1]))

    made = calls_of(lambda: assume_times(MOST_PENDING * 3 + 1, share, trial))

    assert 3 == made["pod_affinity._Changed.sum"]
    assert [MOST_PENDING * 3 + 1, 0, 0, 0] == trial.pod_affinity.present(app("s")).tolist()


def test_changing_columns_is_counted_as_work() -> None:
    trial = Trial(world(NODES, [gang("g", members=[pod("x")])]))
    selectors = frozenset(app(f"s{number}") for number in range(2 * COLUMNS_A_LOOK))
    before = trial.effort.done

    trial.assume(Share(replace(pod("p").pod_class, selected_by=selectors), *np.array([[0], [1]])))

    assert 2 == trial.effort.done - before


def test_an_affinity_with_a_label_that_no_node_has_is_decided_without_sums() -> None:
    keys = ["zone", *(f"none-{number}" for number in range(100))]
    shot = world(NODES, [gang("g", members=[asking(pod("x"), beside("a", *keys))])], [on("n1")])
    pod_class = shot.groups[0].gangs[0].pending[0].pod_class
    trial = Trial(shot)

    made = calls_of(lambda: inter_pod_affinity.slots(pod_class, trial))

    assert 2 >= made["label_domains.in_domain"]


def test_preferred_terms_of_one_key_are_summed_once() -> None:
    terms = [
        AffinityTerm(
            PodSelector((Clause((requirement("app", "In", "a", f"b{number}"),), HERE),)), key
        )
        for number in range(50)
        for key in ("zone", "none")
    ]
    wanted = PodAffinity(preferred=tuple((2, each) for each in terms))
    shot = world(NODES, [gang("g", members=[asking(pod("x"), wanted, "x")])], [on("n1"), on("n3")])
    pod_class = shot.groups[0].gangs[0].pending[0].pod_class
    trial, scores = Trial(shot), list[list[int]]()

    made = calls_of(lambda: scores.append(preferences.score(pod_class, trial).tolist()))

    assert [[100, 100, 100, 0]] == scores
    assert 1 == made["label_domains.in_domain"]
    assert 0 < trial.effort.done
