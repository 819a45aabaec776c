"""Recordings of events."""

from pathlib import Path

import pytest

from gang_auditor import live, watch_events
from gang_auditor.live import Recorder
from gang_auditor.watch_events import Event, UnreadableLineError
from support.audit_streams import START, node, pod

EVENTS = [
    Event(START, watch_events.ADDED, node("n1")),
    Event(START + 0.25, watch_events.DELETED, pod("a")),
    watch_events.passed(START + 9),
]


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    with Recorder(tmp_path / "events.jsonl") as recorder:
        for each in EVENTS:
            recorder.write(each)
    lines = (tmp_path / "events.jsonl").read_bytes().splitlines(keepends=True)

    assert lines[1].startswith(b'{"at":"2027-01-15T08:00:00.250000Z","type":"DELETED","object":{')
    assert EVENTS == list(live.read_recording(lines, "events.jsonl"))


def test_half_a_line_at_the_end_is_left_out() -> None:
    lines = [EVENTS[0].line, EVENTS[1].line[:-20]]

    assert EVENTS[:1] == list(live.read_recording(lines, "events.jsonl"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"hello\n", "events.jsonl:1: no JSON object"),
        (b"[]\n", "no JSON object"),
        (b'{"type": "ADDED", "object": {}}\n', "at, type or object is missing or wrong: 'at'"),
        (b'{"at": "today", "type": "ADDED", "object": {}}\n', "missing or wrong"),
        (b'{"at": "2027-01-15T08:00:00Z", "type": "GONE", "object": {}}\n', "'GONE' is none of"),
        (b'{"at": "2027-01-15T08:00:00Z", "type": "ADDED", "object": 3}\n', "is none of"),
    ],
)
def test_another_line_is_refused_with_its_number(line: bytes, words: str) -> None:
    with pytest.raises(UnreadableLineError, match=words):
        list(live.read_recording([line], "events.jsonl"))
