"""Which members of a plan wait for claims together, while their room is held."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.changes import MovedPods
from gang_scheduler.state.volumes.assume_cache import Target


@dataclass(slots=True, eq=False)
class ClaimWait:
    """Members that are bound once the claims of all of them are bound, or not at all.

    `placed` has an entry a gang; with `joins` the gang does not need these members for its quorum.
    The wait may come `after` another one. `unbound` are the uids of members whose claims are not
    known to be bound.
    """

    placed: tuple[Placed, ...]
    after: "ClaimWait | None" = None
    joins: bool = False
    unbound: set[str] = field(init=False)
    problem: Cause | None = None

    def __post_init__(self) -> None:
        """Begin with all members that have claims as unbound."""
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
        """The keys of the gangs."""
        return tuple(placed.gang.key for placed in self.placed)


@dataclass(slots=True, eq=False)
class WaitSet:
    """The claim waits of gangs that start together. Later waits may come after the first one.

    `open` are the waits that are not settled, and `cause` is what for. `moved` are the members
    whose claims may have progressed, `errors` the latest errors of writes by claim or volume, and
    `wait_of` is the wait of each member with claims, by uid. `size` is the number of claims.
    `began` is the event loop's time, in seconds.
    """

    waits: tuple[ClaimWait, ...]
    cause: Cause | None = None
    moved: MovedPods = field(default_factory=MovedPods)
    errors: dict[Target, Cause] = field(default_factory=dict)
    open: dict[ClaimWait, None] = field(init=False)
    wait_of: dict[str, ClaimWait] = field(init=False)
    size: int = field(init=False)
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def __post_init__(self) -> None:
        """Find the members that have claims, and count the claims."""
        self.open = dict.fromkeys(self.waits)
        waiting = [(bind.pod, wait) for wait in self.waits for bind in wait.waiting]
        self.wait_of = {pod.uid: wait for pod, wait in waiting}
        storages = (pod.pod_class.storage for pod, _ in waiting)
        self.size = sum(len(storage.needs) for storage in storages if storage is not None)

    def fail(self, wait: ClaimWait, problem: Cause) -> None:
        """Give a wait up; the first problem is the reason."""
        if wait.problem is None:
            wait.problem = problem
            self.moved.put(*wait.unbound)

    def is_ready(self, wait: ClaimWait) -> bool:
        """Return whether all claims are bound, and the wait to come before is settled."""
        return not wait.unbound and wait.after not in self.open

    def followers(self, wait: ClaimWait) -> tuple[ClaimWait, ...]:
        """Return the waits that come after this one."""
        return self.waits[1:] if wait is self.waits[0] and self.waits[-1].after else ()


def needs_claims(bind: Bind) -> bool:
    """Return whether a member has claims that must be bound before its pod."""
    storage = bind.pod.pod_class.storage
    return storage is not None and bool(storage.needs)


def waits_of(together: Sequence[Placed]) -> tuple[ClaimWait, ...]:
    """Return the claim waits of gangs that start together.

    The quorums are one wait. Every other member with claims is a wait of its own, after the
    quorums. In a gang by itself whose members can start singly, no member waits for another one.
    """
    quorums = [_quorum(placed, alone=len(together) == 1) for placed in together]
    begin = [_begins(placed, quorum) for placed, quorum in zip(together, quorums, strict=True)]
    first = ClaimWait(tuple(placed for placed in begin if placed.binds), joins=not any(quorums))
    after = first if any(quorums) else None
    further = [
        ClaimWait((replace(placed, binds=(bind,)),), after, joins=True)
        for placed, quorum in zip(together, quorums, strict=True)
        for bind in placed.binds
        if bind.pod.uid not in quorum and needs_claims(bind)
    ]
    return (first, *further) if first.placed else tuple(further)


def _quorum(placed: Placed, *, alone: bool) -> frozenset[str]:
    """Return the uids of the members of a gang that must start together."""
    gang = placed.gang
    if alone and (gang.singly or gang.quorum <= 1):
        return frozenset()
    return gang.quorum_among(bind.pod for bind in placed.binds)


def _begins(placed: Placed, quorum: Collection[str]) -> Placed:
    """Return the quorum, and the members beside it that have no claims to wait for."""
    begin = (bind for bind in placed.binds if bind.pod.uid in quorum or not needs_claims(bind))
    return replace(placed, binds=tuple(begin))
