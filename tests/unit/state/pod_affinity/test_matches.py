"""The selectors that pods carry, and the pods that these select."""

import random
from dataclasses import replace

import pytest

from gang_scheduler.decode.cluster import DeclaredNamespace
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import (
    Affinity,
    AffinityTerm,
    Clause,
    PodAffinity,
    PodSelector,
)
from gang_scheduler.state import affinity_term_budgets
from gang_scheduler.state.affinity_term_budgets import MOST_COMPARED
from gang_scheduler.state.pod_affinity import MOST_LEFT_BEHIND, SelectorMatches
from gang_scheduler.state.selector_entries import LEAST
from support.builders import NAMESPACE, gang_key, pod, requirement
from support.call_counts import at_most, calls_of
from support.selector_builders import (
    apart_from,
    app,
    asking,
    beside,
    everybody,
    rather,
    spread_over,
)

IN_DEFAULT = frozenset({NAMESPACE})
STAYING = replace(app("a"), staying=True)
JOB = "jobset.sigs.k8s.io/job-key"


def book(*pods: Pod) -> SelectorMatches:
    made = SelectorMatches()
    for each in pods:
        made.upsert(each, gang_key("g"))
    return made


def selectors_of(made: SelectorMatches, name: str) -> set[PodSelector]:
    return set(made.selectors_matching(f"uid-{name}"))


def carrier(pod_affinity: PodAffinity, name: str = "carrier") -> Pod:
    return asking(pod(name), pod_affinity, name)


def test_a_pod_is_selected_by_selectors_that_others_carry() -> None:
    made = book(carrier(apart_from("a")), asking(pod("p"), None), asking(pod("q"), None, "b"))

    assert [{app("a")}, set()] == [selectors_of(made, name) for name in "pq"]


def test_a_pod_may_select_itself() -> None:
    assert {app("a")} == selectors_of(book(asking(pod("p"), apart_from("a"))), "p")


def test_pods_that_were_there_before_are_to_be_enriched_anew() -> None:
    made = book(asking(pod("p"), None), asking(pod("q"), None, "b"))
    before = made.take_stale()

    made.upsert(carrier(apart_from("a")), None)

    assert (set(), {"uid-p"}, set()) == (before, made.take_stale(), made.take_stale())


def test_a_selector_that_is_carried_twice_is_no_news() -> None:
    made = book(asking(pod("p"), None), carrier(apart_from("a"), "c"))
    made.take_stale()

    made.upsert(carrier(rather(5, "a"), "d"), None)
    made.delete("uid-c")
    made.upsert(asking(pod("late"), None), None)

    assert ({"uid-late"}, {app("a")}) == (made.take_stale(), selectors_of(made, "late"))


def test_a_selector_without_carriers_selects_no_new_pod() -> None:
    made = book(carrier(apart_from("a"), "c"))

    made.delete("uid-c")
    made.upsert(asking(pod("p"), None), None)

    assert (0, set()) == (len(made), selectors_of(made, "p"))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_carries_nothing_and_is_selected_by_no_selector(phase: str) -> None:
    c, p = carrier(apart_from("a"), "c"), asking(pod("p"), None)
    made = book(c, p, carrier(spread_over(), "d"))
    ended = [replace(each, phase=pod("x", phase=phase).phase) for each in (c, p)]

    for each in ended:
        made.upsert(each, None)

    assert (1, set()) == (len(made), selectors_of(made, "p"))


def test_a_pod_that_is_being_deleted_is_selected_by_selectors_that_accept_it() -> None:
    p = asking(pod("p"), None)
    made = book(p, carrier(spread_over(), "c"), carrier(apart_from("a"), "d"))
    before = selectors_of(made, "p")

    made.upsert(replace(p, deleting=True), None)

    assert ({app("a"), STAYING}, {app("a")}) == (before, selectors_of(made, "p"))


def test_other_labels_match_other_selectors() -> None:
    p = asking(pod("p"), None)
    made = book(p, carrier(apart_from("a"), "c"), carrier(apart_from("b"), "d"))

    made.upsert(asking(p, None, "b"), None)

    assert {app("b")} == selectors_of(made, "p")


def test_labels_that_changed_while_no_gang_asked_are_looked_at() -> None:
    p = asking(pod("p"), None)
    made = book(p, carrier(apart_from("a"), "c"))
    made.delete("uid-c")
    made.upsert(asking(p, None, "b"), None)

    made.upsert(carrier(apart_from("a"), "c"), None)

    assert set() == selectors_of(made, "p")


def test_labels_of_namespaces_matter_to_selectors_that_ask_for_them() -> None:
    in_tier = (requirement("tier", "In", "1"),)
    asked = PodSelector((Clause((), frozenset(), in_tier),))
    made = book(
        carrier(PodAffinity(anti=(AffinityTerm(asked, "zone"),))), pod("p", namespace="team")
    )
    made.take_stale()
    known = [selectors_of(made, "p")]

    told = [made.upsert_namespace(DeclaredNamespace("u", "team", {"tier": "1"}))]
    known.append(selectors_of(made, "p"))
    stale = [made.take_stale()]
    told.append(made.delete_namespace("u"))
    known.append(selectors_of(made, "p"))

    assert ([True, True], [set(), {asked}, set()]) == (told, known)
    assert ([{"uid-p"}], {"uid-p"}) == (stale, made.take_stale())


def test_labels_of_namespaces_do_not_matter_where_no_pod_asks() -> None:
    made = book(pod("p", namespace="team"))

    assert not made.upsert_namespace(DeclaredNamespace("u", "team", {"tier": "1"}))


def test_what_is_left_behind_is_cleared_away_at_last() -> None:
    made = book(asking(pod("p"), None))
    numbers = []
    for i in range(MOST_LEFT_BEHIND + 1):
        wanted = PodSelector(
            (Clause((requirement("x", "NotIn", str(i)),), frozenset({"default"})),)
        )
        made.upsert(carrier(PodAffinity(anti=(AffinityTerm(wanted, "zone"),)), "c"), None)
        made.delete("uid-c")
        numbers.append(len(selectors_of(made, "p")))

    assert [1, 2, MOST_LEFT_BEHIND, 0] == [*numbers[:2], *numbers[-2:]]


def test_a_selector_that_comes_and_goes_takes_no_memory() -> None:
    made = book(asking(pod("p"), None))

    for _ in range(3 * MOST_LEFT_BEHIND):
        made.upsert(carrier(apart_from("a"), "c"), None)
        made.delete("uid-c")

    assert len(made._index.alike["uid-p"]) <= MOST_LEFT_BEHIND + 1


@pytest.mark.parametrize(
    ("pod_affinity", "waits"),
    [
        (beside("a"), True),
        (spread_over(), True),
        (spread_over(hard=False), False),
        (apart_from("a"), False),
        (rather(5, "a"), False),
    ],
)
def test_gangs_that_others_can_help_are_known(pod_affinity: PodAffinity, *, waits: bool) -> None:
    made = book(carrier(pod_affinity, "c"), asking(pod("p"), None))

    assert waits == made.pod_placed(made.selectors_matching("uid-p"))
    assert ({gang_key("g")} if waits else set()) == made.take_gangs_to_retry()
    assert set() == made.take_gangs_to_retry()


def test_a_pod_on_a_node_waits_for_no_pod_any_more() -> None:
    waiting = carrier(beside("a"), "c")
    made = book(waiting, carrier(beside("a"), "d"))

    steps = []
    for uid in ("c", "d"):
        made.upsert(carrier(beside("a"), uid), gang_key("other"))
        made.upsert(replace(carrier(beside("a"), uid), node="n1"), gang_key("other"))
        made.pod_placed(frozenset({app("a")}))
        steps.append(made.take_gangs_to_retry())

    assert [{gang_key("g")}, set()] == steps


def test_every_pod_is_selected_by_an_empty_selector() -> None:
    made = book(carrier(PodAffinity(anti=(AffinityTerm(everybody(), "zone"),)), "c"), pod("p"))

    assert [{everybody()}] * 2 == [selectors_of(made, name) for name in "cp"]


def test_selectors_that_no_gang_waits_for_any_more_take_no_memory() -> None:
    made = book()
    for number in range(50):
        made.upsert(carrier(beside(f"{number}"), f"c-{number}"), gang_key("g"))
        assert made.pod_placed(frozenset({app(f"{number}")}))
        made.delete(f"uid-c-{number}")

    assert set() == made._placed


def test_a_waiting_gang_is_tried_again_also_when_another_one_stops() -> None:
    made = book(carrier(beside("a"), "c"))
    made.upsert(carrier(beside("a"), "d"), gang_key("other"))
    made.pod_placed(frozenset({app("a")}))
    made.delete("uid-c")

    assert {gang_key("other")} == made.take_gangs_to_retry()


def test_pods_that_the_same_selectors_select_share_a_set() -> None:
    made = book(*(asking(pod(name), None) for name in "pq"))
    for number in range(3):
        each = PodSelector((Clause((requirement("app", "In", "a", f"b{number}"),), IN_DEFAULT),))
        made.upsert(carrier(PodAffinity(anti=(AffinityTerm(each, "zone"),)), f"c{number}"), None)

    assert made.selectors_matching("uid-p") is made.selectors_matching("uid-q")
    assert 3 == len(made.selectors_matching("uid-p"))


def broad(number: int) -> PodSelector:
    """Return a selector of its own that selects all pods of all namespaces."""
    return PodSelector((Clause((requirement("x", "NotIn", str(number)),), frozenset(), ()),))


def apart_from_all(name: str, *numbers: int, namespace: str = "team") -> Pod:
    terms = tuple(AffinityTerm(broad(number), "zone") for number in numbers)
    made = asking(pod(name, namespace=namespace), PodAffinity(anti=terms), name)
    return replace(made, namespace=namespace)


ROOM_FOR_TWO = 2 * (LEAST + 1) + 20
"""A namespace can have two selectors of one shape about up to some 20 pods."""


@pytest.fixture
def given_back_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affinity_term_budgets, "MOST_GIVEN_BACK", 25)


def small_book(*pods: Pod) -> SelectorMatches:
    made = SelectorMatches(ROOM_FOR_TWO)
    for each in pods:
        made.upsert(each, gang_key("g"))
    return made


def test_selectors_over_the_bound_of_their_namespace_select_no_pod() -> None:
    carriers = [apart_from_all(f"c{number}", number) for number in range(3)]
    other = apart_from_all("d", 9, namespace="other")
    made = small_book(pod("p"), *carriers, other)

    assert {broad(0), broad(1), broad(9)} == selectors_of(made, "p")
    assert [False, False, True, False] == [made.leaves_out(each) for each in (*carriers, other)]


def test_a_pod_with_more_selectors_than_its_namespace_may_have_is_left_out_whole() -> None:
    carrier = apart_from_all("c", *range(1_000))

    made = small_book(pod("p"), carrier)

    assert (0, True) == (len(made), made.leaves_out(carrier))


@pytest.mark.usefixtures("given_back_slowly")
def test_what_removed_selectors_counted_as_is_given_back_a_little_a_cycle() -> None:
    made = small_book(pod("p"), *(apart_from_all(f"c{number}", number) for number in range(3)))
    made.take_stale()
    made.delete("uid-c0")
    left_out, steps = apart_from_all("c2", 2), []

    for _ in range(5):
        stale = made.take_stale()
        steps.append((broad(2) in selectors_of(made, "p"), "uid-c2" in stale))

    assert [(False, True), (False, False), (True, True), (True, False), (True, False)] == steps
    assert not made.leaves_out(left_out)


def test_the_newest_selectors_are_left_out_once_pods_come_that_are_too_many() -> None:
    carriers = [apart_from_all(f"c{number}", number) for number in range(2)]
    made = small_book(*carriers)
    made.take_stale()

    for number in range(30):
        made.upsert(pod(f"p{number}"), None)
    stale = made.take_stale()
    made.upsert(pod("late"), None)

    assert {"uid-c0", "uid-c1"} <= stale
    assert [False, True] == [made.leaves_out(each) for each in carriers]
    assert {broad(0)} == selectors_of(made, "late")


def test_an_older_pod_takes_the_place_of_a_younger_one() -> None:
    young = [replace(apart_from_all(f"y{number}", number), created_at=9) for number in range(2)]
    old = replace(apart_from_all("old", 2), created_at=1)
    made = small_book(*young)
    made.take_stale()

    made.upsert(old, None)
    stale = made.take_stale() | made.take_stale()

    assert [False, True, False] == [made.leaves_out(each) for each in (*young, old)]
    assert "uid-old" in stale


def test_a_selector_counts_as_long_as_a_namespace_has_room_that_carries_it() -> None:
    """The namespace that was first to carry it is not the only one that pays for it."""
    hostile = [apart_from_all(f"h{number}", number) for number in range(9)]
    victim = apart_from_all("v", 0, namespace="other")
    made = small_book(*hostile[:1], victim, *(pod(f"p{number}") for number in range(15)))

    for each in hostile[1:]:
        made.upsert(replace(each, created_at=0), None)
    for _ in range(3):
        made.take_stale()

    assert (True, False) == (made.leaves_out(hostile[-1]), made.leaves_out(victim))
    assert broad(0) in selectors_of(made, "p0")


def test_thousands_of_values_in_thousands_of_namespaces_are_no_million_places() -> None:
    named = frozenset(f"n{number}" for number in range(3_000))
    values = requirement("app", "In", *(f"v{number}" for number in range(3_000)))
    wide = PodSelector((Clause((values,), named),))
    terms = PodAffinity(anti=(AffinityTerm(wide, "zone"),))
    selected = replace(asking(pod("p", namespace="n7"), None, "v9"), namespace="n7")

    def read() -> SelectorMatches:
        return book(carrier(terms), selected)

    calls_of(read).total()

    at_most(3_000, calls_of(read))
    assert {wide} == selectors_of(read(), "p")


def exclusive(job: str) -> PodAffinity:
    """Return what the webhook of JobSet writes into the first pod of a Job."""
    same, other = requirement(JOB, "In", job), requirement(JOB, "NotIn", job)
    return PodAffinity(
        affinity=Affinity(PodSelector((Clause((same,), IN_DEFAULT),)), ("rack",)),
        anti=(
            AffinityTerm(
                PodSelector((Clause((requirement(JOB, "Exists"), other), IN_DEFAULT),)), "rack"
            ),
        ),
    )


@pytest.mark.parametrize("all_ask", [False, True])
def test_a_thousand_exclusive_jobs_of_sixteen_pods_have_room(*, all_ask: bool) -> None:
    """Pods of one Job are compared once: a million comparisons, not sixteen million."""
    jobs, made = [f"j{number}" for number in range(200)], SelectorMatches(MOST_COMPARED // 25)
    pods = [
        replace(
            asking(pod(f"{job}-{i}"), exclusive(job) if all_ask or not i else None),
            labels={JOB: job, "index": f"{i}"},
        )
        for i in range(16)
        for job in jobs
    ]

    def read() -> None:
        for each in pods:
            made.upsert(each, None)
        made.take_stale()

    calls = calls_of(read)

    assert not any(made.leaves_out(each) for each in pods)
    assert calls["pod_affinity.SelectorMatches._selects"] < 1.1 * len(jobs) ** 2
    assert all(len(selectors_of(made, each.name)) == len(jobs) for each in pods)
    assert len({id(made.selectors_matching(each.uid)) for each in pods}) == len(jobs)


@pytest.mark.parametrize("seed", range(12))
def test_the_same_terms_are_left_out_whatever_the_order_in_which_pods_came(seed: int) -> None:
    """As after a restart. Some pods go in between, others come."""
    dice = random.Random(seed)  # noqa: S311 - a reproducible test, no secret.
    carriers = [
        replace(
            apart_from_all(f"c{number}", *dice.sample(range(8), dice.randrange(1, 4))),
            created_at=dice.randrange(5),
        )
        for number in range(12)
    ]
    others = [pod(f"p{number}", labels={"x": f"{number % 3}"}) for number in range(30)]
    gone = dice.sample([*carriers, *others], 12)
    stay = [each for each in (*carriers, *others) if each not in gone]
    left_out = []
    for came in (stay, [*carriers, *others]):
        made = SelectorMatches(100 + 50 * seed)
        for each in dice.sample(came, len(came)):
            made.upsert(each, None)
            if dice.random() < 0.2:
                made.take_stale()
        for each in dice.sample(gone, len(gone)):
            made.delete(each.uid)
        for _ in range(9):
            made.take_stale()
        left_out.append([each.name for each in stay if made.leaves_out(each)])

    assert left_out[0] == left_out[1]


def test_a_new_selector_is_compared_with_many_pods_only_before_the_next_cycle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(affinity_term_budgets, "AT_ONCE", 3)
    made = book(*(pod(f"p{number}") for number in range(8)))
    made.take_stale()

    made.upsert(apart_from_all("c", 0), None)
    before = [len(selectors_of(made, f"p{number}")) for number in range(8)]
    made.delete("uid-p0")
    steps = sum(1 for _ in made.compare_in_steps())

    assert [0] * 8 == before
    assert steps > 1
    assert all({broad(0)} == selectors_of(made, f"p{number}") for number in range(1, 8))
    assert {*(f"uid-p{number}" for number in range(1, 8)), "uid-c"} == made.take_stale()


def test_a_selector_that_no_pod_carries_any_more_is_compared_with_no_pod(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(affinity_term_budgets, "AT_ONCE", 3)
    made = book(*(pod(f"p{number}") for number in range(8)), apart_from_all("c", 0))

    made.delete("uid-c")

    assert 0 == sum(1 for _ in made.compare_in_steps())
