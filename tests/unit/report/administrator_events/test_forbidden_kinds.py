"""Kinds that the scheduler may not read are told of on its Deployment, once."""

import asyncio
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import DEPLOYMENTS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.report.administrator_events import ForbiddenKinds
from gang_scheduler.report.events import About

KIND = "jobsets.jobset.x-k8s.io"


class Harness:
    """A Deployment, and what tells of it."""

    def __init__(self) -> None:
        self.api = FakeApi(FakeCluster(served=[DEPLOYMENTS]))
        metadata = {"name": "pgs", "namespace": "home", "uid": "d"}
        self.api.cluster.put(DEPLOYMENTS, {"metadata": metadata})
        self.forbidden = [KIND]
        self.said: list[tuple[About, str, str]] = []
        self.part = ForbiddenKinds(
            self.api,
            self,  # type: ignore[arg-type]
            forbidden=lambda: self.forbidden,
            namespace="home",
            name="pgs",
            writes=Writes(),
        )

    def record(self, about: About, reason: str, note: str, **_: Any) -> None:
        """Take an Event."""
        self.said.append((about, reason, note))

    def look(self) -> int:
        """Look once, and return how many Events there were in all."""
        asyncio.run(self.part.look())
        return len(self.said)


def test_the_same_kinds_are_reported_once() -> None:
    harness = Harness()
    assert [1, 1] == [harness.look(), harness.look()]

    note = f"may not list {KIND}: pods of these wait; update the ClusterRole"
    about = About("apps/v1", "Deployment", "home", "pgs", "d")
    assert [(about, "KindForbidden", note)] == harness.said


def test_others_and_those_that_come_back_are_reported_anew() -> None:
    harness = Harness()
    harness.look()
    harness.forbidden = []
    assert 1 == harness.look()

    harness.forbidden = [KIND]
    assert 2 == harness.look()


def test_without_a_deployment_it_asks_again() -> None:
    harness = Harness()
    harness.api.fail("get", Fault(ApiError(403, "may not")))

    assert [0, 1] == [harness.look(), harness.look()]


def test_where_all_may_be_read_nothing_is_asked() -> None:
    harness = Harness()
    harness.forbidden = []

    assert 0 == harness.look()
    assert [] == harness.api.calls


def test_it_looks_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gang_scheduler.report.administrator_events.LOOK_SECONDS", 0)
    harness = Harness()

    async def look_for_a_moment() -> None:
        with anyio.move_on_after(0.1):
            await harness.part.run()

    asyncio.run(look_for_a_moment())

    assert 1 == len(harness.said)
