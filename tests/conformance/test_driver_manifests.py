"""Examples of drivers of devices, as they stand, on nodes with devices as these drivers publish.

`driver-cases.yaml` says which devices each claim gets, or why a pod waits.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance import driver_slices
from gang_scheduler.cli import main
from support import yaml_texts

HERE = Path(__file__).parent
DATA = yaml_texts.read((HERE / "driver-cases.yaml").read_text())
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": driver_slices.NODE},
    "status": {
        "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
Case = dict[str, Any]


def simulated(case: Case) -> Case:
    """Return what `simulate` says of a manifest."""
    manifest = (HERE / "drivers" / f"{case['file']}.yaml").read_text()
    published = yaml_texts.written_all([NODE, *driver_slices.PUBLISHED[case["publishes"]]()])
    arguments = ["simulate", "-f", "-", "-o", "json"]
    outcome = CliRunner().invoke(main, arguments, input=f"{published}\n---\n{manifest}")
    assert 0 == outcome.exit_code, outcome.output
    found: Case = json.loads(outcome.stdout)
    return found


@pytest.mark.parametrize("case", [pytest.param(each, id=each["file"]) for each in DATA["cases"]])
def test_claims_get_devices_or_the_pod_says_why_not(case: Case) -> None:
    found = simulated(case)

    assert case.get("devices", {}) == {
        each["pod"]: {
            entry: [device["device"] for device in claim["devices"]]
            for entry, claim in each["claims"].items()
        }
        for each in found["bindings"]
    }
    waiting = {pod: each["message"] for each in found["unschedulable"] for pod in each["pods"]}
    assert case.get("waiting", {}).keys() == waiting.keys()
    for pod, words in case.get("waiting", {}).items():
        assert words in waiting[pod]


def test_every_manifest_has_a_case_and_an_origin() -> None:
    files = sorted(each.stem for each in (HERE / "drivers").glob("*.yaml"))

    assert files == sorted(case["file"] for case in DATA["cases"])
    assert {case["from"].split()[0] for case in DATA["cases"]} == DATA["origins"].keys()
