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
from gang_scheduler.scheduler.quorums import Quorums
from support import listed_clusters

CASES: list[Case] = yaml.safe_load((Path(__file__).parent / "explain-cases.yaml").read_text())
NOT_FROM_MANIFESTS = {
    Reason.INTERNAL_ERROR,
}
"""What no manifest brings about: a test of its own has it."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_first_sentence_names_the_cause(case: Case) -> None:
    found = explained(case["name"], [*expanded(case["manifests"])])

    assert case.get("reason") == found.get("reason")
    assert case.get("summary", found["summary"]) == found["summary"]
    assert [] == [each for each in case.get("says", []) if each not in found["summary"]]
    assert case.get("names", "") in found["summary"]
    assert case.get("warns", []) == [each["reason"] for each in found.get("warnings", [])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_gang_starts_once_the_cause_is_undone(case: Case) -> None:
    found = explained(case["name"], [*undone(case)])

    assert "Starts" == found["state"], found["summary"]


def test_there_is_a_situation_for_each_reason() -> None:
    reasons = {Reason(each["reason"]) for each in CASES if "reason" in each}
    warned = {Reason(reason) for each in CASES for reason in each.get("warns", [])}

    assert reasons | warned | NOT_FROM_MANIFESTS == set(Reason)


def test_an_error_of_the_scheduler_is_said_to_be_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    node = {"kind": "Node", "name": "n", "allocatable": {"cpu": 4}}
    manifests = [*expanded([node, {"kind": "Pod", "name": "a", "requests": {"cpu": 1}}])]

    def fail(*_: object) -> None:
        raise ZeroDivisionError("seven")

    with monkeypatch.context() as broken:
        broken.setattr(Quorums, "in_any_order", fail)
        found = explained("a", manifests)

    assert Reason.INTERNAL_ERROR.value == found["reason"]
    assert found["summary"].startswith("The scheduler failed on it, which is a bug: ")
    assert "Starts" == explained("a", manifests)["state"]


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
