"""The worked cases of queues, through `simulate`: quota, order, eviction, suspended Jobs."""

import json

import pytest
from click.testing import CliRunner

from conformance import queue_manifests, queue_verdicts
from conformance.queue_manifests import Case
from gang_scheduler.cli import main
from support import yaml_texts


@pytest.mark.parametrize("case", queue_manifests.DATA["cases"], ids=lambda case: case["id"])
def test_case(case: Case) -> None:
    said = yaml_texts.written_all(list(queue_manifests.manifests(case)))
    arguments = ["simulate", "-f", "-", "-o", "json", "--at", queue_manifests.at(0)]
    arguments += [str(each) for each in case.get("args", [])]

    outcome = CliRunner().invoke(main, arguments, input=said)

    assert case["expect"].get("exit", 0) == outcome.exit_code, outcome.output
    if not outcome.exit_code:
        assert [] == list(queue_verdicts.faults(case, json.loads(outcome.stdout)))
