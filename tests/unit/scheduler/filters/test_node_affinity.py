"""nodeSelector and required node affinity, operator by operator."""

import numpy as np
import pytest

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import NodeTerm, Requirement
from gang_scheduler.scheduler.filters import node_affinity
from support.builders import node, pod_class, requirement

NODES = NodeTable(
    [
        node("n1", labels={"zone": "a", "size": "5"}),
        node("n2", labels={"zone": "b", "size": "10"}),
        node("n3", labels={"size": "large", "empty": ""}),
    ]
)


def allowed(asked: PodClass) -> list[str]:
    verdicts = node_affinity.passes(asked, NODES)
    return [each.name for each, ok in zip(NODES.nodes, verdicts, strict=True) if ok]


def by(*terms: NodeTerm) -> list[str]:
    return allowed(pod_class(affinity=terms))


def test_a_pod_that_asks_for_nothing_goes_anywhere() -> None:
    assert ["n1", "n2", "n3"] == allowed(pod_class())


@pytest.mark.parametrize(
    ("selector", "nodes"),
    [
        ({"zone": "a"}, ["n1"]),
        ({"zone": "a", "size": "10"}, []),
        ({"zone": "b", "size": "10"}, ["n2"]),
        ({"zone": ""}, []),
        ({"empty": ""}, ["n3"]),
        ({"unknown": "x"}, []),
    ],
)
def test_all_labels_of_a_selector_must_be_there(selector: dict[str, str], nodes: list[str]) -> None:
    assert nodes == allowed(pod_class(selector=selector))


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        (requirement("zone", "In", "a"), ["n1"]),
        (requirement("zone", "In", "a", "b", "c"), ["n1", "n2"]),
        (requirement("zone", "In"), []),
        (requirement("unknown", "In", "a"), []),
        (requirement("zone", "NotIn", "a"), ["n2", "n3"]),
        (requirement("unknown", "NotIn", "a"), ["n1", "n2", "n3"]),
        (requirement("zone", "Exists"), ["n1", "n2"]),
        (requirement("empty", "Exists"), ["n3"]),
        (requirement("zone", "DoesNotExist"), ["n3"]),
        (requirement("unknown", "DoesNotExist"), ["n1", "n2", "n3"]),
        (requirement("size", "Gt", "5"), ["n2"]),
        (requirement("size", "Gt", "-1"), ["n1", "n2"]),
        (requirement("size", "Lt", "10"), ["n1"]),
        (requirement("size", "Lt", "9"), ["n1"]),
        (requirement("size", "Gt", "large"), []),
        (requirement("size", "Gt", "1", "2"), []),
        (requirement("size", "Lt"), []),
        (requirement("zone", "Lt", "10"), []),
        (requirement("unknown", "Gt", "1"), []),
        (requirement("metadata.name", "In", "n2", "n9", on_field=True), ["n2"]),
        (requirement("metadata.name", "NotIn", "n2", on_field=True), ["n1", "n3"]),
    ],
)
def test_an_operator_means_what_it_means_to_kubernetes(
    wanted: Requirement, nodes: list[str]
) -> None:
    assert nodes == by((wanted,))


@pytest.mark.parametrize(
    ("size", "bound", "greater"),
    [
        (str(2**63 - 1), str(2**63 - 2), True),
        (str(2**63), "1", False),
        ("1", str(2**63), False),
        ("0" * 40 + "2", "1", True),
    ],
)
def test_what_is_compared_fits_64_bits(size: str, bound: str, *, greater: bool) -> None:
    nodes = NodeTable([node("n1", labels={"size": size})])
    wanted = pod_class(affinity=((requirement("size", "Gt", bound),),))

    assert [greater] == node_affinity.passes(wanted, nodes).tolist()


def test_requirements_of_a_term_must_all_hold() -> None:
    assert ["n2"] == by((requirement("zone", "Exists"), requirement("size", "Gt", "5")))


def test_terms_are_alternatives() -> None:
    in_a, large = requirement("zone", "In", "a"), requirement("size", "In", "large")

    assert ["n1", "n3"] == by((in_a,), (large,))


def test_an_empty_term_matches_nothing() -> None:
    assert [] == by(())
    assert ["n1"] == by((), (requirement("zone", "In", "a"),))


def test_no_terms_match_nothing() -> None:
    assert [] == by()


def test_selector_and_affinity_must_both_hold() -> None:
    exists = requirement("zone", "Exists")

    assert ["n2"] == allowed(pod_class(selector={"size": "10"}, affinity=((exists,),)))
    assert [] == allowed(pod_class(selector={"size": "large"}, affinity=((exists,),)))


def test_the_reason_is_kube_schedulers() -> None:
    rejected = np.array([True, False, True])

    found = node_affinity.reasons(pod_class(), NODES, rejected)

    assert {"node(s) didn't match Pod's node affinity/selector": 2} == found
