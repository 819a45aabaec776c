"""Queues in which namespaces, or parties of users, take turns: none waits for all of another."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ByNamespace(Generic[K, V]):
    """A queue of values by key. Namespaces take turns; in each, the oldest key comes first."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, OrderedDict[K, V]] = OrderedDict()
        self._namespaces: dict[K, str] = {}

    def __len__(self) -> int:
        return len(self._namespaces)

    def __iter__(self) -> Iterator[K]:
        return iter(self._namespaces)

    def put(self, namespace: str, key: K, value: V) -> None:
        """Add a value, or replace the value of a key, which keeps its place."""
        line = self._lines.setdefault(self._namespaces.setdefault(key, namespace), OrderedDict())
        line[key] = value

    def get(self, key: K) -> V | None:
        """Return the value of a key; None without one."""
        namespace = self._namespaces.get(key)
        return None if namespace is None else self._lines[namespace][key]

    def remove(self, key: K) -> None:
        """Forget a key. Raises KeyError if it is unknown."""
        namespace = self._namespaces.pop(key)
        del self._lines[namespace][key]
        if not self._lines[namespace]:
            del self._lines[namespace]

    def discard(self, key: K) -> None:
        """Forget a key, if it is known."""
        if key in self._namespaces:
            self.remove(key)

    def take(self) -> tuple[K, V]:
        """Take out the next value. Raises KeyError if the queue is empty."""
        if not self._lines:
            raise KeyError("nothing is queued")
        namespace = next(iter(self._lines))
        self._lines.move_to_end(namespace)
        return self._oldest_of(namespace)

    def drop(self) -> None:
        """Drop the oldest value of the namespace with most values. Linear in namespaces."""
        self._oldest_of(max(self._lines, key=lambda each: len(self._lines[each])))

    def _oldest_of(self, namespace: str) -> tuple[K, V]:
        line = self._lines[namespace]
        key, value = line.popitem(last=False)
        del self._namespaces[key]
        if not line:
            del self._lines[namespace]
        return key, value


class TurnsQueue(asyncio.Queue[V]):
    """A queue for tasks. Namespaces take turns; in each, what was put first comes first."""

    def __init__(self, namespace_of: Callable[[V], str]) -> None:
        self._namespace_of = namespace_of
        self._number = 0
        super().__init__()

    def _init(self, _: int) -> None:
        self._queue: ByNamespace[int, V] = ByNamespace()

    def _put(self, item: V) -> None:
        self._number += 1
        self._queue.put(self._namespace_of(item), self._number, item)

    def _get(self) -> V:
        return self._queue.take()[1]


class Slots:
    """Slots for requests, of which so many may be under way at once. Namespaces take turns."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._number = 0
        self._waiting: ByNamespace[int, asyncio.Future[None]] = ByNamespace()

    @asynccontextmanager
    async def of(self, namespace: str) -> AsyncIterator[None]:
        """Wait for a slot, and keep it within the block."""
        await self._take(namespace)
        try:
            yield
        finally:
            self._give()

    async def _take(self, namespace: str) -> None:
        if self._free:
            self._free -= 1
            return
        self._number += 1
        number, turn = self._number, asyncio.get_running_loop().create_future()
        self._waiting.put(namespace, number, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # The slot was given just now.
                self._give()
            else:
                # It no longer waits if a slot was offered since, and was given to another one.
                self._waiting.discard(number)
            raise

    def _give(self) -> None:
        while len(self._waiting):
            _, turn = self._waiting.take()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


ACCOUNTS: Final = "system:serviceaccount:"
"""The names of ServiceAccounts begin with this; their namespace and name follow."""


def party_of(user: str) -> str:
    """Return the party of a user, which has the limits of one user, and the turns of one.

    All ServiceAccounts of a namespace are one party: a user who may create one may create hundreds.
    """
    namespace = namespace_of_account(user)
    return f"{ACCOUNTS}{namespace}" if namespace else user


def namespace_of_account(user: str) -> str:
    """Return the namespace of a user that is a ServiceAccount; "" for any other user."""
    parts = user.removeprefix(ACCOUNTS).split(":")
    return parts[0] if user.startswith(ACCOUNTS) and len(parts) == 2 else ""
