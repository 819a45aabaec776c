"""The picture of a timeline, its screen and its document."""

import itertools
import json
from pathlib import Path

import pytest

from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.explaining.timeline import Span
from gang_scheduler.model.refs import GangKey
from gang_scheduler.page import rendering, timeline
from gang_scheduler.page.timeline import DAY, HOUR, MINUTE, MOST_TICKS, Timeline
from support.listed_clusters import gang, hold, node
from support.pages import opened, source_of

KEY = GangKey("PodGroup", "team", "a")
NODES = [node(f"node-{number}") for number in range(2)]
CLUSTER = [*NODES, *gang("runs", 1, nodes=["node-0"]), *gang("waits", 2)]


def made(*spans: Span, now: int, moments: tuple[Happened, ...] = ()) -> Timeline:
    return Timeline(KEY, spans[-1].state, now, spans, moments)


def test_spans_are_as_wide_as_they_are_long() -> None:
    found = timeline.picture(made(Span("Waiting", 1000, 1025), Span("Running", 1025), now=1100))

    assert [(0, 25), (25, 75)] == [(each.x, each.width) for each in found.parts]
    assert ["roomy", "always"] == [each.word for each in found.parts]
    assert "Waiting, then Running; since 1970-01-01 00:16 UTC" in found.title


def test_a_span_of_a_moment_is_seen_inside_of_the_picture() -> None:
    found = timeline.picture(
        made(Span("Waiting", 0, 10), Span("Starting", 10, 10 * DAY), Span("Running", 10 * DAY),
             now=10 * DAY)
    )  # fmt: skip

    assert all(each.width >= timeline.LEAST_WIDTH for each in found.parts)
    assert 100 >= max(each.x + each.width for each in found.parts)
    assert "" == found.parts[0].word


def test_what_happened_is_at_its_time() -> None:
    moments = (Happened(1050, "Scheduled: x"), Happened(900, "before"))

    found = timeline.picture(made(Span("Running", 1000), now=1100, moments=moments))

    assert [(50, "Scheduled: x"), (0, "before")] == [(each.x, each.words) for each in found.moments]


@pytest.mark.parametrize("seconds", [1, 30, 7 * MINUTE, 3 * HOUR, DAY, 12 * DAY, 400 * DAY])
def test_the_axis_has_few_round_times(seconds: int) -> None:
    begins = 1767268837
    found = [*timeline.ticks(begins, begins + seconds)]

    assert 1 <= len(found) <= max(MOST_TICKS, seconds // timeline.STEPS[-1] + 1)
    assert all(begins <= each <= begins + seconds for each in found)
    steps = {after - before for before, after in itertools.pairwise(found)}
    assert len(steps) <= 1
    assert all(each % step == 0 for step in steps for each in found)


@pytest.mark.parametrize("seconds", [3, 50, 3 * MINUTE, 20 * MINUTE, 3 * HOUR])
def test_no_two_times_on_the_axis_look_the_same(seconds: int) -> None:
    begins = 1767268837
    found = timeline.picture(made(Span("Waiting", begins), now=begins + seconds))

    words = [
        rendering.clock_of_seconds(each.at)
        if found.with_seconds
        else rendering.clock(each.at, begins)
        for each in found.ticks
    ]
    assert len(set(words)) == len(words)
    assert found.with_seconds == (seconds < 3 * MINUTE)


async def test_the_screen_of_a_gang_has_its_timeline_in_words(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        text = (await browser.get("/gangs/team/waits")).text

    assert '<svg class="timeline"' in text
    assert 'aria-label="Waiting; since 2026-01-01 12:00 UTC' in text
    assert '<time datetime="2026-01-01T12:00:00Z"' in text
    assert '<td class="wide" data-label="In words">Unschedulable: ' in text
    assert 'href="/api/v1/timelines/team/waits"' in text


async def test_the_document_is_as_its_schema_says(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        waits, runs = [
            json.loads((await browser.get(f"/api/v1/timelines/team/{name}")).text)
            for name in ("podgroup/waits", "runs")
        ]
        unknown = await browser.get("/api/v1/timelines/team/other")

    hold(waits)
    hold(runs)
    assert ("team/waits", "Waiting") == (waits["name"], waits["spans"][-1]["state"])
    assert waits["spans"][-1]["words"].startswith("Unschedulable: ")
    assert ("Running", None) == (runs["spans"][-1]["state"], runs["spans"][-1]["until"])
    assert {"at": "2026-01-01T12:00:00Z", "what": "1 member running"} in runs["moments"]
    assert 404 == unknown.status


async def test_without_dates_there_is_no_timeline(tmp_path: Path) -> None:
    bodies = gang("waits", 2)
    for each in bodies:
        del each["metadata"]["creationTimestamp"]
    async with opened(source_of(tmp_path, [*NODES, *bodies])) as browser:
        screen = await browser.get("/gangs/team/waits")
        document = await browser.get("/api/v1/timelines/team/waits")

    assert (200, 404) == (screen.status, document.status)
    assert "Timeline</h2>" not in screen.text
    assert "no gang whose times are known" in document.text
