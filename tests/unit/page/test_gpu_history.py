"""GPUs over the last hours: which points are kept, and how they are drawn."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gang_scheduler.page import gpu_history
from gang_scheduler.page.gpu_history import GAP_SECONDS, GpuHistory, Use
from gang_scheduler.page.sources import OfFiles, Views
from gang_scheduler.page.timeline import DAY, MINUTE
from gang_scheduler.page.view import Reading
from support.listed_clusters import gang, hold, node
from support.pages import opened, source_of

CLUSTER = [node("node-0"), *gang("runs", 1, gpus=6, nodes=["node-0"]), *gang("waits", 2)]
NOON = 1767268800


class Later(OfFiles):
    """A cluster that each reading finds a minute later."""

    still = False
    minutes = 0

    @classmethod
    def of(cls, directory: Path) -> "Later":
        """Return it, with its file in a directory."""
        made = source_of(directory, CLUSTER)
        return cls(
            made.read().cluster, [str(directory / "cluster.json")], made.read().cluster.policy
        )

    def read(self) -> Reading:
        """Return the cluster a minute after the reading before."""
        found = super().read()
        self.minutes += 1
        return Reading(replace(found.cluster, read_at=NOON + self.minutes * MINUTE))


def test_a_point_a_minute_is_kept_the_last_one_of_it() -> None:
    found = GpuHistory(DAY)

    assert [True, False, True] == [
        found.add(Use(NOON + seconds, 8, used, 0)) for seconds, used in ((0, 1), (59, 2), (61, 3))
    ]
    assert [(NOON + 59, 2), (NOON + 61, 3)] == [(each.at, each.used) for each in found.points]


def test_points_of_the_last_24_hours_are_kept() -> None:
    found = GpuHistory(DAY)
    for minute in range(2 * DAY // MINUTE):
        found.add(Use(NOON + minute * MINUTE, 8, 4, 0))

    assert DAY // MINUTE + 1 == len(found.points)


def test_a_clock_that_was_set_back_does_not_mix_times() -> None:
    found = GpuHistory(DAY, [Use(NOON, 8, 4, 0)])

    assert not found.add(Use(NOON - 3600, 8, 5, 0))
    assert [Use(NOON, 8, 4, 0)] == [*found.points]


def test_points_are_drawn_at_their_time_and_height() -> None:
    points = [Use(NOON + 0, 8, 2, 4), Use(NOON + 1800, 8, 4, 12), Use(NOON + 3600, 8, 8, 0)]
    found = gpu_history.picture(points)

    assert found is not None
    assert (16, 50.0) == (found.top, found.capacity)
    assert "2 to 8 GPUs were used, and gangs that waited asked for up to 12 more." == found.words
    assert 3 == len(found.lines)
    assert "M50.0 0.0h0.15" == found.lines[1].wanted


def test_what_is_not_known_is_left_blank() -> None:
    points = [Use(NOON + at, 8, 2, 0) for at in (0, 60, 60 + GAP_SECONDS, 3600, 3660)]

    found = gpu_history.picture(points)

    assert found is not None
    assert 2 == len(found.lines)
    assert found.lines[0].used.startswith("M0.0 75.0H1.64V75.0H")
    assert found.lines[0].used_area.endswith("100z")


@pytest.mark.parametrize("points", [[], [Use(NOON, 0, 0, 0)]])
def test_without_points_or_gpus_there_is_no_picture(points: list[Use]) -> None:
    assert gpu_history.picture(points) is None


def test_the_first_points_are_at_the_end_of_an_hour() -> None:
    found = gpu_history.picture([Use(NOON, 8, 2, 0)])

    assert found is not None
    assert found.lines[0].used.startswith("M100.0 75.0")
    assert 1 < len(found.ticks)
    assert (22, False) == (found.capacity_label, found.top_label)


async def uses(views: Views) -> list[Use]:
    """Return the points of the latest view."""
    seen = (await views.latest()).view
    assert seen is not None
    return [*seen.known.uses]


async def test_each_reading_adds_to_the_points_and_a_file_does_not(tmp_path: Path) -> None:
    clock = [0.0]
    views, still = Views(Later.of(tmp_path), lambda: clock[0]), Views(source_of(tmp_path, CLUSTER))
    for number in (1, 2, 3):
        assert number == len(await uses(views))
        clock[0] += MINUTE

    expected = [Use(NOON + minute * MINUTE, 8, 6, 16) for minute in (1, 2, 3, 4)]
    assert expected == await uses(views)
    assert [] == await uses(still)
    await views.close()
    await still.close()


async def test_the_overview_shows_the_line_and_says_it_in_words(tmp_path: Path) -> None:
    async with opened(Later.of(tmp_path)) as browser:
        text = (await browser.get("/")).text
        found = json.loads((await browser.get("/api/v1/usage")).text)

    assert "GPUs over the last hours. 6 GPUs were used, and gangs that waited asked for" in text
    assert "used and asked for: 22" in text
    hold(found)
    assert {"at": "2026-01-01T12:01:00Z", "all": 8, "used": 6, "asked": 16} == found["points"][0]


async def test_a_file_has_no_line_but_the_figures_of_its_reading(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        text = (await browser.get("/")).text
        found = json.loads((await browser.get("/api/v1/usage")).text)

    assert "over the last hours" not in text
    hold(found)
    assert [(8, 6, 16)] == [(each["all"], each["used"], each["asked"]) for each in found["points"]]
