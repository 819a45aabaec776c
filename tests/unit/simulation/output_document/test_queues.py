"""Queues as `simulate` writes them, from figures."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import QueueFigures
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.simulation import output_document
from support.queue_figures import IMPLIED_ROOT, TEAM_A, TEAM_B, TREE, UNUSED_ROOT, X, Y

INVALID = Problem(Reason.INVALID_SPEC, InvalidInput("spec.quota.hard is below spec.quota.soft"))


def row(figures: QueueFigures) -> Any:
    (found,) = output_document.queue_rows([figures])
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
    assert {X: 1, Y: 2} == output_document.places(TREE)


def test_a_root_is_below_no_queue() -> None:
    assert row(IMPLIED_ROOT)["parent"] is None


def test_an_implied_queue_is_listed_only_if_something_uses_it() -> None:
    assert [] == output_document.queue_rows([UNUSED_ROOT])


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
