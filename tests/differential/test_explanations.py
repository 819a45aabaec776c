"""What kube-scheduler says is read as it is meant, and differences are explained or not."""

from collections import Counter

import pytest

from differential import explanations, oracle
from differential.explanations import Difference
from differential.oracle import Verdict
from differential.ours import Opinion

TAINT = "node(s) had untolerated taint {example.com/reserved: team-a}"
CORDON = "node(s) were unschedulable"
NAMES = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
FEATURES = "node(s) didn't match Pod's required features"
ZONE = "node(s) had no available volume zone"
SPACE, NONE_LEFT = explanations.LACKING
CPU, MEMORY = "Insufficient cpu", "Insufficient memory"


def difference(
    node: str = "",
    *,
    ours: str = "",
    if_ready: str = "",
    reasons: dict[str, int] | None = None,
    theirs: str = "",
    their_reasons: dict[str, int] | None = None,
    wholly: str = "",
    claims: int = 0,
) -> Difference:
    """Return a difference; nodes that pass are letters."""
    opinion = Opinion(frozenset(ours), frozenset(if_ready or ours), Counter(reasons), ())
    verdict = Verdict(frozenset(theirs), Counter(their_reasons), wholly)
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {}} for i in range(claims)]
    pod = {"metadata": {"name": "a"}, "spec": {"volumes": volumes}}
    return Difference(1, pod, (), node, opinion, verdict)


def test_reasons_are_read_with_their_numbers() -> None:
    message = f"0/9 nodes are available: 2 {CPU}, 3 node(s) had a, b and {{c: d}}, 4 {MEMORY}."

    expected = {CPU: 2, "node(s) had a, b and {c: d}": 3, MEMORY: 4}
    assert (Counter(expected), "") == oracle.read(message)


@pytest.mark.parametrize(
    "words", ['persistentvolumeclaim "a" not found', "pod affinity terms conflict"]
)
def test_what_keeps_a_pod_from_all_nodes_has_no_number(words: str) -> None:
    assert (Counter(), words) == oracle.read(f"0/9 nodes are available: {words}.")
    assert (Counter(), words) == oracle.read(f"0/9 nodes are available: {words}. not found")


def test_a_node_that_is_not_ready_is_refused_by_us_alone() -> None:
    assert "node is not ready" == explanations.explain(
        difference("b", ours="a", if_ready="ab", theirs="ab")
    )


@pytest.mark.parametrize(
    "fault",
    [
        difference("b", ours="a", theirs="ab"),
        difference("b", ours="ab", theirs="a"),
        difference("b", ours="ab", if_ready="ab", theirs="a"),
        difference("b", ours="ab", theirs="a", claims=2, their_reasons={ZONE: 1}),
        difference("b", ours="ab", theirs="a", claims=1, their_reasons={NONE_LEFT: 1}),
        difference("b", ours="a", theirs="ab", claims=2, their_reasons={NONE_LEFT: 1}),
    ],
)
def test_another_node_on_which_both_differ_is_a_fault(fault: Difference) -> None:
    assert explanations.explain(fault) is None


def test_a_claim_that_takes_any_volume_chooses_last() -> None:
    found = difference("b", ours="ab", theirs="a", claims=2, their_reasons={NONE_LEFT: 1})

    assert "claims find volumes" == explanations.explain(found)


@pytest.mark.parametrize(("pod", "expected"), [("b", "their filter fails"), ("a", None)])
def test_a_claim_that_is_not_its_pods_holds_up_no_other_pod(pod: str, expected: str | None) -> None:
    words = f"PVC default/{pod}-v was not created for pod default/{pod} (pod is not owner)"
    found = difference("c", ours="c", wholly=f'running "NodeVolumeLimits" filter plugin: {words}')

    assert expected == explanations.explain(found)


def test_we_name_the_taint() -> None:
    found = difference(
        reasons={TAINT: 2, TAINT.replace("team-a", ""): 1, CPU: 1},
        their_reasons={explanations.THEIR_TAINT: 3, CPU: 1},
    )

    assert "taint is named" == explanations.explain(found)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({CORDON: 1, SELECTOR: 8}, "pod affinity terms conflict"),
        (
            {CORDON: 1, 'persistentvolumeclaim "a" not found': 8},
            'persistentvolumeclaim "a" not found',
        ),
    ],
)
def test_we_say_of_each_node_what_is_wrong_with_the_pod(ours: dict[str, int], theirs: str) -> None:
    assert "whole pod is refused" == explanations.explain(difference(reasons=ours, wholly=theirs))


def test_another_thing_that_is_wrong_with_a_pod_is_a_fault() -> None:
    found = difference(reasons={CPU: 9}, wholly='persistentvolumeclaim "a" not found')

    assert explanations.explain(found) is None


def test_we_say_in_the_order_of_filters_why_a_node_is_not_the_one_that_is_named() -> None:
    found = difference(reasons={CORDON: 1, SELECTOR: 7, CPU: 1}, their_reasons={NAMES: 8, CPU: 1})

    assert "nodes are named" == explanations.explain(found)


def test_we_look_at_what_is_fixed_of_a_node_before_what_pods_use() -> None:
    found = difference(
        reasons={FEATURES: 4, ZONE: 1, CPU: 1}, their_reasons={FEATURES: 2, CPU: 3, MEMORY: 1}
    )

    assert "other filter comes first" == explanations.explain(found)


def test_of_two_claims_either_may_be_named() -> None:
    found = difference(reasons={SPACE: 3, CPU: 1}, their_reasons={SPACE: 1, NONE_LEFT: 2, CPU: 1})

    assert "other claim comes first" == explanations.explain(found)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({CPU: 2}, {CPU: 1}),
        ({CPU: 2}, {MEMORY: 2}),
        ({TAINT: 2}, {explanations.THEIR_TAINT: 1}),
        ({CORDON: 1, CPU: 2}, {NAMES: 1, CPU: 3}),
        ({FEATURES: 2, CPU: 3}, {FEATURES: 1, CPU: 2}),
        ({FEATURES: 2, CPU: 1}, {ZONE: 2, CPU: 1}),
        ({SPACE: 2}, {SPACE: 1, CPU: 1}),
    ],
)
def test_other_words_are_a_fault(ours: dict[str, int], theirs: dict[str, int]) -> None:
    assert explanations.explain(difference(reasons=ours, their_reasons=theirs)) is None
