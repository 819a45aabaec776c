"""Situations, explained: the first sentence names the cause, and undoing it starts the gang."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cases.test_cases import Case, expanded
from gang_scheduler.cli import main
from gang_scheduler.model.problems import Reason
from support import listed_clusters

CASES: list[Case] = yaml.safe_load((Path(__file__).parent / "explain-cases.yaml").read_text())
NOT_FROM_MANIFESTS = {
    Reason.INTERNAL_ERROR,
    Reason.SCATTERED,
    Reason.WAITING_FOR_CHECKS,
    Reason.WAITING_FOR_VOLUMES,
}
"""What manifests alone do not bring about, or what keeps no gang waiting."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_first_sentence_names_the_cause(case: Case) -> None:
    found = explained(case["name"], [*expanded(case["manifests"])])

    assert case.get("reason") == found.get("reason")
    assert case.get("summary", found["summary"]) == found["summary"]
    assert [] == [each for each in case.get("says", []) if each not in found["summary"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_gang_starts_once_the_cause_is_undone(case: Case) -> None:
    found = explained(case["name"], [*undone(case)])

    assert "Starts" == found["state"], found["summary"]


def test_there_is_a_situation_for_each_reason() -> None:
    reasons = {Reason(each["reason"]) for each in CASES if "reason" in each}

    assert reasons | NOT_FROM_MANIFESTS == set(Reason)


def undone(case: Case) -> Iterator[Case]:
    """Yield the manifests with those replaced, removed and added that undo the cause."""
    undo = case["undo"]
    new = {identity(each): each for each in expanded(undo.get("set", []))}
    for each in expanded(case["manifests"]):
        if each["metadata"]["name"] not in undo.get("remove", []):
            yield new.pop(identity(each), each)
    yield from new.values()


def identity(manifest: Case) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]


def explained(name: str, manifests: list[Case]) -> Any:
    said = yaml.safe_dump_all(manifests)
    arguments = ["explain", name, "-f", "-", "-o", "yaml"]

    outcome = CliRunner().invoke(main, arguments, input=said)

    assert 0 == outcome.exit_code, outcome.output
    found = yaml.safe_load(outcome.stdout)
    listed_clusters.hold(found)
    return found
