"""What Jobs and JobSets are told that ask for a gang in the wrong place."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import JOB_GANG_LABEL
from gang_scheduler.api.kinds import EVENTS, JOB_SETS, JOBS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.plan import Plan
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, parts

LABEL = {JOB_GANG_LABEL: "true"}
OURS = {"spec": {"schedulerName": builders.SCHEDULER}}
OVER = {"conditions": [{"type": "Complete", "status": "True"}]}


class Desk:
    """A cluster in which Jobs and JobSets are seen."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.events = parts.events(self.api, lambda: 0)
        self.gang_events = parts.gang_events(self.cache, self.events)

    def see(self, body: dict[str, Any]) -> None:
        """Take in a Job or JobSet."""
        kind = kinds.of(JOB_SETS if "replicatedJobs" in body["spec"] else JOBS)
        self.cache.upsert(kind.store(self.cache), kind.reader.read(body))

    async def told(self) -> list[tuple[str, str, str, str]]:
        """Return type, reason, object and note of what was told after two cycles."""
        for _ in range(2):
            self.gang_events.planned(Plan(), 0)
        while len(self.events._queue):
            await self.events._send(self.events.take())
        return [
            (each["type"], each["reason"], each["regarding"]["kind"], each["note"])
            for each in self.api.cluster.all(EVENTS)
        ]


def job(template: dict[str, Any] = OURS, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "j", "namespace": "ns", "uid": "u", "labels": LABEL, **fields}
    status = metadata.pop("status", {})
    return {"metadata": metadata, "spec": {"template": template}, "status": status}


def job_set() -> dict[str, Any]:
    metadata = {"name": "s", "namespace": "ns", "uid": "u", "labels": LABEL}
    jobs = [{"name": "w", "template": {"spec": {"template": OURS}}}]
    return {"metadata": metadata, "spec": {"replicatedJobs": jobs}}


@pytest.mark.parametrize(
    ("body", "kind", "name"), [(job(), "Job", "ns/j"), (job_set(), "JobSet", "ns/s")]
)
async def test_a_workload_gets_its_event_when_it_is_seen_and_only_once(
    body: dict[str, Any], kind: str, name: str
) -> None:
    desk = Desk()
    desk.see(body)

    ((*about, note),) = await desk.told()

    assert ["Warning", "InvalidGang", kind] == about
    assert note.startswith(f"{kind} {name}: metadata.labels[{JOB_GANG_LABEL}] belongs in ")


@pytest.mark.parametrize(
    "body",
    [
        job({"spec": {"schedulerName": "another"}}),
        job({**OURS, "metadata": {"labels": LABEL}}),
        job(status=OVER),
        job(ownerReferences=[{"kind": "JobSet", "name": "s", "controller": True}]),
        job(labels={}),
    ],
    ids=["another scheduler", "a gang", "ended", "of a JobSet", "asks for nothing"],
)
async def test_others_are_not(body: dict[str, Any]) -> None:
    desk = Desk()
    desk.see(body)

    assert [] == await desk.told()


async def test_the_next_object_of_the_name_is_reported_again() -> None:
    desk = Desk()
    desk.see(job())
    await desk.told()
    kinds.of(JOBS).store(desk.cache).delete("u")
    desk.see(job(uid="v"))

    assert 2 == len(await desk.told())


async def test_what_was_asked_for_is_kept_of_a_job_that_cannot_be_read_any_more() -> None:
    desk = Desk()
    desk.see(job())
    reader = kinds.of(JOBS).reader
    assert callable(reader.if_unreadable)
    why = InvalidField("status", 1, "must be an object")
    holds = reader.if_unreadable(job(), why, None)
    desk.cache.upsert(kinds.of(JOBS).store(desk.cache), holds)

    assert ["u"] == list(desk.cache.gang_queue.misplaced_requests.by_uid)
