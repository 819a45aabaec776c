"""Queues and the objects around them, as the table of kinds needs them: put in, forget, list."""

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

from gang_scheduler.decode.queues.declared import DeclaredFlavor, DeclaredQueue
from gang_scheduler.decode.sink import HasUid
from gang_scheduler.model.queues import Product, QueueKind
from gang_scheduler.state.changes import Change
from gang_scheduler.state.queues.declared_queues import DeclaredQueues
from gang_scheduler.state.queues.kueue_objects import ByName

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=HasUid)


class QueueStore:
    """The queues of one kind."""

    def __init__(self, queues: DeclaredQueues, kind: QueueKind) -> None:
        self._queues = queues
        self._kind = kind

    def upsert(self, declared: DeclaredQueue) -> Change:
        """Add or replace a queue."""
        return _change(self._queues.upsert(declared))

    def delete(self, uid: str) -> Change:
        """Forget a queue."""
        return _change(self._queues.delete(uid))

    def uids(self) -> Collection[str]:
        """Return the uids of all queues, whatever may be wrong with them."""
        return self._queues.uids({self._kind})


class FlavorStore:
    """The ResourceFlavors of one product."""

    def __init__(self, queues: DeclaredQueues, product: Product) -> None:
        self._queues = queues
        self._product = product

    def upsert(self, declared: DeclaredFlavor) -> Change:
        """Add or replace a flavor."""
        return _change(self._queues.upsert_flavor(declared))

    def delete(self, uid: str) -> Change:
        """Forget a flavor."""
        return _change(self._queues.delete_flavor(uid))

    def uids(self) -> Collection[str]:
        """Return the uids of all flavors."""
        return self._queues.flavor_uids(self._product)


class ByNameStore(Generic[K, T]):
    """The objects of one kind that gangs and queues name."""

    def __init__(self, objects: ByName[K, T]) -> None:
        self._objects = objects

    def upsert(self, noun: T) -> Change:
        """Add or replace an object."""
        return _change(self._objects.upsert(noun))

    def delete(self, uid: str) -> Change:
        """Forget an object."""
        return _change(self._objects.delete(uid))

    def uids(self) -> Collection[str]:
        """Return the uids of all objects."""
        return self._objects.uids


class ReferredStore(ByNameStore[K, T]):
    """The objects of one kind that say what queues mean."""

    def __init__(self, objects: ByName[K, T], queues: DeclaredQueues) -> None:
        super().__init__(objects)
        self._queues = queues

    def upsert(self, noun: T) -> Change:
        """Add or replace an object."""
        self._queues.outdated()
        return super().upsert(noun)

    def delete(self, uid: str) -> Change:
        """Forget an object."""
        self._queues.outdated()
        return super().delete(uid)


def _change(changed: bool) -> Change:  # noqa: FBT001 - the answer of a part.
    return Change.QUEUES_CHANGED if changed else Change.NOTHING
