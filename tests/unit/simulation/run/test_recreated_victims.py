"""Victims that come back, as their controllers would create them again."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.cli import main
from gang_scheduler.simulation import run
from support.api_objects import node_body, pod_body, pod_group_body

AT = "2026-01-01T11:00:00Z"


def gang(name: str, *, priority: int = 0, node: str = "", **body: Any) -> list[dict[str, Any]]:
    """Return a gang of two pods of two CPUs each."""
    placed: dict[str, Any] = {"nodeName": node} if node else {}
    status = {"phase": "Running", "startTime": AT} if node else {}
    made = [pod_group_body(name, min_member=2, **body)]
    for number in range(2):
        pod = pod_body(f"{name}-{number}", gang=name, priority=priority, status=status, **placed)
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "2"}
        made.append(pod)
    return made


FULL = [
    node_body("n1", allocatable={"cpu": 4, "pods": 110}),
    *gang("low", node="n1"),
    *gang("high", priority=9),
]
SETTLED = ("--until-settled", "--recreate-victims")


def asked(documents: list[dict[str, Any]], *flags: str) -> Result:
    arguments = ["simulate", "-f", "-", "-o", "json", *flags]
    return CliRunner().invoke(main, arguments, input="\n---\n".join(map(json.dumps, documents)))


def decided(documents: list[dict[str, Any]], *flags: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked(documents, *flags).stdout)
    return found


def test_victims_wait_again_for_room() -> None:
    found = decided(FULL, *SETTLED)

    assert ["default/low"] == [each["gang"] for each in found["unschedulable"]]
    assert ["default/high-0", "default/high-1"] == [each["pod"] for each in found["bindings"]]
    assert {"default/low": 1, "default/high": 0} == {
        each["gang"]: each["evictions"] for each in found["gangs"]
    }


def test_a_gang_that_was_evicted_starts_again_elsewhere() -> None:
    tall = gang("tall", priority=10)
    for pod in tall[1:]:
        pod["spec"]["nodeSelector"] = {"on": "n2"}
    n2 = node_body("n2", allocatable={"cpu": 4, "pods": 110}, metadata={"labels": {"on": "n2"}})

    found = decided([*FULL[:1], n2, *gang("low", node="n2"), *tall], *SETTLED)

    assert [] == found["unschedulable"]
    assert {"default/low-0": "n1", "default/low-1": "n1"} == {
        each["pod"]: each["node"]
        for each in found["bindings"]
        if each["pod"].startswith("default/low")
    }


def test_without_the_flag_victims_are_gone_and_nothing_is_counted() -> None:
    found = decided(FULL, "--until-settled")

    assert [] == found["unschedulable"]
    assert all("evictions" not in each for each in found["gangs"])


def test_victims_come_back_between_cycles_alone() -> None:
    refused = asked(FULL, "--recreate-victims")

    assert 2 == refused.exit_code
    assert "add --until-settled" in refused.output


@pytest.mark.parametrize(("most", "code"), [(2, 3), (3, 0)])
def test_what_does_not_settle_ends_and_says_so(most: int, code: int) -> None:
    with patch.object(run, "MOST_CYCLES", most):
        outcome = asked(FULL, *SETTLED)

    assert code == outcome.exit_code
    assert ("not settled after" in outcome.output) is bool(code)
    assert json.loads(outcome.stdout)["bindings"]
