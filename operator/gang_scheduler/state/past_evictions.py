"""Past evictions of gangs, from statuses and from this process: how often, and for which gang.

Statuses of PodGroups keep them over a restart. For gangs without a PodGroup only this process knows
the preemptor. Plain synchronous code, a part of the cache.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from gang_scheduler.api.pod_group import MOST_YIELDED_TO
from gang_scheduler.model import refs
from gang_scheduler.model.evictions import EvictionClass, Evictions, YieldedTo
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.queues.declared import DeclaredQueues
from gang_scheduler.workloads import table

DAY_SECONDS: Final = 86_400
NO_EVICTIONS: Final = Evictions()
MOST_GONE: Final = 1000
_POD_GROUPS: Final = (refs.NATIVE.name, refs.POD_GROUP.name)
_SEPARATOR: Final = "-"


@dataclass(frozen=True, slots=True)
class _Record:
    """The evictions of a gang, with the uid of the object that describes it.

    `before` are its evictions without the last one, in case that one is taken back.
    """

    uid: str
    evictions: Evictions
    before: Evictions


@dataclass(frozen=True, slots=True)
class _Edition:
    version: int
    round: int
    text: str


class EvictionRecords:
    """The evictions of all gangs for gangs of queues. Times are in seconds.

    Events in this process count more than the object, which may be older. The preemptor of a gang
    is remembered for `memory_seconds`. It is forgotten earlier if one of both gangs ends or is
    edited, or if the queue of either, or a queue above it, changes.
    """

    def __init__(
        self, gang_queue: GangQueue, declared: DeclaredQueues, memory_seconds: int = DAY_SECONDS
    ) -> None:
        self._gang_queue = gang_queue
        self._declared = declared
        self._memory_seconds = memory_seconds
        self._records: dict[GangKey, _Record] = {}
        self._editions: dict[GangKey, _Edition] = {}

    def of(self, key: GangKey) -> Evictions:
        """Return the evictions of a gang."""
        info = self._gang_queue.infos.get(key)
        record = self._records.get(key)
        if record is not None and record.uid == _uid(info):
            return record.evictions
        spec = info.observed.spec if info else None
        return (spec.evictions if spec else None) or NO_EVICTIONS

    def note(self, preemption: Preemption, now: int) -> frozenset[GangKey]:
        """Note a preemption whose victims are evicted now; return the gangs that yield to it.

        Only gangs that are evicted whole yield. A gang that loses surplus keeps running.
        """
        self._drop_the_gone(now)
        for forgotten in preemption.forgotten:
            self._forget(forgotten.gang, forgotten.to)
        uids = {each.pod.uid for each in preemption.victims}
        yielding = {
            key: by for key, by in preemption.classes.items() if not self._keeps_quorum(key, uids)
        }
        for key, by in yielding.items():
            before = self.of(key)
            links = self._with(key, before.yielded, by, preemption, now)
            self._put(key, Evictions(before.count + 1, now, links[-MOST_YIELDED_TO:]), before)
        return frozenset(yielding)

    def take_back(self, preemption: Preemption) -> None:
        """Note that a preemption was given up: gangs that still have all members did not yield."""
        for key in preemption.classes:
            record, info = self._records.get(key), self._gang_queue.infos.get(key)
            if record is None or info is None:
                continue
            there = {pod.uid for pod in info.observed.with_node()}
            lost = {each.pod.uid for each in preemption.victims if each.gang == key} - there
            if not lost and record.evictions != record.before:
                self._put(key, record.before, record.before)

    def yielded(
        self, now: int, gangs: Iterable[GangKey]
    ) -> Mapping[GangKey, tuple[YieldedTo, ...]]:
        """Return the remembered preemptors of these gangs, of these preemptors in turn, and so on.

        If only these gangs preempt, no other past eviction can close a circle.
        """
        if not self._gang_queue.queues.names.in_use:
            return {}
        # This is asked about all waiting gangs in every cycle, and hardly any was ever evicted.
        evicted = self._gang_queue.once_evicted.union(self._records)
        ahead = [key for key in gangs if key in evicted] if evicted else []
        found: dict[GangKey, tuple[YieldedTo, ...]] = {}
        while ahead:
            key = ahead.pop()
            if key not in found:
                found[key] = tuple(self._counting(key, self.of(key).yielded, now))
                ahead += [each.gang for each in found[key]]
        return {key: found[key] for key in sorted(found) if found[key]}

    def _put(self, key: GangKey, evictions: Evictions, before: Evictions) -> None:
        uid = _uid(self._gang_queue.infos.get(key))
        self._records[key] = _Record(uid, evictions, before)
        self._gang_queue.changed.add(key)

    def _with(
        self,
        key: GangKey,
        links: Sequence[YieldedTo],
        by: EvictionClass,
        preemption: Preemption,
        now: int,
    ) -> tuple[YieldedTo, ...]:
        """Return the remembered preemptors of a gang, and the gangs of this preemption."""
        known = {each.gang: each for each in self._counting(key, links, now)}
        for gang in preemption.gangs:
            before = known.pop(gang.key, None)
            infos = self._gang_queue.infos
            known[gang.key] = YieldedTo(
                gang.key,
                _uid(infos.get(gang.key)),
                min(by, before.eviction_class) if before else by,
                now,
                _SEPARATOR.join((self._edition(key), self._edition(gang.key))),
            )
        return tuple(known.values())

    def _forget(self, key: GangKey, to: GangKey) -> None:
        before = self.of(key)
        left = tuple(each for each in before.yielded if self._resolved(each) != to)
        self._put(key, replace(before, yielded=left), replace(before, yielded=left))

    def _counting(self, key: GangKey, links: Sequence[YieldedTo], now: int) -> Iterator[YieldedTo]:
        """Yield the preemptors of a gang that still count, with their full keys."""
        if not links or _has_ended(self._gang_queue.infos.get(key)):
            return
        for each in links:
            to = self._resolved(each)
            # A status written by hand may lack the time.
            is_over = bool(each.at) and now - each.at > self._memory_seconds
            if to is not None and not is_over and self._is_as_then(key, to, each.edition):
                yield each if each.gang == to else replace(each, gang=to)

    def _resolved(self, link: YieldedTo) -> GangKey | None:
        """Return the preemptor in a link; None if it has ended or is unknown."""
        for key in self._candidates(link):
            info = self._gang_queue.infos.get(key)
            if (not link.uid or _uid(info) == link.uid) and not _has_ended(info):
                return key
        return None

    def _candidates(self, link: YieldedTo) -> Iterator[GangKey]:
        """Yield the gangs that a link may mean: a status lacks the source, and maybe the name."""
        source, namespace, name = link.gang
        if source:
            yield link.gang
        elif name:
            keys = (GangKey(each.name, namespace, name) for each in table.SOURCES)
            yield from (key for key in keys if key in self._gang_queue.infos)
        else:
            yield from self._gang_queue.described_by(link.uid)

    def _is_as_then(self, key: GangKey, to: GangKey, editions: str) -> bool:
        now = (self._edition(key), self._edition(to))
        if editions == _SEPARATOR.join(now):
            return True  # Most often, and this is asked for each link in each cycle.
        then = editions.split(_SEPARATOR)
        return len(then) != len(now) or all(
            not (one and other) or one == other for one, other in zip(then, now, strict=True)
        )

    def _edition(self, key: GangKey) -> str:
        """Return a digest of a gang and its queues; "" for a gang without known members."""
        info = self._gang_queue.infos.get(key)
        if info is None or not info.observed.living:
            return ""
        version, round_ = info.version.number, self._gang_queue.queues.round
        known = self._editions.get(key)
        if known is None or (known.version, known.round) != (version, round_):
            content = repr((_asked(info), self._queues_of(info)))
            text = blake2b(content.encode(), digest_size=5).hexdigest()
            known = self._editions[key] = _Edition(version, round_, text)
        return known.text

    def _queues_of(self, info: GangInfo) -> tuple[object, ...]:
        resolved = self._gang_queue.queues.of(info.key)
        if resolved is None:
            return ()
        priority = resolved.class_priority
        path = self._declared.editions(resolved.ref) if resolved.ref else ()
        return (info.observed.priority if priority is None else priority, *path)

    def _keeps_quorum(self, key: GangKey, victims: set[str]) -> bool:
        """Return whether a gang that loses these pods still has its quorum."""
        info = self._gang_queue.infos.get(key)
        if info is None:
            return False
        left = sum(1 for pod in info.observed.with_node() if pod.uid not in victims)
        return left >= info.attempt.needed

    def _drop_the_gone(self, now: int) -> None:
        """Drop old records of deleted gangs once they outnumber the others."""
        infos = self._gang_queue.infos
        if len(self._records) > 2 * len(infos) + MOST_GONE:
            since = now - self._memory_seconds
            self._records = {
                key: each
                for key, each in self._records.items()
                if key in infos or each.evictions.last >= since
            }
        self._editions = {key: each for key, each in self._editions.items() if key in infos}


def _uid(info: GangInfo | None) -> str:
    """Return the uid of the object that describes a gang, "" if members describe it."""
    spec = info.observed.spec if info is not None else None
    return spec.uid if spec is not None and spec.gvr is not None else ""


def _has_ended(info: GangInfo | None) -> bool:
    """Return whether nothing of a gang will run any more; unknown for a gang without an object."""
    if info is None:
        return False
    return info.jobs_failed or (not info.observed.living and info.attempt.succeeded_wholly())


def _asked(info: GangInfo) -> tuple[object, ...]:
    """Return the demands of a PodGroup; none for a Job, whose demands change as pods succeed."""
    spec = info.observed.spec
    if spec is None or info.key.source not in _POD_GROUPS:
        return ()
    asked = (spec.min_member, spec.min_resources, spec.options, spec.topology_request)
    return (*asked, spec.roles) if spec.roles else asked
