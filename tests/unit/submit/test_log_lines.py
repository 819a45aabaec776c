"""Logs of members: one rank or all, as they come, and from a member's replacement on."""

import dataclasses
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.submit import log_lines
from gang_scheduler.submit.gang_states import State, current
from gang_scheduler.submit.refusals import Refused
from support import builders

FIRST = builders.pod("first", node="node-0", uid="1")
AGAIN = builders.pod("again", node="node-1", uid="2")
OTHER = builders.pod("other", node="node-2", uid="3")


class Kubelet:
    """Answers requests for logs, with chunks or an error each; `asked` has the paths."""

    def __init__(self, **logs: Sequence[bytes] | ApiError) -> None:
        self.logs = logs
        self.asked: list[str] = []
        self.open = 0

    @asynccontextmanager
    async def stream(self, path: str, **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the chunks of a log."""
        self.asked.append(path)
        found = self.logs[path.split("/")[6]]
        if isinstance(found, ApiError):
            raise found
        self.open += 1
        try:
            yield _chunks(found)
        finally:
            self.open -= 1


async def _chunks(found: Sequence[bytes]) -> AsyncIterator[bytes]:
    for each in found:
        yield each


class Gang:
    """A gang that has the next of its states each time that it is read, and then the last."""

    def __init__(self, *states: State) -> None:
        self.states = list(states)

    async def __call__(self) -> State:
        """Return its state."""
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


def running(*members: Pod) -> State:
    return State(Phase.RUNNING, members=members)


def over(*members: Pod) -> State:
    return State(Phase.FINISHED, members=members)


async def read(kubelet: Kubelet, gang: Gang, **given: Any) -> list[tuple[int, str]]:
    server = Server(cast("Any", kubelet), "default")
    return [(e.rank, e.text) async for e in log_lines.lines(server, gang, **given)]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "POLL_SECONDS", 0.0)


async def test_lines_are_whole_however_they_come() -> None:
    kubelet = Kubelet(first=[b"o", b"ne\ntwo\nth", b"ree"])

    assert [(0, "one"), (0, "two"), (0, "three")] == await read(kubelet, Gang(running(FIRST)))
    assert ["/api/v1/namespaces/default/pods/first/log"] == kubelet.asked


async def test_a_rank_is_chosen() -> None:
    kubelet = Kubelet(first=[b"0\n"], other=[b"1\n"])

    assert [(1, "1")] == await read(kubelet, Gang(running(FIRST, OTHER)), rank=1)
    both = await read(kubelet, Gang(running(FIRST, OTHER)), rank=None)
    assert [(0, "0"), (1, "1")] == both


async def test_an_unknown_rank_is_refused() -> None:
    with pytest.raises(Refused, match="--rank: 2 is no rank: there are 1 members"):
        await read(Kubelet(), Gang(running(FIRST)), rank=2)


async def test_a_replacement_is_followed() -> None:
    kubelet = Kubelet(first=[b"before\n"], again=[b"after\n"])
    gang = Gang(running(FIRST), running(FIRST), running(AGAIN), over(AGAIN))

    assert [(0, "before"), (0, "after")] == await read(kubelet, gang, follow=True)
    assert all(path.endswith("?follow=true") for path in kubelet.asked)


async def test_all_are_followed_at_the_same_time() -> None:
    kubelet = Kubelet(first=[b"0\n"], other=[b"1\n"])

    found = await read(kubelet, Gang(over(FIRST, OTHER)), rank=None, follow=True)

    assert [(0, "0"), (1, "1")] == sorted(found)


async def test_a_member_without_a_node_is_waited_for() -> None:
    waits = dataclasses.replace(FIRST, node="")
    gang = Gang(running(), running(waits), running(waits), over(FIRST))

    assert [(0, "a")] == await read(Kubelet(first=[b"a\n"]), gang, follow=True)


async def test_a_pod_that_is_gone_is_passed_over() -> None:
    kubelet = Kubelet(first=ApiError(404, "gone"), again=[b"a\n"])
    gang = Gang(running(FIRST), running(FIRST), running(AGAIN), over(AGAIN))

    assert [(0, "a")] == await read(kubelet, gang, follow=True)


async def test_a_container_that_has_not_started_is_asked_again() -> None:
    kubelet = Kubelet(first=ApiError(400, "ContainerCreating"))

    async def starts() -> State:
        if kubelet.asked:
            kubelet.logs["first"] = [b"a\n"]
        return over(FIRST)

    assert [(0, "a")] == await read(kubelet, cast("Gang", starts), follow=True)


async def test_an_error_of_the_server_is_not_hidden() -> None:
    with pytest.raises(ApiError, match="no right"):
        await read(Kubelet(first=ApiError(403, "no right")), Gang(running(FIRST)))


def test_of_each_rank_the_pod_counts_that_was_created_last() -> None:
    def pod(name: str, rank: int, created: float, phase: PodPhase = PodPhase.RUNNING) -> Pod:
        made = builders.pod(name, node="node-0", uid=name)
        return dataclasses.replace(made, rank=(rank,), created_at=created, phase=phase)

    failed, again = pod("b", 0, 1, PodPhase.FAILED), pod("a", 0, 1)
    first, second = pod("c", 1, 5, PodPhase.FAILED), pod("d", 1, 9, PodPhase.FAILED)
    free = [builders.pod(name, node="node-0", uid=name) for name in ("e", "f")]

    assert (again, second, *free) == current([again, failed, first, second, *free])


async def test_a_reader_that_stops_early_closes_the_log() -> None:
    kubelet = Kubelet(first=[b"1\n2\n"])
    server = Server(cast("Any", kubelet), "default")
    found = log_lines.lines(server, Gang(running(FIRST)))

    assert "1" == (await anext(found)).text
    assert 1 == kubelet.open
    await found.aclose()

    assert 0 == kubelet.open
