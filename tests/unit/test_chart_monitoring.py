"""What helm makes of alerts and dashboards. Skipped where helm would have to be built."""

import json
import os
import subprocess
from typing import Any

import pytest

from gang_scheduler.inspection import live
from support import yaml_texts
from tools.chart import CHART
from tools.controlplane import binaries
from tools.dashboards import queries

pytestmark = pytest.mark.skipif(not binaries.found("helm"), reason="make binaries BINARIES=helm")

Manifest = dict[str, Any]


def helm(*values: str) -> subprocess.CompletedProcess[str]:
    """Render the chart with these values."""
    flags = [f"--set={each}" for each in ("image.repository=registry.example.com/a", *values)]
    return subprocess.run(
        [binaries.find("helm"), "template", "gangs", str(CHART), *flags],
        env={**os.environ, "KUBECONFIG": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )


def rendered(kind: str, *values: str) -> list[Manifest]:
    done = helm(*values)
    assert 0 == done.returncode, done.stderr
    made = [each for each in yaml_texts.read_all(done.stdout) if each and each["kind"] == kind]
    return [each for each in made if each["metadata"]["name"] != live.NAME]


def rules(*values: str) -> dict[str, Manifest]:
    (rule,) = rendered("PrometheusRule", "alerts.enabled=true", *values)
    (group,) = rule["spec"]["groups"]
    return {each["alert"]: each for each in group["rules"]}


def test_alerts_and_dashboards_are_there_on_demand() -> None:
    assert [] == rendered("PrometheusRule") == rendered("ConfigMap")


def test_the_alerts_are_those_of_the_file() -> None:
    assert queries.alerts() == list(rules().values())


def test_values_change_an_alert_or_leave_it_out() -> None:
    changed = rules(
        "alerts.rules.GangsLate=null",
        "alerts.rules.BindingsFailing.threshold=0.25",
        "alerts.rules.QueueStarving.threshold=7200",
        "alerts.rules.WatchStale.for=10m",
        "alerts.rules.WatchStale.severity=critical",
        "alerts.runbooks=https://wiki.example.com/gangs",
    )

    assert {each["alert"] for each in queries.alerts()} - {"GangsLate"} == set(changed)
    assert changed["BindingsFailing"]["expr"].endswith(" > 0.25")
    assert changed["QueueStarving"]["expr"].endswith(" > 7200")
    stale = changed["WatchStale"]
    assert ("10m", "critical") == (stale["for"], stale["labels"]["severity"])
    assert "https://wiki.example.com/gangs#watchstale" == stale["annotations"]["runbook_url"]


def test_a_runbook_url_is_a_url_or_is_not_there() -> None:
    given = rules("alerts.runbooks=https://wiki.example.com/gangs")

    for name, rule in rules().items():
        assert "runbook_url" not in rule["annotations"]
        assert f"docs/runbooks.md#{name.lower()}" == rule["annotations"]["runbook"]
        url = given[name]["annotations"]["runbook_url"]
        assert f"https://wiki.example.com/gangs#{name.lower()}" == url


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("alerts.runbooks=docs/runbooks.md", "/alerts/runbooks"),
        ("alerts.rules.WatchStall.for=1m", "'WatchStall' not allowed"),
        ("alerts.rules.TwoLeaders.threshold=2", "'threshold' not allowed"),
        ("alerts.rules.WatchStale.threshold=long", "/alerts/rules/WatchStale/threshold"),
        ("alerts.rules.WatchStale.severity=page", "value must be one of 'critical', 'warning'"),
        ("alerts.enabled=true,metrics.service.enabled=false", "alerts.enabled needs metrics."),
    ],
)
def test_a_wrong_value_is_refused_by_name(value: str, words: str) -> None:
    assert words in helm(value).stderr


def test_dashboards_are_installed_as_they_are_for_the_sidecar() -> None:
    folder = "dashboards.annotations.grafana_folder=Scheduling"
    made = rendered("ConfigMap", "dashboards.enabled=true", folder)
    installed = {name: text for each in made for name, text in each["data"].items()}
    files = {path.name: path.read_text() for path in queries.DASHBOARDS.glob("*.json")}

    assert {name: json.loads(text) for name, text in files.items()} == {
        name: json.loads(text) for name, text in installed.items()
    }
    assert {"1"} == {each["metadata"]["labels"]["grafana_dashboard"] for each in made}
    assert {"Scheduling"} == {each["metadata"]["annotations"]["grafana_folder"] for each in made}
    assert len(made) == len({each["metadata"]["name"] for each in made})
