"""The age of a watch is how long it has given no sign of life."""

import time

import pytest

from gang_scheduler.watch import synced
from support.metric_values import sample

NAME = "pgs_watch_age_seconds"


def test_the_age_of_a_watch_grows_until_it_gives_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    synced.seen("toys")
    now = 130.0
    grown = sample(NAME, kind="toys")
    synced.seen("toys")

    assert (30, 0) == (grown, sample(NAME, kind="toys"))
    synced.not_served("toys")
    assert sample(NAME, kind="toys") is None
    synced.seen("toys")
    assert 0 == sample(NAME, kind="toys")
    synced.not_served("toys")


def test_a_list_is_no_sign_of_a_watch_but_the_watch_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    synced.listed("toys")
    assert (0, 0) == (synced.ages()["toys"], synced.idle()["toys"])
    now = 130.0
    synced.listed("toys")
    now = 140.0

    assert (40, 10) == (synced.ages()["toys"], synced.idle()["toys"])
    synced.seen("toys")
    assert (0, 0) == (synced.ages()["toys"], synced.idle()["toys"])
    synced.not_served("toys")
    assert not {"toys"} & {*synced.ages(), *synced.idle()}
