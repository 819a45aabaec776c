"""The last checkpoint of a gang, on its Job."""

import asyncio
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import JOBS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.checkpoints import LatestCheckpoints
from support.suspended_jobs import NOW, START, Body, Cluster, job, pod_of

KEY = GangKey("Job", "default", "job")
SAVED = f'{{"doneAt":"{START}","step":5,"path":"s3://b/c"}}'


class Desk:
    """A Job with a pod that has saved its work, and what is written of that."""

    def __init__(self, job_body: Body | None = None, **settings: Any) -> None:
        self.cluster = FakeCluster()
        self.seen = Cluster(**settings)
        running = job_body or job(suspend=False)
        self.cluster.put(JOBS, running)
        self.seen.see(running)
        self.api = FakeApi(self.cluster)
        self.writer = LatestCheckpoints(self.api, self.seen.cache, writes=Writes())

    def save(self) -> None:
        """Let a pod say that work is saved."""
        pod = pod_of(job(suspend=False), 0)
        pod["metadata"]["annotations"] |= {
            annotations.CHECKPOINT_DONE_AT: START,
            annotations.CHECKPOINT_STEP: "5",
            annotations.CHECKPOINT_PATH: "s3://b/c",
        }
        self.seen.see(pod)
        self.seen.cache.checkpoints.take_in(NOW)

    def look(self) -> str | None:
        """Return what the Job says after a look."""
        asyncio.run(self.writer.look())
        found = self.cluster.get(JOBS, "default", "job")["metadata"]["annotations"]
        text: str | None = found.get(annotations.CHECKPOINT_LATEST)
        return text


def test_what_a_gang_has_saved_is_on_its_job() -> None:
    desk = Desk()
    assert desk.look() is None

    desk.save()

    assert SAVED == desk.look()


def test_nothing_is_written_twice() -> None:
    desk = Desk()
    desk.save()
    desk.look()
    desk.seen.see(desk.cluster.get(JOBS, "default", "job"))
    calls: list[Call] = []
    desk.api.scripts.append(calls.append)

    desk.seen.cache.checkpoints.unwritten.add(KEY)
    desk.look()

    assert [] == calls


def test_jobs_that_are_not_managed_are_not_written() -> None:
    desk = Desk(manage_jobs=("JobSet",))
    desk.save()

    assert desk.look() is None


def test_a_write_that_fails_is_repeated() -> None:
    desk = Desk()
    desk.save()
    desk.api.fail("patch", Fault(ApiError(503, "later")))

    assert desk.look() is None
    assert SAVED == desk.look()


def test_the_next_process_knows_it_again() -> None:
    noted = job(suspend=False)
    noted["metadata"]["annotations"][annotations.CHECKPOINT_LATEST] = SAVED

    last = Desk(noted).seen.cache.checkpoints.of(KEY).last

    assert last is not None
    assert (5, "s3://b/c") == (last.step, last.path)
