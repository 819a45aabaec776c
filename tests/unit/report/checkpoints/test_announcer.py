"""What is told as gangs save their work."""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import CheckpointReport, Request, Save
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report.checkpoints import CheckpointAnnouncer, words_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding, parts
from support.builders import SCHEDULER, gang_key, gang_spec, pod
from support.metric_values import growing

NOW = 1_767_268_800
SAVES = "training_checkpoint_saves_total"
A = gang_key("a")
REQUEST = Request("r1", NOW - 10)


class Told:
    """A cache with the gang `a`, and the Events about it."""

    def __init__(self) -> None:
        self.cache = Cache([SCHEDULER], Changes())
        cache_feeding.upsert_gang_specs(self.cache, POD_GROUPS.group, "uid-a", [gang_spec("a", 1)])
        self.cache.upsert_pod(self.member())
        self._events = parts.events(FakeApi(), clock=lambda: NOW)
        gang_events = parts.gang_events(self.cache, self._events)
        self.announcer = CheckpointAnnouncer(self.cache, gang_events, clock=lambda: NOW)

    def member(self, **says: str) -> Pod:
        """Return the member, with annotations."""
        return pod("a-0", gang="a", node="n1", phase="Running", annotations=says)

    def events(self) -> list[tuple[str, str, str, str]]:
        """Return type, reason, object and note of all Events so far."""
        self.announcer.emit()
        found = [self._events.take().body() for _ in range(len(self._events._queue))]
        return [(e["type"], e["reason"], e["regarding"]["name"], e["note"]) for e in found]


async def test_a_gang_gets_events_on_a_request_to_save_and_on_its_outcome() -> None:
    told = Told()
    told.cache.checkpoints.ask(A, REQUEST, CheckpointReport(None, by="default/high", seconds=30))

    (asked,) = told.events()
    told.cache.checkpoints.answered(A, Save(NOW, 7, "s3://b/7", "r1"), NOW)
    with growing(SAVES) as grown:
        (saved,) = told.events()

    words = "Asked to save its work within 30 s: room is made for default/high"
    assert ("Normal", "CheckpointRequested", "a", words) == asked
    assert ("Normal", "CheckpointSaved", "a", "Work is saved at step 7: s3://b/7") == saved
    assert {("", "eviction", "Saved"): 1} == grown


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (CheckpointOutcome.TIMED_OUT, "CheckpointTimedOut"),
        (CheckpointOutcome.FAILED, "CheckpointFailed"),
    ],
)
async def test_what_went_wrong_is_a_warning(outcome: CheckpointOutcome, reason: str) -> None:
    told = Told()
    told.cache.checkpoints.ask(A, REQUEST, CheckpointReport(None))
    told.events()
    told.cache.checkpoints.gave_up(A, "r1", outcome, "it answered 404")

    with growing(SAVES) as grown:
        ((kind, found, _, note),) = told.events()

    assert ("Warning", reason) == (kind, found)
    assert ("404" in note) == (outcome is CheckpointOutcome.FAILED)
    assert {("", "eviction", outcome.value): 1} == grown


async def test_a_report_without_a_request_is_reported_once() -> None:
    told = Told()
    told.cache.upsert_pod(told.member(**{annotations.CHECKPOINT_DONE_AT: rfc3339(NOW - 1)}))

    with growing(SAVES) as grown:
        assert [("Normal", "CheckpointSaved", "a", "Work is saved")] == told.events()
        assert [] == told.events()

    assert {("", "own", "Saved"): 1} == grown


async def test_the_event_of_a_gang_whose_pods_are_gone_is_on_its_object() -> None:
    told = Told()
    told.cache.checkpoints.answered(A, Save(NOW, 7), NOW)
    told.cache.delete_pod("uid-a-0")

    assert ["a"] == [name for _, _, name, _ in told.events()]


async def test_the_outcome_of_a_gang_that_is_gone_causes_no_event() -> None:
    told = Told()
    told.cache.checkpoints.news.append(
        (gang_key("gone"), CheckpointReport(CheckpointOutcome.TIMED_OUT))
    )

    assert [] == told.events()


def test_every_outcome_has_words() -> None:
    assert all(words_of(CheckpointReport(each, why="x")) for each in (None, *CheckpointOutcome))
    assert "Work is saved at step 7" == words_of(
        CheckpointReport(CheckpointOutcome.SAVED, Save(NOW, 7))
    )
    assert "Work is saved: c" == words_of(
        CheckpointReport(CheckpointOutcome.SAVED, Save(NOW, path="c"))
    )
