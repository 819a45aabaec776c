"""The worked cases of queues, through `simulate`: quota, borrowing, flavors, order, eviction."""

import json

import pytest
import yaml
from click.testing import CliRunner

from conformance import queue_manifests, queue_verdicts
from conformance.queue_manifests import Case
from gang_scheduler.cli import main

LATER = {"suspended"}
"""What cases need that is not built: suspended Jobs."""
NEEDS = (("quota",), ("reclaim",), ("reservation",), ("reclaim", "reservation"))
BUILT = [case for needs in NEEDS for case in queue_manifests.cases(*needs)]


@pytest.mark.parametrize("case", BUILT, ids=lambda case: case["id"])
def test_case(case: Case) -> None:
    said = yaml.safe_dump_all(list(queue_manifests.manifests(case)))
    arguments = ["simulate", "-f", "-", "-o", "json", "--at", queue_manifests.at(0)]
    arguments += [str(each) for each in case.get("args", [])]

    outcome = CliRunner().invoke(main, arguments, input=said)

    assert case["expect"].get("exit", 0) == outcome.exit_code, outcome.output
    if not outcome.exit_code:
        assert [] == list(queue_verdicts.faults(case, json.loads(outcome.stdout)))


def test_the_other_cases_need_what_is_not_built() -> None:
    others = [case for case in queue_manifests.DATA["cases"] if case not in BUILT]

    assert (106, 1) == (len(BUILT), len(others))
    assert [] == [case["id"] for case in others if not LATER & {*case["needs"]}]
