"""A place of checkpoints that a test looks into, holds up, or kills the writer of."""

from collections.abc import Callable
from typing import Any, cast

from gang_scheduler.checkpoint_files import Place
from gang_scheduler.checkpoint_store import Store


class Killed(BaseException):
    """The process is gone: no code of it may run after this."""


class Watched:
    """A place that calls `before` with the name of each request, before it does it."""

    def __init__(self, place: Place, before: Callable[[str], object]) -> None:
        self._place = place
        self._before = before

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._place, name)
        if name in ("root", "local"):
            return found

        def request(*arguments: Any) -> Any:
            self._before(name)
            return found(*arguments)

        return request

    def remove_all(self, prefix: str) -> None:
        """Remove one file after the other, as a bucket and a directory both do."""
        for each in sorted(self._place.find(prefix)):
            self.remove(f"{prefix}/{each}")
        self._place.remove_all(prefix)


class AtRequest:
    """Does something before one request of a store, by its number from 0 on; counts them all."""

    def __init__(self, store: Store, number: int, do: Callable[[], object]) -> None:
        self.requests = 0
        self._number = number
        self._do = do
        store._files = cast("Place", Watched(store._files, self._look))

    def _look(self, _: str) -> None:
        number, self.requests = self.requests, self.requests + 1
        if number == self._number:
            self._do()


class KilledAt(AtRequest):
    """Kills the process of a store before one of its requests; none after it is sent either."""

    def __init__(self, store: Store, number: int) -> None:
        super().__init__(store, number, self._kill)
        self.dead = False

    def _kill(self) -> None:
        self.dead = True

    def _look(self, name: str) -> None:
        super()._look(name)
        if self.dead:
            raise Killed
