"""Selectors and pods find each other without going through all."""

import random
from dataclasses import replace

import pytest

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import Clause, PodSelector, Requirement
from gang_scheduler.state.selector_entries import LEAST, MOST_PLACES, PODS_A_COMPARISON, Alike
from gang_scheduler.state.selector_index import SelectorIndex
from support.builders import pod, requirement

X = frozenset({"x"})
IN_APP = requirement("app", "In", "a", "b")


def selecting(*labels: Requirement, names: frozenset[str] = X) -> PodSelector:
    return PodSelector((Clause(labels, names),))


def anywhere(*labels: Requirement) -> PodSelector:
    return PodSelector((Clause(labels, frozenset(), ()),))


SELECTORS = [
    selecting(),
    selecting(IN_APP),
    selecting(IN_APP, names=frozenset({"x", "y"})),
    selecting(requirement("app", "Exists"), requirement("tier", "NotIn", "1")),
    selecting(requirement("app", "In", "a"), requirement("tier", "In", "1", "2")),
    anywhere(),
    anywhere(IN_APP),
    PodSelector((Clause((), frozenset({"x", "y"})), Clause((IN_APP,), X))),
    PodSelector((Clause((IN_APP,), X), Clause((), frozenset({"y"})))),
    selecting(names=frozenset()),
]


class Known:
    """Pods and selectors, and what has been compared."""

    def __init__(self, *pods: Pod) -> None:
        self.pods = {each.uid: each for each in pods}
        self.compared = 0
        self.index = SelectorIndex(self.pods, self._selects, lambda _: None)

    def _selects(self, selector: PodSelector, alike: Alike) -> bool:
        self.compared += 1
        return selector.selects(alike.namespace, alike.labels, {}, deleting=alike.deleting)

    def add(self, *selectors: PodSelector, owner: str = "x") -> None:
        """Add selectors, and compare them."""
        for each in selectors:
            self.index.add(each, owner)
        while self.index.has_work:
            self.index.work(3)

    def put(self, after: Pod | None, uid: str = "") -> None:
        """Add or replace a pod; None removes that of a uid."""
        before = self.pods.pop(after.uid if after else uid, None)
        if after is not None:
            self.pods[after.uid] = after
        self.index.pod_moved(before, after)

    def found(self, selector: PodSelector) -> set[str]:
        """Return the uids of the pods that a selector selects."""
        return {uid for uid in self.pods if selector in self.of(uid)}

    def of(self, uid: str) -> set[PodSelector]:
        """Return the selectors that select a pod."""
        return {found for each in self.index.alike.get(uid, ()) for found in each.selectors}


def test_a_selector_is_compared_only_where_it_may_select_a_pod() -> None:
    known = Known()
    known.add(selecting(IN_APP))

    for number, each in enumerate(
        (
            pod("p", namespace="x", labels={"app": "a"}),
            pod("p", namespace="y", labels={"app": "a"}),
            pod("p", namespace="x", labels={"app": "c"}),
            pod("p", namespace="x"),
        )
    ):
        known.put(replace(each, uid=f"{number}"))

    assert ({"0"}, 1) == (known.found(selecting(IN_APP)), known.compared)


def test_a_selector_of_one_value_each_is_compared_only_with_pods_of_these() -> None:
    known = Known(
        *(pod(f"p{i}", namespace="x", labels={"app": "a", "n": str(i)}) for i in range(99))
    )
    app = requirement("app", "In", "a")
    selectors = [selecting(app, requirement("n", "In", str(i))) for i in range(99)]
    known.add(*selectors)
    known.put(pod("late", namespace="x", labels={"app": "a", "n": "7"}))

    assert 99 == known.compared
    assert {"uid-p7", "uid-late"} == known.found(selectors[7])


def test_pods_that_look_alike_are_compared_once() -> None:
    pods = [pod(f"p{i}", namespace="x", labels={"app": "a", "n": str(i)}) for i in range(20)]
    known = Known(*pods[:10])
    known.add(selecting(requirement("app", "NotIn", "b")))
    for each in pods[10:]:
        known.put(each)

    assert 1 == known.compared
    assert 20 == len(known.found(selecting(requirement("app", "NotIn", "b"))))


def test_what_is_taken_out_selects_no_new_pod() -> None:
    known = Known(pod("p", namespace="x", labels={"app": "a"}))
    known.add(*SELECTORS)
    for each in SELECTORS[1:]:
        known.index.remove(each, "x")
    known.put(pod("q", namespace="x", labels={"app": "q"}))

    assert (1, True) == (len(known.index), SELECTORS[0] in known.index)
    assert SELECTORS[1] not in known.index
    assert {SELECTORS[0]} == known.of("uid-q")


def test_what_is_taken_out_at_once_selects_no_pod_any_more() -> None:
    known = Known(pod("p", namespace="x", labels={"app": "a"}))
    known.add(selecting(), selecting(IN_APP))

    known.index.remove(selecting(IN_APP), "x", at_once=True)
    later = known.index.remove(selecting(), "x")
    assert [*known.index.clear_away(0)]

    assert later > 0
    assert set() == known.found(selecting(IN_APP))


@pytest.mark.parametrize("seed", range(20))
def test_all_pods_that_a_selector_selects_are_found(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a reproducible test, no secret.
    known = Known()
    held: dict[PodSelector, str] = {}
    for step in range(60):
        selector = dice.choice(SELECTORS)
        if selector not in held:
            held[selector] = dice.choice("xy")
            known.index.add(selector, held[selector])
            known.index.work(dice.randrange(3))
        elif dice.random() < 0.5:
            known.index.remove(selector, held.pop(selector))
        labels = {"app": dice.choice("abc"), "tier": dice.choice("123"), "n": str(step)}
        some = dice.sample(sorted(labels), dice.randrange(4))
        uid = f"uid-p{dice.randrange(12)}"
        after = pod(
            "p", uid=uid, namespace=dice.choice("xy"), labels={key: labels[key] for key in some}
        )
        known.put(after if dice.random() < 0.8 else None, uid)
        known.index.work(dice.randrange(3))
    known.add()

    for each in held:
        assert {uid for uid, pod in known.pods.items() if selects(each, pod)} == known.found(each)
    # What they count as depends on what is there, and not on how it came.
    again = Known(*known.pods.values())
    for each, owner in sorted(held.items(), key=lambda item: repr(item[0])):
        again.add(each, owner=owner)
    assert [known.index.compared(each) for each in "xy"] == [
        again.index.compared(each) for each in "xy"
    ]
    for each, owner in held.items():
        known.index.remove(each, owner)
    assert [0, 0] == [known.index.compared(each) for each in "xy"]


def test_a_selector_of_any_value_is_compared_only_with_pods_that_have_the_label() -> None:
    others = [pod(f"o{number}", namespace="x") for number in range(5)]
    known = Known(*others, *(pod(n, namespace="x", labels={"app": n}) for n in "ab"))
    other_app = selecting(requirement("app", "Exists"), requirement("app", "NotIn", "a"))

    known.add(other_app)

    assert ({"uid-b"}, 2) == (known.found(other_app), known.compared)
    assert [] == [*known.index.alike.get(others[0].uid, ())]


def test_comparisons_count_for_each_namespace_that_carries_the_selector() -> None:
    number = PODS_A_COMPARISON
    known = Known(*(pod(f"p{each}", namespace="x") for each in range(number)))

    known.add(selecting(), owner="y")
    known.add(selecting(), owner="z")
    there = [known.index.compared(each) for each in "xyz"]
    removed = known.index.remove(selecting(), "y")

    # One comparison, as many for the pods of another namespace, filing each, and a new label.
    each = LEAST + 1 + number + number + 1
    assert [0, each, each] == there
    assert (each, 0, each) == (removed, known.index.compared("y"), known.index.compared("z"))


def test_pods_of_the_namespace_itself_count_as_little() -> None:
    number = 4 * PODS_A_COMPARISON
    known = Known(*(pod(f"p{each}", namespace="x") for each in range(number)))

    known.add(selecting(), owner="x")
    known.add(selecting(), owner="y")

    assert number * 3 // 4 <= known.index.compared("y") - known.index.compared("x") < number


def test_a_selector_that_names_very_much_counts_as_more_and_has_few_places() -> None:
    named = frozenset(f"n{number}" for number in range(MOST_PLACES + 1))
    values = [f"v{number}" for number in range(MOST_PLACES + 1)]
    there = pod("p", namespace="n3", labels={"app": "v7"})
    costs = []
    for namespaces, several in ((named, values), (named, values[:1]), (X, values)):
        known = Known(there, replace(there, uid="q", namespace="x"))
        wide = selecting(requirement("app", "In", "v7", *several), names=namespaces)
        known.add(wide)
        assert {"q" if namespaces is X else "uid-p"} == known.found(wide)
        costs.append(known.index.compared("x") // LEAST)

    assert [1, 2, 1] == costs


def selects(selector: PodSelector, each: Pod) -> bool:
    return selector.selects(each.namespace, each.labels, {}, deleting=False)
