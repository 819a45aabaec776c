"""The report is one file that asks no host for anything, and what users wrote is text in it."""

import re
from html.parser import HTMLParser
from typing import Any

import jsonschema

from gang_scheduler.replay import document, html, side_by_side, table
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given
from support.listed_clusters import SCHEMAS
from support.replays import trace
from support.yaml_texts import read

ROWS = [
    f"job<{number}>,{number * 30},400,2,8,{'red' if number % 2 else 'blue'}" for number in range(9)
]


def compared(*policies: str) -> dict[str, Any]:
    """Return the document of some policies."""
    jobs = trace(*ROWS, header="name,submit,duration,pods,gpu,queue")
    made = Clusters(Given(nodes="3x8", policies=policies)).scenarios(jobs)
    done = side_by_side.compare(jobs, made, Rules(), 1, lambda _: None)
    return document.of_replay(jobs, made, [each.document for each in done], Rules())


DOCUMENT = compared("as-is", "pod-by-pod")


class Tags(HTMLParser):
    """Which elements are open at the end of a page, and all attributes that refer to something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self.references += [name for name, _ in attrs if name in {"src", "href", "action"}]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - a parser's.
        """See an element without content."""
        self.references += [name for name, _ in attrs if name in {"src", "href", "action"}]

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        assert self.open.pop() == tag


def test_the_report_is_one_file_without_scripts_and_references() -> None:
    page = html.page(DOCUMENT)
    tags = Tags()
    tags.feed(page)

    assert [] == tags.open
    assert [] == tags.references
    assert not re.search(r"<script|https?://|url\(|@import", page)


def test_the_report_is_light_dark_and_for_paper() -> None:
    page = html.page(DOCUMENT)

    assert "prefers-color-scheme:dark" in page
    on_paper = page[page.index("@media print") :]
    assert "table{break-inside:avoid}" in on_paper
    # A picture that begins a sheet takes its title along.
    assert "h2,summary{break-after:avoid}" in page


def test_names_of_users_are_text() -> None:
    page = html.page(DOCUMENT)

    assert "job<1>" not in page
    assert "job&lt;1&gt;" in page


def test_the_document_is_as_its_schema_says() -> None:
    schema = read((SCHEMAS / "replay.json").read_text())

    jsonschema.Draft202012Validator(schema).validate(DOCUMENT)


def test_the_table_fits_eighty_columns() -> None:
    found = list(table.lines(DOCUMENT))

    assert [] == [line for line in found if len(line) > table.WIDTH]
    assert any("AS-IS" in line and "POD-BY-POD" in line for line in found)


def test_a_difference_is_to_the_first_policy() -> None:
    first, second = DOCUMENT["policies"]

    assert "differences" not in first
    mean = second["wait"]["all"]["mean"] - first["wait"]["all"]["mean"]
    assert abs(mean - second["differences"]["waitMean"]) < 1e-5


def test_hours_are_reported_with_their_unit() -> None:
    page = html.page(DOCUMENT)

    assert "<td>GPU hours held by gangs that could not begin</td>" in page
    assert "{unit}" not in page
