"""The alerts, judged by promtool: each of them fires when it must, and only then."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tools.controlplane import binaries
from tools.dashboards import queries

CASES: Final[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())
SEVERITIES: Final = {rule["alert"]: rule["labels"]["severity"] for rule in queries.alerts()}


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run promtool; its output is what it says of both streams."""
    return subprocess.run(
        [binaries.find("promtool"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def cases_of(alert: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of an alert as promtool reads them."""
    for fires in ("fires", "silent"):
        for name, case in CASES[alert][fires].items():
            series = [{"series": key, "values": each} for key, each in case["series"].items()]
            firing = f'ALERTS{{alertname="{alert}", alertstate="firing"}}'
            expected = [_sample(alert, case)] if fires == "fires" else []
            look = {"expr": firing, "eval_time": case["at"], "exp_samples": expected}
            yield {
                "name": name,
                "interval": "30s",
                "input_series": series,
                "promql_expr_test": [look],
            }


def _sample(alert: str, case: dict[str, Any]) -> dict[str, Any]:
    labels = {
        "alertname": alert,
        "alertstate": "firing",
        "severity": SEVERITIES[alert],
        **case.get("labels", {}),
    }
    inside = ", ".join(f'{name}="{value}"' for name, value in labels.items())
    return {"labels": f"ALERTS{{{inside}}}", "value": 1}


def test_the_rules_are_clean() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", queries.ALERTS)

    assert 0 == done.returncode, done.stdout


def test_every_alert_has_a_case_that_fires_and_one_that_must_not() -> None:
    assert list(SEVERITIES) == list(CASES)
    assert all(each["fires"] and each["silent"] for each in CASES.values())


@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_when_it_must_and_only_then(alert: str, tmp_path: Path) -> None:
    written = {
        "rule_files": [str(queries.ALERTS)],
        "evaluation_interval": "30s",
        "tests": list(cases_of(alert)),
    }
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump(written))
    done = promtool("test", "rules", file)

    assert 0 == done.returncode, done.stdout
