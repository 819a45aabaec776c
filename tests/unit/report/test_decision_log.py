"""What is logged of decisions, and how much of it."""

import json
import logging
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from gang_scheduler.apply.outcomes import GangBinding
from gang_scheduler.model.causes.queues import QuotaShort
from gang_scheduler.model.evictions import Backfilled, EvictionClass
from gang_scheduler.model.plan import (
    Bind,
    GroupRejection,
    Misfit,
    Placed,
    Plan,
    Preemption,
    Refused,
    Shortage,
)
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.decision_log import LINES_A_SECOND, DecisionLog
from gang_scheduler.scheduler.filters import taints
from gang_scheduler.state import pruning
from support.builders import bound_pod, gang, gang_key


@pytest.fixture
def lines() -> Iterator[list[EventDict]]:
    """Give what is logged."""
    with capture_logs() as written:
        yield written


def of(event: str, lines: list[EventDict]) -> list[EventDict]:
    return [each for each in lines if each["event"] == event]


def bound(name: str, *, pods: int = 1) -> GangBinding:
    whole = gang(name, pods=pods)
    binds = tuple(Bind(pod, f"n{i // 2}") for i, pod in enumerate(whole.pending))
    return GangBinding(Placed(whole, binds), "plan", submitted_at=0.0)


def waiting(name: str, reason: Reason = Reason.UNSCHEDULABLE, **fields: Any) -> Refused:
    whole = gang(name)
    return Refused(whole, reason, whole.pending, **fields)


def test_a_bound_gang_is_one_line_with_its_pods_and_nodes(lines: list[EventDict]) -> None:
    DecisionLog({}).bound(bound("a", pods=3))

    (line,) = lines
    assert ("gang_bound", "info", "default/a") == (line["event"], line["log_level"], line["gang"])
    assert (["a-0", "a-1", "a-2"], 3) == (line["pods"], line["pods_in_all"])
    assert ("n[0-1]", 2) == (line["nodes"], line["nodes_in_all"])


def test_a_line_has_ten_names_and_the_number_of_all(lines: list[EventDict]) -> None:
    DecisionLog({}).bound(bound("a", pods=1000))

    (line,) = lines
    assert (10, 1000) == (len(line["pods"]), line["pods_in_all"])
    assert ("n[0-499]", 500) == (line["nodes"], line["nodes_in_all"])


def test_a_preemption_is_one_line_with_its_victims_and_nodes(lines: list[EventDict]) -> None:
    preemptor = gang("a", pods=2)
    binds = tuple(Bind(pod, "n1") for pod in preemptor.pending)
    victims = (bound_pod("x", "n1"), bound_pod("y", "n1"))

    DecisionLog({}).preempting(Preemption((preemptor,), binds, victims))

    (line,) = lines
    assert ("preempting", ["default/a"]) == (line["event"], line["preemptors"])
    assert (["default/x", "default/y"], 2) == (line["victims"], line["victims_in_all"])
    assert "n1" == line["nodes"]


def test_nodes_that_are_no_ranges_are_cut(lines: list[EventDict]) -> None:
    whole = gang("a", pods=100)
    binds = tuple(Bind(pod, f"{'x' * i}-{i}") for i, pod in enumerate(whole.pending, 1))
    DecisionLog({}).bound(GangBinding(Placed(whole, binds), "plan", submitted_at=0.0))

    (line,) = lines
    assert (500, 100) == (len(line["nodes"]), line["nodes_in_all"])


@pytest.mark.parametrize(
    ("classes", "right"),
    [({}, "Priority"), ({gang_key("b"): EvictionClass.RECLAIM}, "Reclaim")],
)
def test_a_gang_that_is_evicted_is_one_line_with_the_right(
    lines: list[EventDict], classes: dict[GangKey, EvictionClass], right: str
) -> None:
    preemption = Preemption((gang("a"),), (), classes=classes)
    pods = [bound_pod("b-0", "n1").pod, bound_pod("b-1", "n2").pod]

    DecisionLog({}).evicted(gang_key("b"), pods, preemption)

    (line,) = lines
    assert ("gang_evicted", "default/b") == (line["event"], line["gang"])
    assert ("default/a", right) == (line["preemptor"], line["right"])
    assert (["b-0", "b-1"], "n[1-2]") == (line["pods"], line["nodes"])


def test_a_gang_that_changes_its_size_is_one_line(lines: list[EventDict]) -> None:
    DecisionLog({}).scaled(gang_key("a"), "ScaledUp", "From 2 to 4 workers of at most 8")

    (line,) = lines
    assert ("gang_scaled", "default/a", "ScaledUp") == (line["event"], line["gang"], line["change"])
    assert "From 2 to 4 workers of at most 8" == line["workers"]


def test_a_gang_that_is_let_pass_says_which_one(lines: list[EventDict]) -> None:
    binding = bound("a")
    binding.placed = replace(binding.placed, backfilled=Backfilled(9, gang_key("b")))
    DecisionLog({}).bound(binding)

    assert ["default/b"] == [line["ahead_of"] for line in lines]


def test_the_kind_of_the_cause_is_a_word_of_its_own(lines: list[EventDict]) -> None:
    decisions = DecisionLog({})
    misfit = Misfit(9, 0, 1, (), shortage=Shortage(taints.obstacle, 9))
    room = waiting("b", misfit=misfit)
    decisions.waits(waiting("a", Reason.WAITING_FOR_QUOTA, cause=QuotaShort("q", "f", "cpu", 2, 1)))
    decisions.waits(room)
    decisions.waits(waiting("c", with_group=GroupRejection("g", "default/b-0", room)))
    decisions.waits(waiting("d"))

    assert ["QuotaShort", "TAINTS", "TAINTS", ""] == [line["cause"] for line in lines]


def test_a_gang_that_waits_is_a_line_only_when_its_reason_changes(lines: list[EventDict]) -> None:
    decisions = DecisionLog({})

    for _ in range(3):
        decisions.waits(waiting("a"))
    decisions.waits(waiting("a", Reason.WAITING_FOR_MEMBERS))
    decisions.waits(waiting("a"))

    expected = ["Unschedulable", "WaitingForMembers", "Unschedulable"]
    assert expected == [each["reason"] for each in of("gang_waits", lines)]
    assert [["a-0"]] * 3 == [each["pods"] for each in lines]


def test_a_gang_that_was_bound_and_waits_again_is_a_line_again(lines: list[EventDict]) -> None:
    decisions = DecisionLog({})

    decisions.waits(waiting("a"))
    decisions.bound(bound("a"))
    decisions.waits(waiting("a"))

    assert ["gang_waits", "gang_bound", "gang_waits"] == [each["event"] for each in lines]


def test_above_a_rate_decisions_are_summed_up_in_one_line(lines: list[EventDict]) -> None:
    decisions = DecisionLog({})

    for i in range(LINES_A_SECOND + 5):
        decisions.bound(bound(f"a{i}", pods=2))
        decisions.waits(waiting(f"b{i}"))
    decisions.sum_up()

    assert LINES_A_SECOND == len(of("gang_bound", lines)) == len(of("gang_waits", lines))
    (more,) = of("more_decisions", lines)
    counts = (more["gangs_bound"], more["pods_bound"], more["waiting_Unschedulable"])
    assert (5, 10, 5) == counts


def test_the_next_second_begins_anew(lines: list[EventDict]) -> None:
    decisions = DecisionLog({})

    for i in range(2 * LINES_A_SECOND):
        decisions.bound(bound(f"a{i}"))
    decisions.sum_up()
    decisions.bound(bound("last"))
    decisions.sum_up()

    assert "gang_bound" == lines[-1]["event"]
    assert "default/last" == lines[-1]["gang"]


def test_reasons_of_gangs_that_are_gone_are_dropped(
    lines: list[EventDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "MOST_GONE", 0)
    decisions = DecisionLog({gang_key("a"): None})

    for name in ("a", "gone-1", "gone-2"):
        decisions.waits(waiting(name))
    decisions.sum_up()
    for name in ("a", "gone-1"):
        decisions.waits(waiting(name))

    assert ["default/a", "default/gone-1", "default/gone-2", "default/gone-1"] == [
        each["gang"] for each in lines
    ]


@pytest.mark.parametrize(("level", "expected"), [(logging.DEBUG, ["a", "b"]), (logging.INFO, [])])
def test_at_level_debug_every_verdict_of_every_cycle_is_a_line(
    lines: list[EventDict],
    caplog: pytest.LogCaptureFixture,
    level: int,
    expected: list[str],
) -> None:
    caplog.set_level(level, logger="gang_scheduler")
    plan = Plan(placed=(bound("a").placed,), refused=(waiting("b"),))

    DecisionLog({}).verdicts(plan)

    assert [f"default/{name}" for name in expected] == [each["gang"] for each in lines]


def test_a_line_names_the_queue_where_there_are_queues(lines: list[EventDict]) -> None:
    queue = QueueRef(QueueKind.QUEUE, "team-a")
    binding, refusal = bound("a"), waiting("b")
    binding.placed = replace(binding.placed, gang=replace(binding.gang, queue=queue))
    decisions = DecisionLog({})
    decisions.bound(binding)
    decisions.waits(replace(refusal, gang=replace(refusal.gang, queue=queue)))
    decisions.waits(waiting("c"))

    assert ["team-a", "team-a", None] == [line.get("queue") for line in lines]


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_the_page_asks_the_log_for_what_happened_to_one_gang(lines: list[EventDict]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text()
    (program,) = re.findall(r"jq -Rr --arg gang research/llama '(.*?)' log", page, re.DOTALL)
    log = DecisionLog({})
    log.waits(waiting("a"))
    log.waits(waiting("a-2"))
    log.bound(bound("a"))
    log.bound(bound("a-2"))
    victim, preemptor = gang("a"), gang("b")
    for gangs in ((preemptor,), (victim,)):
        log.preempting(Preemption(gangs, (), ()))
    log.evicted(victim.key, [bound_pod("p", "n").pod], Preemption((preemptor,), (), ()))
    written = [json.dumps({**each, "timestamp": f"{i}"}) for i, each in enumerate(lines)]

    asked = ["jq", "-Rr", "--arg", "gang", "default/a", program]
    text = "\n".join(["Traceback:", *written, "{half a line"])
    found = subprocess.run(asked, input=text, capture_output=True, text=True, check=True)

    told = [each.split("  ") for each in found.stdout.splitlines()]
    assert ["gang_waits", "gang_bound", "preempting", "gang_evicted"] == [each[1] for each in told]
    assert "Unschedulable" in told[0]
    assert ["default/b", "Priority"] == told[3][2:]
