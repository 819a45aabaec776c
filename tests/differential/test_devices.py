"""Devices and selectors beside those of Kubernetes. `make differential-devices` is the long one."""

import pytest

from differential import devices
from support.selector_answers import ANSWERS, DEVICES

pytestmark = pytest.mark.e2e

WORLDS = 300
WORDS = {True: "yes", False: "no"}


def test_devices_are_those_that_kube_scheduler_would_take() -> None:
    report = devices.compare(range(WORLDS))

    print("\n".join(report.lines()))
    assert [] == report.faults
    # Both find devices, and both find none, often enough to tell one from the other.
    assert report.outcomes["kube-scheduler: found, here: Found"] > WORLDS // 10
    assert report.outcomes["kube-scheduler: none, here: NoFit"] > WORLDS // 10
    cut = sum(count for said, count in report.outcomes.items() if said.endswith("here: Cut"))
    assert cut < WORLDS // 20


def test_the_table_of_selectors_has_the_answers_of_kubernetes() -> None:
    with devices.running() as allocator:
        found = {
            text: said(allocator.ask({"expression": text, "devices": list(DEVICES)}))
            for text in ANSWERS
        }

    assert found == ANSWERS


def said(answer: devices.Json) -> str:
    """Return an answer as the table has it."""
    if answer.get("error"):
        return "bad"
    return " ".join(
        "error" if each.get("error") else WORDS[each["value"]] for each in answer["matches"]
    )
