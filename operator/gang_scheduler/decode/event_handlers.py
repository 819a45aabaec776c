"""Takes watch events in: decoded, counted, and never raising, whatever an object looks like.

An exception in a handler would make Kopf drop later events of that object for minutes. So an
object that cannot be read is left out with a reason, and told to its owner; `unreadable` says what
still holds of it. An older state than the one that is known is no news, and is left out without a
word.
"""

from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from msgspec.json import Decoder

from gang_scheduler import internal_errors
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.at_work import Work, note
from gang_scheduler.decode import fields, unreadable
from gang_scheduler.decode.left_out import LeftOut, LeftOutObjects
from gang_scheduler.decode.pacing import Pacing
from gang_scheduler.decode.reader import HasMetadata, Object, Reader, Unreadable
from gang_scheduler.decode.resource_versions import Versions
from gang_scheduler.decode.sink import Sink
from gang_scheduler.decode.unreadable import Identity
from gang_scheduler.telemetry import metrics
from gang_scheduler.wire.metadata import Identified

T = TypeVar("T")


class EventHandlers:
    """The handlers of all kinds, from sources to sinks.

    `broken` holds the uids of objects that were left out, `versions` what was seen of all. What is
    left out goes to `left_out`, with what is wrong.
    """

    def __init__(
        self, kinds: Iterable[tuple[Reader[Any], Sink[Any]]], left_out: LeftOutObjects
    ) -> None:
        self.versions = Versions()
        self.broken: set[str] = set()
        pacing = Pacing()
        self.all = tuple(
            KindHandler(reader, sink, self.versions, self.broken, left_out, pacing=pacing)
            for reader, sink in kinds
        )
        self._by_gvr = {gvr: each for each in self.all for gvr in each.versions}

    def of(self, gvr: GVR) -> "KindHandler[Any]":
        """Return the handler of a kind, in whatever version."""
        return self._by_gvr[gvr]

    def names(self) -> dict[GVR, str]:
        """Return the name of each kind, by its versions."""
        return {gvr: each.name for gvr, each in self._by_gvr.items()}

    def start_over(self) -> None:
        """Expect other versions of each kind: the API server may be another by now."""
        for each in self.all:
            each.start_over()


class KindHandler(Generic[T]):
    """Takes the events of one kind in."""

    def __init__(
        self,
        reader: Reader[T],
        sink: Sink[T],
        seen: Versions,
        broken: set[str],
        left_out: LeftOutObjects,
        *,
        pacing: Pacing,
    ) -> None:
        self.versions = reader.versions
        self.name = reader.name
        self.plural = reader.gvr.plural
        self.decoder: Decoder[Any] | None = reader.direct.decoder if reader.direct else None
        self._reader = reader
        self._direct = reader.direct
        self._kind = reader.kind
        self._sink = sink
        self._seen = seen
        self._broken = broken
        self._left_out = left_out
        self._pacing = pacing
        self._objects_seen = metrics.OBJECTS_SEEN.labels(self.name)
        self.start_over()

    def start_over(self) -> None:
        """Expect the kind in other versions."""
        self._rank = len(self.versions)

    def uids(self) -> Collection[str]:
        """Return the uids of all objects that are known."""
        return self._sink.uids()

    def missing(self, uid: str) -> None:
        """Forget an object that a list has no more, and let no older state of it in."""
        self._seen.missing(uid)
        self._drop(uid)

    def forget(self, uid: str) -> None:
        """Forget an object that cannot be seen, and may come back as it was."""
        self._seen.forget(uid)
        self._drop(uid)

    def take(self, event: Object) -> None:
        """Take in an event; the change of an object that is dear to read, perhaps a bit later."""
        found = unreadable.identity(event["object"])
        self._pacing.take(
            *(found.uid, found.namespace),
            lambda: self._take(event, found),
            may_wait=event["type"] == "MODIFIED",
        )

    def _take(self, event: Object, found: Identity) -> None:
        obj = event["object"]
        if self._reader.best_version_counts and self._is_lesser(obj):
            return
        note(Work.EVENT, f"{self._kind} {found.key}")
        if event["type"] == "DELETED":
            self._pacing.forget(found.uid)
            self._deleted(found)
            return
        if found.uid and not self._seen.seen(found.uid, found.version):
            return
        self._count(found.uid)
        try:
            _check(event, found)
            self._sink.upsert(self._reader.read(obj))
        except InvalidField as error:
            self._leave_out(obj, found, error)
        except Exception as error:
            # A bug that one object brings out must not keep later ones away.
            internal_errors.note("take in", f"{self._kind} {found.key}", error)
            why = InvalidField("the object", None, f"cannot be taken in: {error!r}")
            self._leave_out(obj, found, why)

    def take_decoded(self, change: str, source: HasMetadata) -> None:
        """Take in an event whose object went through `decoder`.

        Raises InvalidField, having done nothing. What is wrong is then told by `take`.
        """
        metadata = source.metadata
        note(Work.EVENT, f"{self._kind} {metadata.namespace}/{metadata.name}")
        unreadable.check(Identity(metadata.uid, metadata.namespace, metadata.name))
        if change == "DELETED":
            self._pacing.forget(metadata.uid)
            self._seen.gone(metadata.uid, metadata.resource_version)
            self._sink.delete(metadata.uid)
        elif self._direct is not None:
            noun = self._direct.read(source)
            if not self._seen.seen(metadata.uid, metadata.resource_version):
                return
            self._sink.upsert(noun)
        self._count(metadata.uid)

    def _is_lesser(self, obj: Object) -> bool:
        """Return whether an object comes in another version than the best one seen so far."""
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        versions = [gvr.version for gvr in self.versions]
        rank = versions.index(version) if version in versions else 0
        if rank > self._rank:
            return True
        self._rank = rank
        return False

    def _deleted(self, found: Identity) -> None:
        self._count(found.uid)
        if found.uid:
            self._seen.gone(found.uid, found.version)
            self._sink.delete(found.uid)

    def _drop(self, uid: str) -> None:
        self._pacing.forget(uid)
        self._broken.discard(uid)
        self._sink.delete(uid)

    def _leave_out(self, obj: Object, found: Identity, why: InvalidField) -> None:
        metrics.OBJECTS_BROKEN.labels(self.name).inc()
        holds = None
        if found.uid:
            self._broken.add(found.uid)
            holds = self._keep_what_holds(obj, found.uid, why)
        self._left_out.put(LeftOut(self._kind, obj, why, holds))

    def _keep_what_holds(self, obj: Object, uid: str, why: InvalidField) -> T | None:
        rule = self._reader.if_unreadable
        if rule is Unreadable.KEEP:
            return None
        holds = None
        if not isinstance(rule, Unreadable):
            holds = rule(obj, why, self._sink.known(uid))
        if holds is None:
            self._sink.delete(uid)
        else:
            self._sink.upsert(holds)
        return holds

    def _count(self, uid: str) -> None:
        self._objects_seen.inc()
        self._broken.discard(uid)


def _check(event: Object, found: Identity) -> None:
    """Raise InvalidField for an object that no decoder read, or that is not told from others."""
    if (why := event.get("unreadable")) is not None:
        raise why
    fields.read(event["object"], Identified)
    unreadable.check(found)
