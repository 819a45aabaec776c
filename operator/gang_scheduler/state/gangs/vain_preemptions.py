"""Preemptions without success, by owner: other gangs lost pods, and no gang started.

The preemptions of one gang are forgotten with the gang, which is easily deleted and created again.
So they are counted by namespace and queue as well, if the gang was deleted, lost members or named
another queue before it had found room.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from gang_scheduler.model.consequences import Trait
from gang_scheduler.model.gangs import BlockCause, Gang, GangGroup, PreemptionBlock
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.reasons import Reason, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import MOST_ROUNDS, ROUNDS_SECONDS

OWN_DOING: Final = those_with(lambda rule: Trait.OWN_DOING in rule.traits)
BLOCK: Final = PreemptionBlock(BlockCause.IN_VAIN, rounds=MOST_ROUNDS)


class Owner(NamedTuple):
    """Gangs that are counted together: of one namespace and queue, or of one namespace."""

    namespace: str
    queue: QueueRef | None


@dataclass(slots=True)
class _Rounds:
    """The moments of preemptions for gangs that are gone, and for gangs that exist.

    `idle` are the existing gangs whose preemptions count as vain.
    """

    gone: list[int] = field(default_factory=list)
    by_gang: dict[GangKey, list[int]] = field(default_factory=dict)
    idle: set[GangKey] = field(default_factory=set)

    def vain(self, now: int) -> int:
        """Return the number of recent preemptions without success."""
        known = (at for key in self.idle for at in self.by_gang.get(key, ()))
        return sum(1 for at in (*self.gone, *known) if now - at < ROUNDS_SECONDS)

    def forget_old(self, now: int) -> bool:
        """Drop the rounds that no longer count; return whether any round is left."""
        self.gone = [at for at in self.gone if now - at < ROUNDS_SECONDS][-MOST_ROUNDS:]
        for key, moments in [*self.by_gang.items()]:
            if all(now - at >= ROUNDS_SECONDS for at in moments):
                del self.by_gang[key]
                self.idle.discard(key)
        return bool(self.gone or self.by_gang)


class VainRounds:
    """The recent preemptions by owner, only in memory. Times are in seconds."""

    def __init__(self) -> None:
        self._by_owner: dict[Owner, _Rounds] = {}
        self._owners: dict[GangKey, Owner] = {}
        self._blocked: dict[str, tuple[GangGroup, GangGroup]] = {}

    def begin(self, gangs: Sequence[Gang], now: int) -> None:
        """Note that pods are evicted for gangs that start together, which is one preemption."""
        first = gangs[0]
        owner = Owner(first.key.namespace, first.queue)
        before = self._owners.get(first.key, owner)
        if before != owner:
            self.forget(first.key)
        rounds = self._by_owner.setdefault(owner, _Rounds())
        rounds.by_gang.setdefault(first.key, []).append(now)
        rounds.idle.discard(first.key)
        self._owners[first.key] = owner

    def placed(self, key: GangKey) -> None:
        """Note that a gang has found room: its preemptions were a success."""
        owner = self._owners.pop(key, None)
        if owner is not None:
            rounds = self._by_owner[owner]
            rounds.by_gang.pop(key, None)
            rounds.idle.discard(key)

    def refused(self, key: GangKey, reason: Reason) -> None:
        """Note why a gang waits; if its owner has caused this, its preemptions count as vain."""
        owner = self._owners.get(key)
        if owner is None:
            return
        rounds = self._by_owner[owner]
        if reason in OWN_DOING:
            rounds.idle.add(key)
        else:
            rounds.idle.discard(key)

    def forget(self, key: GangKey) -> None:
        """Note that a gang is gone, so that its rounds without success count for its owner."""
        owner = self._owners.pop(key, None)
        if owner is not None:
            rounds = self._by_owner[owner]
            rounds.gone += rounds.by_gang.pop(key, [])
            rounds.idle.discard(key)

    def held_back(self, groups: Iterable[GangGroup], now: int) -> list[GangGroup]:
        """Return the groups; groups of blocked owners carry the block that forbids evictions."""
        blocked = self._blocked_owners(now)
        if not blocked:
            self._blocked.clear()
            return [*groups]
        before, self._blocked = self._blocked, {}
        found = []
        for group in groups:
            if Owner(group.gangs[0].key.namespace, group.queue) in blocked:
                known = before.get(group.name)
                held = known[1] if known is not None and known[0] is group else _held(group)
                self._blocked[group.name] = group, held
                found.append(held)
            else:
                found.append(group)
        return found

    def _blocked_owners(self, now: int) -> set[Owner]:
        blocked = set()
        for owner, rounds in [*self._by_owner.items()]:
            if not rounds.forget_old(now):
                del self._by_owner[owner]
            elif rounds.vain(now) >= MOST_ROUNDS:
                blocked.add(owner)
        if len(self._owners) > sum(len(each.by_gang) for each in self._by_owner.values()):
            self._owners = {
                key: owner for owner, each in self._by_owner.items() for key in each.by_gang
            }
        return blocked


def _held(group: GangGroup) -> GangGroup:
    """Return a group whose gangs may evict nothing for a while."""
    gangs = tuple(
        gang if gang.preemption_block else replace(gang, preemption_block=BLOCK)
        for gang in group.gangs
    )
    return replace(group, gangs=gangs)
