"""Dashboards and alerts: they can be read, are explained, and say the same everywhere."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from gang_scheduler.cli import kubectl_gang
from support import yaml_texts
from tools.chart import CHART
from tools.dashboards import queries, scheduler, training_jobs
from tools.dashboards.queries import Query

DOCS: Final = Path(__file__).parents[3] / "docs"
ALERTS: Final = {rule["alert"]: rule for rule in queries.alerts()}
THRESHOLD: Final = re.compile(r"> ([0-9.]+)$")


def panels(text: str) -> list[dict[str, Any]]:
    return [each for each in json.loads(text)["panels"] if each["type"] != "row"]


@pytest.mark.parametrize("text", [training_jobs.text(), scheduler.text()])
def test_panels_have_different_titles_and_explanations_and_lie_side_by_side(text: str) -> None:
    made = panels(text)
    taken = [
        (x, y)
        for each in made
        for x in range(each["gridPos"]["x"], each["gridPos"]["x"] + each["gridPos"]["w"])
        for y in range(each["gridPos"]["y"], each["gridPos"]["y"] + each["gridPos"]["h"])
    ]

    assert len(made) == len({each["title"] for each in made}) == len({each["id"] for each in made})
    assert all(each["description"].endswith(".") and each["targets"] for each in made)
    assert len(taken) == len(set(taken))
    assert all(x < 24 for x, _ in taken)


def test_the_data_source_and_queues_can_be_chosen() -> None:
    jobs, operators = json.loads(training_jobs.text()), json.loads(scheduler.text())

    def variables(made: dict[str, Any]) -> list[str]:
        return [each["name"] for each in made["templating"]["list"]]

    assert (["datasource", "queue"], ["datasource"]) == (variables(jobs), variables(operators))
    for each in [*panels(training_jobs.text()), *panels(scheduler.text())]:
        assert {"type": "prometheus", "uid": "${datasource}"} == each["datasource"]


@pytest.mark.parametrize(
    "query", [*queries.of_dashboards(), *queries.of_alerts()], ids=lambda each: each.where
)
def test_every_query_is_promql(query: Query) -> None:
    assert query.metrics


def test_a_query_that_is_no_promql_is_found() -> None:
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        _ = Query("a panel", "sum by (pgs_leader").metrics


@pytest.mark.parametrize("rule", ALERTS.values(), ids=list(ALERTS))
def test_an_alert_says_what_it_means_and_where_to_read_on(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]

    assert {"summary", "description", "runbook"} == set(notes)
    assert f"docs/runbooks.md#{rule['alert'].lower()}" == notes["runbook"]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_every_alert_has_its_runbook_with_all_parts() -> None:
    sections = re.split(r"^## ", (DOCS / "runbooks.md").read_text(), flags=re.MULTILINE)[1:]
    parts = ["**Means**", "**First look**", "**What to do**", "**Escalate**"]

    assert list(ALERTS) == [each.partition("\n")[0] for each in sections]
    for each in sections:
        assert parts == [part for part in parts if part in each]


def test_every_alert_has_a_row_with_its_time_and_severity() -> None:
    rows = re.findall(
        r"^\| \[(\w+)\]\(runbooks\.md#(\w+)\) \| .* \| (.*) \| (\w+) \|$",
        (DOCS / "monitoring.md").read_text(),
        re.MULTILINE,
    )
    minutes = {f"{number}m": f"{number} min" for number in (1, 2, 5, 10, 15, 30)}
    times = {**minutes, "30s": "30 s", "0s": "at once"}

    assert [
        (name, name.lower(), times[rule["for"]], rule["labels"]["severity"])
        for name, rule in ALERTS.items()
    ] == rows


def test_the_values_of_the_chart_are_those_of_the_rules() -> None:
    values = yaml_texts.read((CHART / "values.yaml").read_text())["alerts"]["rules"]

    assert list(ALERTS) == list(values)
    for name, rule in ALERTS.items():
        said = {"for": rule["for"], "severity": rule["labels"]["severity"]}
        if "threshold" in values[name]:
            found = THRESHOLD.search(rule["expr"])
            assert found
            said["threshold"] = float(found[1])
        assert said == values[name]


def test_panels_and_dashboards_that_runbooks_name_are_there() -> None:
    named = re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", (DOCS / "runbooks.md").read_text())
    every = [training_jobs.text(), scheduler.text()]
    titles = {each["title"] for text in every for each in panels(text)}

    assert named
    assert set() == {" ".join(each.split()) for each in named} - titles - {
        json.loads(text)["title"] for text in every
    }


def test_commands_in_runbooks_are_understood() -> None:
    text = " ".join((DOCS / "runbooks.md").read_text().split())
    commands = [each.split() for each in re.findall(r"`kubectl gang ([^`]+)`", text)]

    assert commands
    for name, *arguments in commands:
        command = kubectl_gang.group.loaded(name)
        # Raises where an option is not there, or an argument is one too many.
        command.make_context(name, arguments)
