"""What the page remembers: decisions, states and GPUs of 24 hours, also after a restart."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from gang_scheduler.inspection.explaining.timeline import Current
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page import history, history_file, sources
from gang_scheduler.page.gpu_history import Use
from gang_scheduler.page.history import EVENTS_SECONDS, KEPT_SECONDS, Known, Past
from gang_scheduler.page.history_file import HistoryFile
from gang_scheduler.page.timeline import HOUR, MINUTE
from support.listed_clusters import gang, hold, node
from support.pages import opened
from support.remembered_clusters import NOON, Remembered

KEY = GangKey("PodGroup", "team", "a")
NODES = [node(f"node-{number}") for number in range(2)]


def event(
    reason: str = "Scheduled", first: int = NOON, last: int = 0, **more: Any
) -> SchedulerEvent:
    """Return an Event about the gang."""
    return SchedulerEvent(namespace="team", name="a", reason=reason, first=first, last=last, **more)


def row(state: str, reason: str = "", brief: str = "", key: GangKey = KEY) -> Any:
    """Return what is remembered of a row."""
    return SimpleNamespace(key=key, state=state, wait=SimpleNamespace(reason=reason, brief=brief))


def noted(memory: Past, at: int, *events: SchedulerEvent, rows: tuple[Any, ...] = ()) -> Known:
    """Return what is known after a reading."""
    return memory.noted(at, events, rows, Use(at, 8, 4, 2))


def decisions(known: Known) -> list[tuple[str, int, int]]:
    return [(each.reason, each.first, each.last) for each in known.events]


def test_a_decision_stays_when_the_api_server_no_longer_has_it() -> None:
    memory = Past()
    first = noted(memory, NOON, event("Scheduled"), event("Admitted", NOON - 5))
    second = noted(memory, NOON + MINUTE, event("Preempted", NOON + 30))

    assert () == first.older
    assert ["Scheduled", "Admitted"] == [each.reason for each in second.older]
    assert ["Preempted", "Scheduled", "Admitted"] == [each.reason for each in second.events]


def test_an_event_that_comes_again_is_one_decision_with_its_number() -> None:
    memory = Past()
    noted(memory, NOON, event(first=NOON, last=NOON + 60, times=2))
    known = noted(memory, NOON + 300, event(first=NOON, last=NOON + 240, times=5))

    assert [("Scheduled", NOON, NOON + 240)] == decisions(known)
    assert 5 == known.events[0].times


def test_events_of_members_that_expire_one_by_one_stay_one_decision() -> None:
    memory = Past()
    noted(memory, NOON, event(first=NOON - 50, last=NOON - 10))
    known = noted(memory, NOON + 60, event(first=NOON - 20, last=NOON - 10))

    assert [("Scheduled", NOON - 50, NOON - 10)] == decisions(known)


def test_the_same_words_at_another_time_are_another_decision() -> None:
    memory = Past()
    known = noted(memory, NOON + 500, event(first=NOON), event(first=NOON + 400))

    assert [NOON + 400, NOON] == [each.first for each in known.events]


def test_what_is_older_than_24_hours_is_forgotten() -> None:
    memory = Past()
    noted(memory, NOON, event(), rows=(row("Waiting"), row("Running", key=KEY._replace(name="b"))))
    noted(memory, NOON + HOUR, rows=(row("Running"),))
    later = NOON + KEPT_SECONDS + 2 * HOUR
    noted(memory, later, rows=(row("Running"),))
    known = noted(memory, later + MINUTE, rows=(row("Running"),))

    assert () == known.events
    assert [Current(NOON + HOUR, "Running")] == known.states_of(KEY)
    assert [] == known.states_of(KEY._replace(name="b"))
    assert later == known.since


def test_of_too_many_decisions_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_DECISIONS", 3)
    monkeypatch.setattr(history, "MOST_CHANGES", 3)
    memory = Past()
    for minute in range(10):
        at = NOON + minute * MINUTE
        states = (row("Waiting", f"Reason{minute}"),)
        noted(memory, at, event(first=at, note=str(minute)), rows=states)
    known = noted(memory, NOON + HOUR)

    assert ["9", "8", "7"] == [each.note for each in known.events]
    assert 3 >= len(known.states_of(KEY))
    assert "Reason9" == known.states_of(KEY)[-1].words


def test_decisions_and_states_of_one_namespace_displace_those_of_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "MOST_DECISIONS", 10)
    monkeypatch.setattr(history, "MOST_CHANGES", 10)
    memory, others = Past(), GangKey("PodGroup", "others", "b")
    loud = [event(note=str(number), first=NOON + number) for number in range(20)]
    quiet = SchedulerEvent(namespace="others", name="b", reason="Preempted", first=NOON - 60)
    for number in range(20):
        state = "Waiting" if number % 2 else "Running"
        rows = (row(state), row("Waiting" if number else "Running", key=others))
        noted(memory, NOON + MINUTE * (1 + number), quiet, *loud, rows=rows)
    known = noted(memory, NOON + MINUTE * 21)

    assert "others" in {each.namespace for each in known.events}
    assert 10 >= len(known.events) > 1
    assert 2 == len(known.states_of(others))
    assert 10 > len(known.states_of(KEY))


def test_an_event_of_a_time_to_come_is_not_remembered() -> None:
    known = noted(Past(), NOON, event(first=NOON, last=NOON + KEPT_SECONDS), event("Preempted"))

    assert ["Preempted"] == [each.reason for each in known.events]


def test_a_state_is_remembered_when_it_or_its_reason_changes() -> None:
    memory = Past()
    for at, each in enumerate(
        [
            row("Waiting", "WaitingForQuota", "8 short"),
            row("Waiting", "WaitingForQuota", "4 short"),
            row("Waiting", "Unschedulable", "no room"),
            row("Running"),
        ]
    ):
        known = noted(memory, NOON + at, rows=(each,))

    assert [
        Current(NOON, "Waiting", "WaitingForQuota: 8 short"),
        Current(NOON + 2, "Waiting", "Unschedulable: no room"),
        Current(NOON + 3, "Running", ""),
    ] == known.states_of(KEY)


def test_a_pause_longer_than_events_are_kept_is_a_gap() -> None:
    memory = Past()
    noted(memory, NOON)
    noted(memory, NOON + EVENTS_SECONDS)
    known = noted(memory, NOON + EVENTS_SECONDS + 3 * HOUR)

    assert ((NOON + EVENTS_SECONDS, NOON + 3 * HOUR),) == known.gaps
    assert NOON - EVENTS_SECONDS <= known.since <= NOON


def test_an_event_that_began_long_ago_does_not_say_since_when_all_is_known() -> None:
    assert NOON - EVENTS_SECONDS == noted(Past(), NOON, event(first=NOON - 9 * HOUR)).since


def test_all_is_known_again_after_a_restart(tmp_path: Path) -> None:
    def made() -> Past:
        return Past(HistoryFile(tmp_path / "history", "here"))

    memory = made()
    noted(memory, NOON, event(), rows=(row("Waiting", "Unschedulable", "no room"),))
    noted(memory, NOON + MINUTE, event(), event("Preempted", NOON + 30), rows=(row("Running"),))
    memory.close()
    memory = made()
    known = noted(memory, NOON + 2 * MINUTE, rows=(row("Running"),))
    memory.close()
    again = made()
    same = noted(again, NOON + 2 * MINUTE, rows=(row("Running"),))
    again.close()

    assert [("Preempted", NOON + 30), ("Scheduled", NOON)] == [
        (each.reason, each.first) for each in known.events
    ]
    assert known.events == same.events
    assert ["Waiting", "Running"] == [each.state for each in known.states_of(KEY)]
    assert [Use(NOON + at * MINUTE, 8, 4, 2) for at in range(3)] == [*known.uses]
    assert (NOON, True, "") == (known.since, known.in_file, known.problem)


def test_the_file_does_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_file, "LEAST_REWRITTEN", 100)
    monkeypatch.setattr(history, "KEPT_SECONDS", HOUR)
    memory = Past(HistoryFile(tmp_path / "history", "here"))
    sizes = []
    for minute in range(600):
        at = NOON + minute * MINUTE
        noted(memory, at, event(first=at, note=str(minute)))
        sizes.append((tmp_path / "history").read_bytes().count(b"\n"))
    memory.close()

    assert 4 * 60 + 100 > max(sizes[60:])


def test_a_file_that_cannot_be_written_is_said_and_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = HistoryFile(tmp_path / "history", "here")
    memory = Past(file)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    noted(memory, NOON)
    with monkeypatch.context() as broken:
        broken.setattr(file, "append", full)
        broken.setattr(file, "rewrite", full)
        known = noted(memory, NOON + MINUTE, event())
    healed = noted(memory, NOON + 2 * MINUTE)
    memory.close()

    assert "the history cannot be written: No space left on device" == known.problem
    assert "" == healed.problem
    again = Past(HistoryFile(tmp_path / "history", "here"))
    assert [("Scheduled", NOON, NOON)] == decisions(noted(again, NOON + 3 * MINUTE))
    again.close()


async def test_the_decisions_say_since_when_they_are_known(tmp_path: Path) -> None:
    source = Remembered(tmp_path, NODES)
    source.events = [event(note="to node-0")]
    memory = Past(HistoryFile(tmp_path / "history", "here"))
    noted(memory, NOON - 9 * HOUR, event("Drained", NOON - 9 * HOUR))
    async with opened(source, past=memory) as browser:
        text = (await browser.get("/decisions")).text
        found = json.loads((await browser.get("/api/v1/decisions")).text)

    assert "2 decisions" in text
    assert ">2026-01-01 03:00:00 UTC</time>, but not from <time" in text
    assert "A restart of the page keeps them for 24 hours." in text
    hold(found)
    assert ["Scheduled", "Drained"] == [each["reason"] for each in found["items"]]
    assert "2026-01-01T03:00:00Z" == found["knownSince"]
    assert [{"from": "2026-01-01T03:00:00Z", "until": "2026-01-01T11:00:00Z"}] == found["notKnown"]


async def test_what_became_of_a_gang_that_is_gone_is_shown_at_its_address(tmp_path: Path) -> None:
    source = Remembered(tmp_path, NODES)
    source.events = [event("Preempted", note="Preempted by team/b")]
    async with opened(source) as browser:
        found = await browser.get("/gangs/team/podgroup/a")
        other = await browser.get("/gangs/other/a")

    assert (404, 404) == (found.status, other.status)
    assert "Preempted by team/b" in found.text
    assert "Preempted" not in other.text


async def test_a_timeline_has_the_states_that_were_seen(tmp_path: Path) -> None:
    memory = Past()
    noted(memory, NOON + 60, rows=(row("Waiting", "WaitingForQuota", "8 short in blue"),))
    source = Remembered(tmp_path, [*NODES, *gang("a", 3)])
    source.at = NOON + 600
    async with opened(source, past=memory) as browser:
        found = json.loads((await browser.get("/api/v1/timelines/team/a")).text)

    hold(found)
    assert ["WaitingForQuota: 8 short in blue"] == [
        each["words"] for each in found["spans"] if each["from"] == "2026-01-01T12:01:00Z"
    ]


async def test_a_page_with_a_file_reads_while_no_browser_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "UNASKED_SECONDS", 0.02)
    monkeypatch.setattr(sources, "LEAST_SECONDS", 0.01)
    kept, forgetful = Remembered(tmp_path, NODES), Remembered(tmp_path, NODES)
    memory = Past(HistoryFile(tmp_path / "history", "here"))
    async with opened(kept, enter=False, past=memory), opened(forgetful, enter=False):
        with anyio.fail_after(30):
            while kept.readings < 3:  # noqa: ASYNC110 - nothing tells of a reading.
                await anyio.sleep(0.02)

    assert 0 == forgetful.readings
    # The file is free again.
    HistoryFile(tmp_path / "history", "here").close()
