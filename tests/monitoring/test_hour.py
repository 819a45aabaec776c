"""An hour that is played in half a minute: every panel and alert shows what its story implies."""

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from gang_scheduler import __version__
from gang_scheduler.telemetry.metrics import TABLE
from monitoring.hour.clock import BEGAN_AT, ENDS_AT, MINUTE
from monitoring.prometheus_server import Prometheus
from tools.controlplane import binaries, directories
from tools.controlplane.processes import Processes
from tools.dashboards import queries

pytestmark = pytest.mark.timeout(600)

TESTS: Final = Path(__file__).parents[1]
SAID: Final[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "hour.yaml").read_text())
RULES: Final = {rule["alert"]: rule for rule in queries.alerts()}
ASKED: Final = [*queries.of_dashboards()]
PANELS: Final = [*dict.fromkeys(each.where for each in ASKED)]
SCRAPE_SECONDS: Final = 15
OF_A_SCRAPE: Final = {"__name__", "job", "instance", "namespace"}
UNITS: Final = {"s": 1, "m": MINUTE}
EXACTLY: Final = 1e-6
"""As exactly as numbers come through Prometheus."""
WITHOUT_LABELS: Final = "all"
Shown = dict[str, float]


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Give a Prometheus that has scraped the hour."""
    written = tmp_path_factory.mktemp("hour") / "scrapes.txt"
    run([sys.executable, "-m", "monitoring.hour", str(written)])
    processes = Processes(*directories.create())
    try:
        # A series that is not scraped any more is gone, as after a live scrape without it.
        gone = f"--query.lookback-delta={SCRAPE_SECONDS + 1}s"
        server = Prometheus(processes, (), gone, "--storage.tsdb.retention.time=100y")
        blocks = ["tsdb", "create-blocks-from", "openmetrics", str(written), str(server.data)]
        run([str(binaries.find("promtool")), *blocks])
        with server:
            yield server
    finally:
        processes.close()


def run(command: list[str]) -> None:
    """Run a command where modules of the tests are found; show what it says if it fails."""
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout[-5000:] + done.stderr[-5000:]


def shown_at(hour: Prometheus, expression: str, minute: float) -> Shown:
    """Return the values of all series of an expression at a minute, but for those that are none.

    A quantile of nothing is no number, and no panel draws it.
    """
    found = hour.query(expression, BEGAN_AT + minute * MINUTE)
    values = {named(each["metric"]): float(each["value"][1]) for each in found}
    return {key: each for key, each in values.items() if not math.isnan(each)}


def named(labels: Mapping[str, str]) -> str:
    """Return what a series is called in hour.yaml."""
    own = [f"{key}={labels[key]}" for key in sorted(labels.keys() - OF_A_SCRAPE)]
    return " ".join(own) or WITHOUT_LABELS


def check(hour: Prometheus, expression: str, said: dict[Any, Any]) -> None:
    """Hold an expression against what is said of it."""
    off = float(said.get("within", EXACTLY))
    for minute, series in said.items():
        if not isinstance(minute, int):
            continue
        expected = {
            key.replace("VERSION", __version__): float(Fraction(str(each)))
            for key, each in series.items()
        }
        found = shown_at(hour, expression, minute)
        if "only" in said:
            found = {key: each for key, each in found.items() if key in expected}
        assert pytest.approx(expected, rel=EXACTLY, abs=off) == found, f"at minute {minute}"


def test_each_panel_and_alert_is_reckoned() -> None:
    counts = {panel: sum(each.where == panel for each in ASKED) for panel in PANELS}

    assert {panel: len(said) for panel, said in SAID["panels"].items()} == counts
    assert list(RULES) == list(SAID["alerts"])
    every = [each for said in SAID["panels"].values() for each in said]
    assert all(series for each in every for key, series in each.items() if isinstance(key, int))


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_shows_what_the_story_implies(hour: Prometheus, panel: str) -> None:
    of_panel = [each.expression for each in ASKED if each.where == panel]
    for expression, said in zip(of_panel, SAID["panels"][panel], strict=True):
        check(hour, expression, said)


@pytest.mark.parametrize("alert", RULES)
def test_an_alert_says_and_does_what_the_story_implies(hour: Prometheus, alert: str) -> None:
    said, rule = SAID["alerts"][alert], RULES[alert]
    check(hour, rule["expr"], said)

    waits = float(rule["for"][:-1]) * UNITS[rule["for"][-1]]
    assert {*said["fires"]} == {*fired(hour, rule["expr"], waits)}


def fired(hour: Prometheus, expression: str, waits: float) -> Iterator[str]:
    """Yield the series that were there for so many seconds without a break."""
    end = BEGAN_AT + ENDS_AT * MINUTE
    for each in hour.over(expression, BEGAN_AT, end, SCRAPE_SECONDS):
        since = before = -SCRAPE_SECONDS
        for at, _ in each["values"]:
            since = since if at - before == SCRAPE_SECONDS else at
            before = at
            if at - since >= waits:
                yield named(each["metric"])
                break


def test_every_metric_of_the_table_is_there_with_its_labels(hour: Prometheus) -> None:
    for metric in TABLE:
        names = f'{{__name__=~"{metric.name}(_bucket|_sum|_count)?"}}'
        found = hour.series(names, BEGAN_AT)
        assert found, metric.name
        for each in found:
            declared = {*metric.label_names}
            own = each.keys() - OF_A_SCRAPE - {"le"}
            # Gangs without a queue have none in the label, which is as if it were not there.
            assert declared - {"queue"} <= own <= declared, each
