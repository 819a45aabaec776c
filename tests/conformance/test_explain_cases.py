"""Situations, explained: the first sentence names the cause, and undoing it starts the gang."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cases.test_cases import Case, expanded
from gang_scheduler.cli import main
from gang_scheduler.model.reasons import Reason
from gang_scheduler.scheduler.quorums import Quorums
from support import listed_clusters, yaml_texts

CASES: list[Case] = yaml_texts.read((Path(__file__).parent / "explain-cases.yaml").read_text())
NOT_FROM_MANIFESTS = {
    Reason.INTERNAL_ERROR,
    Reason.SET_ASIDE,
    Reason.WAITING_FOR_PROVISIONING,
    Reason.WAITING_FOR_CHECKPOINT,
    Reason.WAITING_FOR_CLAIMS,
    Reason.WAITING_FOR_DEVICES,
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

    assert "Starts" == found["verdict"], found["summary"]


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
    assert "Starts" == explained("a", manifests)["verdict"]


def test_a_gang_that_nodes_are_bought_for_names_the_request(tmp_path: Path) -> None:
    named = {"py-gang-scheduler.io/provisioning-class": "atomic"}
    manifests: list[Case] = [
        {"kind": "Node", "name": "n", "allocatable": {"cpu": 1}},
        {"kind": "PodGroup", "name": "a", "metadata": {"annotations": named}, "minMember": 1},
        {"kind": "Pod", "name": "a", "gang": "a", "requests": {"cpu": 2}},
    ]
    plain, snapshot = tmp_path / "m.yaml", tmp_path / "s.jsonl"
    plain.write_text(yaml_texts.written_all(expanded(manifests)))
    CliRunner().invoke(main, ["snapshot", "-f", str(plain), "-o", str(snapshot)])
    header, *others = snapshot.read_text().splitlines()
    switched_on = json.loads(header)
    switched_on["profile"]["provisioning_requests"] = True
    snapshot.write_text("\n".join([json.dumps(switched_on), *others, ""]))

    explained = CliRunner().invoke(main, ["explain", "a", "-f", str(snapshot)])
    listed = CliRunner().invoke(main, ["list", "-f", str(snapshot)])

    said = " ".join(explained.output.split())
    assert "It waits for nodes that are bought: nodes are asked for by" in said
    assert "ProvisioningRequest pgs-" in said
    assert "WaitingForProvisioning" in listed.output


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
    said = yaml_texts.written_all(manifests)
    arguments = ["explain", name, "-f", "-", "-o", "yaml"]

    outcome = CliRunner().invoke(main, arguments, input=said)

    assert 0 == outcome.exit_code, outcome.output
    found = yaml_texts.read(outcome.stdout)
    listed_clusters.hold(found)
    return found
