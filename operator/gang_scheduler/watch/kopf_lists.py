"""Takes in the lists of Kopf as they come, and leaves it nothing to do for them.

Kopf starts a task for each object of a list and remembers it for good. That takes a third of a
millisecond and 6 KB an object, and events of the watch would wait behind it. The lists of kinds
that we do not watch go their way.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kopf._cogs.clients import fetching

from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode import unreadable
from gang_scheduler.decode.event_handlers import EventHandlers, KindHandler
from gang_scheduler.watch import watch_ages

Listed = Callable[[KindHandler[Any], str], None]
Chunk = tuple[list[Mapping[str, Any]], str]


@contextmanager
def taken_in(event_handlers: EventHandlers, listed: Listed) -> Iterator[None]:
    """Take in the lists of Kopf in the block, a chunk at a time.

    `listed` is called with the handler of the kind and the uid of every object that came with a
    list, before it is taken in.
    """
    handlers = {gvr: event_handlers.of(gvr) for gvr in event_handlers.names()}
    original = fetching.fetch_objs

    async def fetch_objs(*, resource: Any, **how: Any) -> AsyncIterator[Chunk]:  # noqa: ANN401 - handed on as it is.
        handler = handlers.get(GVR(resource.group, resource.version, resource.plural))
        async for chunk, version in original(resource=resource, **how):
            if handler is None:
                yield [*chunk], version
                continue
            for each in chunk:
                listed(handler, unreadable.identity(each).uid)
                handler.take({"type": None, "object": each})
            watch_ages.listed(handler.name)
            yield [], version

    fetching.fetch_objs = fetch_objs  # type: ignore[assignment] # its parameters are spelt out there.
    try:
        yield
    finally:
        fetching.fetch_objs = original
