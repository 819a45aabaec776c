"""The logs of members: of one rank or of all, also after a member was created again."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.pods import Pod
from gang_scheduler.submit.gang_states import POLL_SECONDS, State
from gang_scheduler.submit.refusals import Refused

NOT_YET: Final = (Kind.GONE, Kind.REFUSED)
"""Answers for a pod that is gone, or whose container has not started."""
SILENCE_SECONDS: Final = 3600.0
LINES_AT_ONCE: Final = 256
Read = Callable[[], Awaitable[State]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a member's log, with the member's rank."""

    rank: int
    text: str


async def lines(
    server: Server, read: Read, *, rank: int | None = 0, follow: bool = False
) -> AsyncGenerator[Line, None]:
    """Yield the log lines of the member of a rank, or of all members for the rank None.

    Raises Refused for an unknown rank. With `follow`, it ends with the gang, and continues with a
    member's replacement.
    """
    state = await read()
    if not follow:
        for each, pod in _chosen(state, rank):
            async with aclosing(_of_pod(server, pod, follow=False)) as found:
                async for text in found:
                    yield Line(each, text)
        return
    while not state.members and not state.is_over:
        await anyio.sleep(POLL_SECONDS)
        state = await read()
    ranks = [each for each, _ in _chosen(state, rank)]
    send, receive = anyio.create_memory_object_stream[Line](LINES_AT_ONCE)
    async with anyio.create_task_group() as group:
        async with send:
            for each in ranks:
                group.start_soon(_follow, server, read, each, send.clone())
        async with receive:
            async for line in receive:
                yield line


def _chosen(state: State, rank: int | None) -> list[tuple[int, Pod]]:
    numbered = list(enumerate(state.members))
    if rank is None:
        return numbered
    if not 0 <= rank < len(numbered):
        text = f"is no rank: there are {len(numbered)} members"
        raise Refused("--rank", rank, text)
    return [numbered[rank]]


async def _follow(
    server: Server, read: Read, rank: int, send: MemoryObjectSendStream[Line]
) -> None:
    """Send the log lines of a rank until its gang has ended."""
    done: set[str] = set()
    async with send:
        while True:
            state = await read()
            pod = state.members[rank] if rank < len(state.members) else None
            if pod is not None and pod.uid not in done and pod.node:
                if await _sent(server, pod, rank, send):
                    done.add(pod.uid)
            elif state.is_over:
                return
            else:
                await anyio.sleep(POLL_SECONDS)


async def _sent(server: Server, pod: Pod, rank: int, send: MemoryObjectSendStream[Line]) -> bool:
    """Send the log of a pod to its end; return whether it had a log."""
    try:
        async with aclosing(_of_pod(server, pod, follow=True)) as found:
            async for text in found:
                await send.send(Line(rank, text))
    except ApiError as error:
        if error.kind not in NOT_YET:
            raise
        await anyio.sleep(POLL_SECONDS)
        return error.kind is Kind.GONE
    return True


async def _of_pod(server: Server, pod: Pod, *, follow: bool) -> AsyncGenerator[str, None]:
    path = f"{PODS.path(pod.namespace, pod.name)}/log" + ("?follow=true" if follow else "")
    silence = SILENCE_SECONDS if follow else server.request_seconds
    rest = b""
    async with server.connection.stream(path, accept="*/*", silence_seconds=silence) as chunks:
        async for chunk in chunks:
            *whole, rest = (rest + chunk).split(b"\n")
            for each in whole:
                yield each.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
