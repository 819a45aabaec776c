"""What the status of a PodGroup remembers of evictions, whatever may be in it."""

from typing import Any

import pytest

from gang_scheduler.decode.gangs import status_fields
from gang_scheduler.model.evictions import EvictionClass, Evictions, YieldedTo
from gang_scheduler.model.refs import GangKey

AT = "2026-01-01T12:00:00Z"
SECONDS = 1_767_268_800


def test_evictions_are_read_as_they_are_written() -> None:
    link = {"by": "ns/g", "uid": "u", "class": "InQueue", "at": AT, "edition": "1-2"}
    status = {"evictions": {"count": 3, "last": AT, "yieldedTo": [link]}}

    found = status_fields.read_evictions(status)

    by = YieldedTo(GangKey("", "ns", "g"), "u", EvictionClass.IN_QUEUE, SECONDS, "1-2")
    assert Evictions(3, SECONDS, (by,)) == found


def test_who_and_by_what_right_is_enough() -> None:
    status = {"evictions": {"yieldedTo": [{"by": "ns/set/job", "class": "FairShare"}]}}

    found = status_fields.read_evictions(status)

    by = YieldedTo(GangKey("", "ns", "set/job"), "", EvictionClass.FAIR_SHARE, 0)
    assert Evictions(yielded=(by,)) == found


@pytest.mark.parametrize("status", [{}, {"evictions": None}, {"evictions": {}}, {"evictions": 3}])
def test_a_status_without_evictions_says_nothing(status: dict[str, Any]) -> None:
    assert status_fields.read_evictions(status) is None


@pytest.mark.parametrize(
    "found",
    [
        {"yieldedTo": 3},
        {"yieldedTo": [3, {}, {"by": 3, "class": "Reclaim"}, {"by": "ns/g", "class": "Envy"}]},
        {"yieldedTo": [{"by": "ns/g", "class": ["Reclaim"]}], "last": "yesterday"},
        {"count": "many", "last": 5},
    ],
)
def test_what_cannot_be_read_is_left_out(found: dict[str, Any]) -> None:
    assert Evictions() == status_fields.read_evictions({"evictions": found})
