"""Bars, words and addresses; and that no file of the page asks another host for anything."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from gang_scheduler.inspection.listing.queues import QueueLine
from gang_scheduler.model.queues import Amounts, FlavorResource
from gang_scheduler.page import rendering
from gang_scheduler.page.view import Heartbeat
from support.listed_clusters import gang, node
from support.pages import opened, source_of

FILES = sorted(
    path for each in ("templates", "static") for path in (rendering.FOLDER / each).iterdir()
)
XML_NAMESPACE = "http://www.w3.org/2000/svg"
MOST_HUES = 12


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_asks_another_host_or_has_inline_script_or_style(path: object) -> None:
    text = rendering.FOLDER.joinpath(str(path)).read_text()

    assert [] == re.findall(r"(?:https?:)?//[a-z0-9]", text.replace(XML_NAMESPACE, ""))
    # A part of the same document, such as a pattern, is no request.
    assert [] == re.findall(r"@import|url\((?!#)", text)
    assert [] == re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:|\| ?safe|autoescape", text)
    assert [] == re.findall(r"<script(?! type=\"module\" src=\"/static/)", text)


def test_there_are_templates_a_style_and_a_script() -> None:
    assert {".html", ".css", ".js", ".svg"} == {path.suffix for path in FILES}


def test_a_scheme_has_no_more_hues_than_people_tell_apart() -> None:
    style = (rendering.STATIC / "page.css").read_text()
    light, dark = style.partition("@media (prefers-color-scheme: dark)")[::2]

    for each in (light, dark.partition("*, ")[0]):
        found = re.findall(r"--(\w+): #", each)
        assert 12 <= len(found) == len({*found})
        greys = {"ground", "raised", "line", "ink", "dim", "track", "lent"}
        assert MOST_HUES >= len({*found} - greys)


def test_text_is_escaped() -> None:
    found = rendering.environment().from_string("{{ name }}").render(name="<b>&\"'")

    assert "&lt;b&gt;&amp;&#34;&#39;" == found


def test_a_bar_has_a_piece_for_each_amount() -> None:
    pieces = rendering.bar(("used", 24), ("borrowed", 0), ("free", 8))

    assert [("used", 0.0, 75.0), ("free", 75.0, 25.0)] == [tuple(each) for each in pieces]
    assert [] == rendering.bar(("used", 0), ("free", -1))


def test_a_queue_shows_what_it_borrows_and_its_fair_share() -> None:
    of = FlavorResource("default", "nvidia.com/gpu")
    amounts = Amounts(nominal=16, used=24, borrowed=8, fair_share=12)

    (found,) = rendering.resources_of(QueueLine("blue", "Queue", "", {of: amounts}))

    assert ("nvidia.com/gpu", "24", "16", "8") == found[:4]
    assert ["used", "borrowed"] == [each.kind for each in found.pieces]
    assert 50.0 == found.fair


@pytest.mark.parametrize(
    ("beat", "word"),
    [
        (Heartbeat("pod-1", 985, 15), "alive"),
        (Heartbeat("pod-1", 900, 15), "silent"),
        (Heartbeat("", 900, 15), "none"),
        (Heartbeat(problem="no Lease a/b"), "not known"),
        (None, "not known"),
    ],
)
def test_a_scheduler_is_alive_while_it_renews_its_lease(beat: Heartbeat | None, word: str) -> None:
    assert word == rendering.beating(beat, 1000).word


def test_addresses_hold_any_name() -> None:
    assert "/gangs/a%2Fb/x%3Fy" == rendering.gang_path("a/b", "x?y", "PodGroup")
    assert "/gangs/ns/jobset/job/workers" == rendering.gang_path("ns", "job/workers", "JobSet")
    assert "/queues/a%2Fb" == rendering.queue_path("a/b")
    assert "/gangs?text=a%26b" == rendering.with_query(
        "/gangs", {"text": "a&b", "page": "2"}, page=""
    )


def test_the_map_of_few_nodes_leaves_room_for_the_rest_of_the_screen() -> None:
    macro = rendering.environment().get_template("parts.html").module.node_map  # type: ignore[attr-defined]

    def classes(number: int) -> str:
        shown = SimpleNamespace(names=["node"] * number, unit="GPUs")
        return str(macro("/api/v1/nodes", shown, None)).partition('class="')[2].partition('"')[0]

    assert ["map low", "map low", "map middle", "map middle", "map "] == [
        classes(number) for number in (1, 32, 33, 96, 97)
    ]


def test_columns_of_a_line_of_a_command_are_separated() -> None:
    assert ["priority 1", "27 pods  would go"] == rendering.cells(
        "priority 1     27 pods  would go"
    )
    assert ["1st of 2 in blue"] == rendering.cells("  1st of 2 in blue")


async def test_a_gang_that_has_room_starts_now(tmp_path: Path) -> None:
    bodies = [node("node-0"), *gang("fits", 1), *gang("huge", 2)]
    async with opened(source_of(tmp_path, bodies)) as browser:
        text = (await browser.get("/gangs")).text

    starts = re.findall(r'data-label="Starts">\s*(?:<[^>]*>)?(\w+)', text)
    assert {"fits": "now", "huge": "unknown"} == dict(
        zip(re.findall(r"team/</span>(\w+)", text), starts, strict=True)
    )
