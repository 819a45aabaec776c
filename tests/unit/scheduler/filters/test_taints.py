"""Hard taints must be tolerated."""

import numpy as np
import pytest

from gang_scheduler.model.nodes import NodeTable, Taint, Toleration
from gang_scheduler.scheduler.filters import taints
from support.builders import node, pod_class, taint
from support.call_counts import calls_of

INFRA = "dedicated=infra:NoSchedule"


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("dedicated", "Equal", "infra", "NoSchedule"), True),
        (Toleration("dedicated", "Equal", "infra"), True),
        (Toleration("dedicated", "Equal", "other"), False),
        (Toleration("dedicated", "Equal"), False),
        (Toleration("dedicated", "Exists"), True),
        (Toleration("dedicated", "Exists", "", "NoExecute"), False),
        (Toleration("other", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", "", "NoSchedule"), True),
        (Toleration("", "Exists", "", "NoExecute"), False),
    ],
)
def test_a_toleration_means_what_it_means_to_kubernetes(
    toleration: Toleration, *, tolerated: bool
) -> None:
    assert tolerated == taints.tolerated([toleration], taint(INFRA))


def test_a_taint_without_value_is_tolerated_by_an_equal_without_value() -> None:
    assert taints.tolerated([Toleration("spot")], taint("spot:NoSchedule"))


@pytest.mark.parametrize(
    ("operator", "asked", "has", "tolerated"),
    [
        ("Lt", "10", "9", True),
        ("Lt", "10", "10", False),
        ("Lt", "10", "11", False),
        ("Gt", "10", "11", True),
        ("Gt", "10", "10", False),
        ("Gt", "-10", "-9", True),
        ("Gt", "0", "1", True),
        ("Lt", "9223372036854775807", "-9223372036854775808", True),
        ("Lt", "9223372036854775808", "1", False),
        ("Gt", "9" * 5000, "1", False),
        ("Gt", "05", "6", False),
        ("Gt", "5", "06", False),
        ("Gt", "+5", "6", False),
        ("Gt", "-0", "6", False),
        ("Gt", "5", "six", False),
        ("Gt", "5", "", False),
        ("Lt", "", "5", False),
        ("Lt", "5 ", "4", False),
    ],
)
def test_taints_are_compared_as_integers_in_their_plain_form(
    operator: str, asked: str, has: str, *, tolerated: bool
) -> None:
    toleration = Toleration("sla", operator, asked)

    assert tolerated == taints.tolerated([toleration], Taint("sla", has))


def test_one_of_several_tolerations_is_enough() -> None:
    asked = [Toleration("other", "Exists"), Toleration("dedicated", "Exists")]

    assert taints.tolerated(asked, taint(INFRA))


@pytest.mark.parametrize(
    ("node_taints", "passes"),
    [
        ([], True),
        ([INFRA], False),
        (["dedicated=infra:NoExecute"], False),
        (["dedicated=infra:PreferNoSchedule"], True),
        (["dedicated=infra:PreferNoSchedule", "spot:NoExecute"], False),
    ],
)
def test_only_hard_taints_refuse(node_taints: list[str], *, passes: bool) -> None:
    table = NodeTable([node("n1", taints=node_taints)])

    assert [passes] == taints.passes(pod_class(), table).tolist()


def test_every_hard_taint_must_be_tolerated() -> None:
    table = NodeTable([node("n1", taints=[INFRA]), node("n2", taints=[INFRA, "spot:NoExecute"])])
    asked = pod_class(tolerations=[Toleration("dedicated", "Exists")])

    assert [True, False] == taints.passes(asked, table).tolist()


def test_no_nodes_pass_where_there_are_none() -> None:
    assert [] == taints.passes(pod_class(), NodeTable([])).tolist()


def test_the_reason_names_the_first_untolerated_taint() -> None:
    tainted = ["soft:PreferNoSchedule", INFRA, "spot:NoExecute"]
    table = NodeTable(
        [node("n1", taints=tainted), node("n2", taints=[INFRA]), node("n3", taints=tainted[2:])]
    )

    found = taints.reasons(pod_class(), table, np.array([True, True, True]))

    expected = {
        "node(s) had untolerated taint {dedicated: infra}": 2,
        "node(s) had untolerated taint {spot: }": 1,
    }
    assert expected == found


def test_only_rejected_nodes_are_counted() -> None:
    table = NodeTable([node("n1", taints=[INFRA]), node("n2", taints=[INFRA])])

    found = taints.reasons(pod_class(), table, np.array([False, True]))

    assert {"node(s) had untolerated taint {dedicated: infra}": 1} == found


def dedicated(number: int) -> NodeTable:
    """Return nodes that all have another taint."""
    return NodeTable([node(f"n{i}", taints=[f"for=team-{i}:NoSchedule"]) for i in range(number)])


def test_a_toleration_is_compared_only_with_taints_that_it_may_be_for() -> None:
    asked = pod_class(tolerations=[Toleration("for", value=f"team-{i}") for i in range(50)])

    calls = calls_of(lambda: taints.passes(asked, dedicated(500)))

    assert 50 == calls["taints._tolerates"]


def test_the_taints_of_most_nodes_are_named_and_the_others_counted() -> None:
    table = dedicated(taints.MOST_NAMED + 5)
    rejected = np.ones(len(table), dtype=np.bool_)

    found = taints.reasons(pod_class(), table, rejected)

    assert len(table) == found.total()
    assert 5 == found["node(s) had other untolerated taints"]
    assert taints.MOST_NAMED + 1 == len(found)
