"""Pods of each selector are counted node by node, and always equal a count from scratch."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.selectors import AffinityTerm, FewNodes, PodSelector, column_of
from gang_scheduler.state import pod_affinity
from gang_scheduler.state.nodes import NodeUsage
from gang_scheduler.state.pod_affinity import FEW_NODES
from support.builders import node, pod, pod_class
from support.selector_builders import apart_from, app, beside

NAMES = ["n1", "n2", "n3"]


def room() -> NodeUsage:
    made = NodeUsage()
    for name in NAMES:
        made.upsert_node(node(name, cpu=99))
    return made


def selected(name: str, *by: str, avoids: str = "") -> Pod:
    asked = pod_class(cpu=1)
    selected_by = frozenset(app(each) for each in by)
    pod_affinity = apart_from(avoids) if avoids else None
    return replace(
        pod(name), pod_class=replace(asked, selected_by=selected_by, pod_affinity=pod_affinity)
    )


def present(made: NodeUsage, *pod_classes: PodClass) -> dict[PodSelector, list[int]]:
    return {
        key: column_of(column).tolist()
        for key, column in made.affinity_counts(pod_classes).present.items()
    }


def avoiding(made: NodeUsage, *pod_classes: PodClass) -> dict[AffinityTerm, list[int]]:
    return {
        key: column_of(column).tolist()
        for key, column in made.affinity_counts(pod_classes).avoiding.items()
    }


WANTS_A, WANTS_B = (replace(pod_class(), pod_affinity=beside(name)) for name in "ab")
A_MEANS_IT = replace(pod_class(), selected_by=frozenset({app("a")}))


def test_only_what_is_asked_for_is_in_columns() -> None:
    made = room()
    made.add(selected("p", "a", "c"), "n2")
    made.add(selected("q", "a"), "n2")

    assert ({app("a"): [0, 2, 0]}, {}) == (present(made, WANTS_A), present(made, WANTS_B))
    assert ({}, {}) == (present(made, A_MEANS_IT), avoiding(made, WANTS_A))


def test_only_pods_that_avoid_such_a_pod_are_in_columns() -> None:
    made = room()
    made.add(selected("p", avoids="a"), "n1")
    made.add(selected("q", avoids="b"), "n1")

    (term,) = apart_from("a").anti
    assert {term: [1, 0, 0]} == avoiding(made, A_MEANS_IT)


def test_no_pod_is_counted_after_it_left() -> None:
    made = room()
    made.add(selected("p", "a", avoids="a"), "n1")
    made.remove("uid-p", "n1")

    assert ({}, {}) == (present(made, WANTS_A), avoiding(made, A_MEANS_IT))


def test_a_node_that_is_not_there_has_no_row() -> None:
    made = room()
    made.add(selected("p", "a"), "n1")
    made.add(selected("q", "a"), "gone")
    made.delete_node("n2")

    assert {app("a"): [1, 0]} == present(made, WANTS_A)


def test_a_pod_that_is_enriched_anew_uses_what_it_did() -> None:
    made = room()
    made.add(selected("p", "a"), "n1")
    before = made.free().tolist()

    made.reclassify(selected("p", "b"), "n1")

    assert (before, {}) == (made.free().tolist(), present(made, WANTS_A))
    assert {app("b"): [1, 0, 0]} == present(made, WANTS_B)
    made.remove("uid-p", "n1")
    assert ({}, {}) == (present(made, WANTS_B), made.held())


@pytest.mark.parametrize("few", [0, 2, 64])
@pytest.mark.parametrize("seed", range(10))
def test_counts_always_equal_a_count_from_scratch(
    seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_affinity, "FEW_NODES", few)
    dice = random.Random(seed)  # noqa: S311 - a reproducible test, no secret.
    made, there = room(), dict[str, tuple[Pod, str]]()
    for step in range(200):
        # Nodes that are gone come with other names each time.
        gone = f"gone-{step // 20}"
        name, where = f"p{dice.randrange(9)}", dice.choice([*NAMES, *NAMES, gone])
        by = dice.sample("abc", dice.randrange(4))
        known = there.pop(f"uid-{name}", None)
        if known is not None and dice.random() < 0.5:
            made.remove(known[0].uid, known[1])
        elif known is not None:
            selected_by = frozenset(app(each) for each in by)
            other = replace(
                known[0], pod_class=replace(known[0].pod_class, selected_by=selected_by)
            )
            made.reclassify(other, known[1])
            there[other.uid] = (other, known[1])
        else:
            added = selected(name, *by, avoids=dice.choice(["", "a", "b"]))
            made.add(added, where)
            there[added.uid] = (added, where)
        if step % 10 == 0:
            present(made, WANTS_A)

    of_selectors: Counter[tuple[PodSelector, str]] = Counter()
    of_terms: Counter[tuple[AffinityTerm, str]] = Counter()
    for each, where in [(each, where) for each, where in there.values() if where in NAMES]:
        of_selectors.update((key, where) for key in each.pod_class.selected_by)
        of_terms.update(
            (key, where)
            for key in (each.pod_class.pod_affinity.anti if each.pod_class.pod_affinity else ())
        )
    everything = [
        replace(pod_class(), pod_affinity=beside(x), selected_by=frozenset({app(x)})) for x in "abc"
    ]
    for selector, column in present(made, *everything).items():
        assert [of_selectors.pop((selector, where), 0) for where in NAMES] == column
    for term, column in avoiding(made, *everything).items():
        assert [of_terms.pop((term, where), 0) for where in NAMES] == column
    assert not of_selectors
    assert not of_terms


def test_pods_on_many_nodes_are_counted_without_going_through_their_names() -> None:
    made = NodeUsage()
    for number in range(FEW_NODES + 2):
        made.upsert_node(node(f"n{number}"))
    for number in range(FEW_NODES + 1):
        made.add(selected(f"p{number}", "a"), f"n{number}")
    made.add(selected("q", "b"), "n1")

    counts = made.affinity_counts([WANTS_A, WANTS_B]).present

    assert [1] * (FEW_NODES + 1) + [0] == column_of(counts[app("a")]).tolist()
    assert [False, True] == [isinstance(counts[app(name)], FewNodes) for name in "ab"]
    few = counts[app("b")]
    assert isinstance(few, FewNodes)
    assert ((1,), (1,)) == (few.rows, few.counts)
    assert column_of(few) is column_of(few)
