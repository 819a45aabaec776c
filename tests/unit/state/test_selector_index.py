"""Selectors and pods find each other without going through all."""

import random
from collections.abc import Callable

import pytest

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import Clause, PodSelector, Requirement
from gang_scheduler.state.selector_index import FEW, LEAST, PODS_A_COMPARISON, SelectorIndex
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


def known(*pods: Pod) -> tuple[dict[str, Pod], SelectorIndex]:
    by_uid = {each.uid: each for each in pods}
    return by_uid, SelectorIndex(by_uid)


def found(index: SelectorIndex, selector: PodSelector) -> set[str]:
    return {*index.uids_for(selector)}


def test_a_selector_is_not_looked_for_where_it_selects_no_pod() -> None:
    _, index = known()
    index.add(selecting(IN_APP), "x")

    looked_at = [
        [*index.selectors_for(each)]
        for each in (
            pod("p", namespace="x", labels={"app": "a"}),
            pod("p", namespace="y", labels={"app": "a"}),
            pod("p", namespace="x", labels={"app": "c"}),
            pod("p", namespace="x"),
        )
    ]

    assert [[selecting(IN_APP)], [], [], []] == looked_at


def test_pods_are_looked_for_by_a_label_that_few_others_ask_for() -> None:
    pods = [pod(f"p{i}", namespace="x", labels={"app": "a", "n": str(i)}) for i in range(99)]
    _, index = known(*pods)
    app = requirement("app", "In", "a")
    selectors = [selecting(app, requirement("n", "In", str(i))) for i in range(99)]
    for each in selectors:
        index.add(each, "x")

    # The first few do not need it.
    assert [99, 1] == [len(found(index, each)) for each in (selectors[0], selectors[-1])]
    assert FEW + 1 == len([*index.selectors_for(pods[-1])])


def test_what_is_taken_out_is_found_no_more() -> None:
    _, index = known(pod("p", namespace="x", labels={"app": "a"}))
    for each in SELECTORS:
        index.add(each, "x")
    for each in SELECTORS[1:]:
        index.remove(each)

    assert (1, True, False) == (len(index), SELECTORS[0] in index, SELECTORS[1] in index)
    assert [SELECTORS[0]] == [*index.selectors_for(pod("p", namespace="x"))]


@pytest.mark.parametrize("seed", range(20))
def test_all_pods_that_a_selector_selects_are_found(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a reproducible test, no secret.
    pods, index = known()
    held: list[PodSelector] = []
    for step in range(60):
        selector = dice.choice(SELECTORS)
        if selector not in held:
            held.append(selector)
            index.add(selector, dice.choice("xy"))
        elif dice.random() < 0.5:
            held.remove(selector)
            index.remove(selector)
        uid = f"uid-p{dice.randrange(12)}"
        labels = {"app": dice.choice("abc"), "tier": dice.choice("123"), "n": str(step)}
        some = dice.sample(sorted(labels), dice.randrange(4))
        after = pod(
            "p", uid=uid, namespace=dice.choice("xy"), labels={key: labels[key] for key in some}
        )
        before = pods.pop(uid, None)
        if dice.random() < 0.8:
            pods[uid] = after
        index.pod_moved(before, pods.get(uid))
        assert sum(map(counted_as(index), held)) == index.compared.total()

    for each in held:
        selected = {uid for uid, pod in pods.items() if selects(each, pod)}
        assert selected <= found(index, each)
    for there in pods.values():
        assert {s for s in held if selects(s, there)} <= {*index.selectors_for(there)}


def counted_as(index: SelectorIndex) -> Callable[[PodSelector], int]:
    """Return how many comparisons a selector counts as; a cluster of few pods is set up at once."""
    return lambda selector: LEAST + index.number_for(selector)


def test_a_selector_of_any_value_is_compared_only_with_pods_that_have_the_label() -> None:
    others = [pod(f"o{number}", namespace="x") for number in range(5)]
    _, index = known(*others, *(pod(n, namespace="x", labels={"app": n}) for n in "ab"))
    other_app = selecting(requirement("app", "Exists"), requirement("app", "NotIn", "a"))

    index.add(other_app, "x")

    assert {"uid-a", "uid-b"} == found(index, other_app)
    assert [] == [*index.selectors_for(others[0])]


def test_comparisons_count_for_the_namespace_that_carries_the_selector() -> None:
    pods = [pod(f"p{number}", namespace="x") for number in range(PODS_A_COMPARISON)]
    _, index = known(*pods)

    index.add(selecting(), "y")
    index.add(selecting(requirement("app", "NotIn", "a")), "z")
    there = dict(index.compared)
    index.pod_moved(pods[0], None)
    removed = index.remove(selecting())

    # Filing the first selector of a label reads all pods.
    each = LEAST + PODS_A_COMPARISON
    assert {"y": each + 1, "z": each} == there
    assert (("y", each), {"z": each - 1}) == (removed, dict(index.compared))


def selects(selector: PodSelector, each: Pod) -> bool:
    return selector.selects(each.namespace, each.labels, {}, deleting=False)
