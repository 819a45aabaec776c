"""Queues as `simulate` writes them, from figures."""

import io
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from rich.console import Console

from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import Amounts, FlavorResource, QueueFigures
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.values import StopPolicy
from gang_scheduler.simulation.output import queues
from support.queue_figures import IMPLIED_ROOT, TEAM_A, TEAM_B, TREE, UNUSED_ROOT, X, Y, queue, ref

INVALID = Problem(Reason.INVALID_SPEC, InvalidInput("spec.quota.hard is below spec.quota.soft"))


def page(*figures: QueueFigures, most: int = 40) -> str:
    """Return the table as text, without the empty line before it."""
    written = io.StringIO()
    console = Console(width=200, file=written)
    for part in queues.tables(figures, most):
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines()[1:])


def row(figures: QueueFigures) -> Any:
    (found,) = queues.rows([figures])
    return found


def test_a_queue_in_the_document_has_its_figures_as_kubernetes_writes_them() -> None:
    assert {
        "queue": "team-a",
        "kind": "Queue",
        "parent": "root",
        "active": True,
        "reason": "Ready",
        "weight": 1,
        "resources": [
            {
                "flavor": "default",
                "resource": "cpu",
                "nominal": "6",
                "used": "8",
                "borrowed": "2",
                "lent": "0",
                "fairShare": "7",
            },
            {
                "flavor": "default",
                "resource": "memory",
                "nominal": "0",
                "used": "1536Mi",
                "borrowed": "0",
                "lent": "0",
                "fairShare": "0",
            },
        ],
        "share": 0.166667,
        "running": 2,
        "pending": [],
    } == row(TEAM_A)


def test_gangs_that_wait_are_in_the_order_of_turns() -> None:
    assert ["default/x", "default/y"] == row(TEAM_B)["pending"]
    assert {X: 1, Y: 2} == queues.places(TREE)


def test_a_root_is_below_no_queue() -> None:
    assert row(IMPLIED_ROOT)["parent"] is None


def test_an_implied_queue_is_listed_only_if_something_uses_it() -> None:
    assert [] == queues.rows([UNUSED_ROOT])


def test_an_infinite_share_is_null_and_a_broken_weight_is_a_number() -> None:
    odd = replace(TEAM_A, share=None, queue=replace(TEAM_A.queue, weight=Fraction(1, 2)))

    assert (None, 0.5) == (row(odd)["share"], row(odd)["weight"])


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        (replace(TEAM_A, problem=INVALID), "InvalidSpec"),
        (replace(TEAM_A, queue=replace(TEAM_A.queue, stop=StopPolicy.HOLD)), "Stopped"),
    ],
)
def test_a_queue_that_admits_nothing_is_not_active(figures: QueueFigures, reason: str) -> None:
    assert (False, reason) == (row(figures)["active"], row(figures)["reason"])


def test_people_see_the_tree() -> None:
    expected = """\
QUEUE      RESOURCE   NOMINAL     USED   BORROWED   LENT   FAIR SHARE   SHARE   RUNNING   PENDING
root       cpu             12      9.5          0      0           12       0         3         2
  team-a   cpu              6        8          2      0            7   0.167         2         0
           memory           0   1.5Gi          0      0            0
  team-b   cpu              6      1.5          0      2          4.5       0         1         2
"""
    assert expected.split() == page(*TREE).split()
    assert [line[:10] for line in expected.splitlines()] == [
        line[:10] for line in page(*TREE).splitlines()
    ]


def test_without_queues_there_is_no_table() -> None:
    assert "" == page()


def test_many_queues_are_counted() -> None:
    assert page(*TREE, most=2).endswith("and 1 more queue (-o wide)\n")


def test_a_flavor_is_named_before_its_resource() -> None:
    spot = replace(TEAM_A, amounts={FlavorResource("spot", "cpu"): Amounts(used=500)})

    assert "spot/cpu" in page(spot)


def test_queues_in_a_cycle_are_shown_as_invalid() -> None:
    a, b = QueueFigures(queue("a", ref("b")), {}), QueueFigures(queue("b", ref("a")), {})
    lines = page(*(replace(each, problem=INVALID) for each in (a, b))).splitlines()

    assert ["a (InvalidSpec)", "b (InvalidSpec)"] == [line[:15] for line in lines[1:]]
