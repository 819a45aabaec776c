"""Who waits for claims with whom, while their room is held."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.state.volumes.assume_cache import Target


@dataclass(slots=True, eq=False)
class ClaimWait:
    """Members that are bound once the claims of all of them are, or not at all.

    `placed` has a gang each, and `joins` tells that it does not need them to be whole. They come
    `after` another share. `unbound` are the uids of those whose claims are not known to be bound.
    """

    placed: tuple[Placed, ...]
    after: "ClaimWait | None" = None
    joins: bool = False
    unbound: set[str] = field(init=False)
    problem: str = ""

    def __post_init__(self) -> None:
        """Expect claims of all who need some."""
        self.unbound = {bind.pod.uid for bind in self.waiting}

    @property
    def binds(self) -> Iterator[Bind]:
        """All members."""
        return (bind for placed in self.placed for bind in placed.binds)

    @property
    def waiting(self) -> Iterator[Bind]:
        """The members that have claims to be bound."""
        return (bind for bind in self.binds if needs_claims(bind))

    @property
    def keys(self) -> tuple[GangKey, ...]:
        """The gangs."""
        return tuple(placed.gang.key for placed in self.placed)


@dataclass(slots=True, eq=False)
class WaitSet:
    """What one plan holds for a group of gangs. The others may wait for the first of the shares.

    `open` are those that still wait. `moved` are the uids of members whose claims may have come
    further, `errors` what keeps claims from being written for now, and `wait_of` is by uid, for
    members that have claims. `began` is the event loop's time.
    """

    waits: tuple[ClaimWait, ...]
    words: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    moved: set[str] = field(default_factory=set)
    errors: dict[Target, str] = field(default_factory=dict)
    open: dict[ClaimWait, None] = field(init=False)
    wait_of: dict[str, ClaimWait] = field(init=False)
    size: int = field(init=False)
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def __post_init__(self) -> None:
        """Find the members that have claims, and count those."""
        self.open = dict.fromkeys(self.waits)
        waiting = [(bind.pod, wait) for wait in self.waits for bind in wait.waiting]
        self.wait_of = {pod.uid: wait for pod, wait in waiting}
        storages = (pod.pod_class.storage for pod, _ in waiting)
        self.size = sum(len(storage.needs) for storage in storages if storage is not None)

    def move(self, uid: str) -> None:
        """Note that claims of a member may have come further."""
        self.moved.add(uid)
        self.news.set()

    def fail(self, wait: ClaimWait, problem: str) -> None:
        """Give a share up, for the first reason that there is."""
        if not wait.problem:
            wait.problem = problem
            self.moved |= wait.unbound
            self.news.set()

    def is_ready(self, wait: ClaimWait) -> bool:
        """Tell whether nothing more is waited for: no claims, and nobody who comes before."""
        return not wait.unbound and wait.after not in self.open

    def followers(self, wait: ClaimWait) -> tuple[ClaimWait, ...]:
        """Return the shares that wait for this one."""
        return self.waits[1:] if wait is self.waits[0] and self.waits[-1].after else ()


def needs_claims(bind: Bind) -> bool:
    """Tell whether a member has claims that are to be bound first."""
    storage = bind.pod.pod_class.storage
    return storage is not None and bool(storage.needs)


def waits_of(together: Sequence[Placed]) -> tuple[ClaimWait, ...]:
    """Return who waits for whom, of gangs that start together.

    Quorums wait for each other, and everybody else who has claims waits for them and for his own.
    A gang by itself of which any member can start waits for none.
    """
    quorums = [_quorum(placed, alone=len(together) == 1) for placed in together]
    begin = [_begins(placed, quorum) for placed, quorum in zip(together, quorums, strict=True)]
    first = ClaimWait(tuple(placed for placed in begin if placed.binds), joins=not any(quorums))
    after = first if any(quorums) else None
    further = [
        ClaimWait((replace(placed, binds=(bind,)),), after, joins=True)
        for placed, quorum in zip(together, quorums, strict=True)
        for bind in placed.binds[quorum:]
        if needs_claims(bind)
    ]
    return (first, *further) if first.placed else tuple(further)


def _quorum(placed: Placed, *, alone: bool) -> int:
    """Return how many members of a gang must start together."""
    gang = placed.gang
    return 0 if alone and (gang.singly or gang.quorum <= 1) else gang.quorum


def _begins(placed: Placed, quorum: int) -> Placed:
    """Return the quorum, and beside it those who wait for nothing else."""
    more = (bind for bind in placed.binds[quorum:] if not needs_claims(bind))
    return replace(placed, binds=(*placed.binds[:quorum], *more))
