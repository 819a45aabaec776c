"""The age of a watch is how long it has given no sign of life."""

import time

import pytest

from gang_scheduler.watch import watch_ages
from support.metric_values import sample

NAME = "pgs_watch_age_seconds"


def test_the_age_of_a_watch_grows_until_it_gives_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    watch_ages.seen("toys")
    now = 130.0
    grown = sample(NAME, kind="toys")
    watch_ages.seen("toys")

    assert (30, 0) == (grown, sample(NAME, kind="toys"))
    watch_ages.not_served("toys")
    assert sample(NAME, kind="toys") is None
    watch_ages.seen("toys")
    assert 0 == sample(NAME, kind="toys")
    watch_ages.not_served("toys")


def test_a_list_is_no_sign_of_a_watch_but_the_watch_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    watch_ages.listed("toys")
    assert (0, 0) == (watch_ages.ages()["toys"], watch_ages.idle()["toys"])
    now = 130.0
    watch_ages.listed("toys")
    now = 140.0

    assert (40, 10) == (watch_ages.ages()["toys"], watch_ages.idle()["toys"])
    watch_ages.seen("toys")
    assert (0, 0) == (watch_ages.ages()["toys"], watch_ages.idle()["toys"])
    watch_ages.not_served("toys")
    assert not {"toys"} & {*watch_ages.ages(), *watch_ages.idle()}
