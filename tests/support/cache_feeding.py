"""Puts objects into a cache through the table of kinds, and tells what is in it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.events import EventHandlers, LeftOutObjects
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.recording.objects import ReaderAndSink
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.stores import GangStore


def event_handlers(
    cache: Cache,
    left_out: LeftOutObjects | None = None,
    noting: Callable[[Iterable[ReaderAndSink]], list[ReaderAndSink]] = list,
) -> EventHandlers:
    """Return handlers that end in a cache."""
    return EventHandlers(noting(kinds.sinks(cache)), left_out or LeftOutObjects())


def gvr_of(body: Mapping[str, Any]) -> GVR:
    """Return the kind of an object; the version may be missing where the kind leaves no choice."""
    rows = [each.reader for each in kinds.KINDS if each.reader.kind == body["kind"]]
    version = body.get("apiVersion")
    exact = (gvr for each in rows for gvr in each.versions if gvr.api_version == version)
    return next(exact, rows[0].gvr)


def tell(handlers: EventHandlers, change: str | None, body: Mapping[str, Any]) -> None:
    """Let an object be seen, or with DELETED be gone."""
    handlers.of(gvr_of(body)).handle({"type": change, "object": body})


def upsert(cache: Cache, gvr: GVR, decoded: object) -> None:
    """Add or replace an object of a kind."""
    cache.upsert(kinds.of(gvr).store(cache), decoded)


def delete(cache: Cache, gvr: GVR, uid: str) -> None:
    """Forget an object of a kind."""
    cache.delete(kinds.of(gvr).store(cache), uid)


def uids(cache: Cache, gvr: GVR) -> Collection[str]:
    """Return the uids of all known objects of a kind."""
    return kinds.of(gvr).store(cache).uids()


def upsert_gang_specs(cache: Cache, kind: str, uid: str, declared: Iterable[GangSpec]) -> None:
    """Let an object of a kind describe gangs."""
    cache.upsert(GangStore(cache.gang_queue, kind), GangObject(uid, tuple(declared)))


def delete_gang_specs(cache: Cache, kind: str, uid: str) -> None:
    """Let an object be gone that described gangs."""
    cache.delete(GangStore(cache.gang_queue, kind), uid)
