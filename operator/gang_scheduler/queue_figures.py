"""The figures of all queues, with the gangs that wait in them: for `run` and for `simulate`."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from gang_scheduler.model.consequences import Room
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.queues import QueueFigures, QueueRef
from gang_scheduler.model.reasons import NOT_IN_LINE, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import Rules
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.turns import lines
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.phases import in_line, waits

CHARGED: Final = those_with(lambda rule: Room.CHARGED in rule.room)
WITHOUT_PODS: Final = 2
"""The order in a line: gangs with a turn, then other gangs, then gangs without a pod."""
MOST_LOOKED_AT: Final = 10
"""A queue starves if one of this many gangs, the first ones, waits for too long."""


def figures_of(
    cache: Cache, rules: Rules, now: int, victims: Mapping[str, GangKey] | None = None
) -> tuple[QueueFigures, ...]:
    """Return the figures of all queues, parents first; empty without queues.

    `now` is in seconds. `victims` are pods, with their gangs, that count as gone already. Costs a
    step for each queue and each waiting gang.
    """
    state = cache.queue_state(now)
    if state is None:
        return ()
    forest = Forest(state, cache.node_usage.table())
    gone = _release(cache, forest, victims or {})
    pending = pending_of(cache, forest, rules, now)
    return tuple(
        replace(each, starving=True) if _starves(cache, forest, each, rules, now) else each
        for each in forest.figures(pending, gone)
    )


def _starves(cache: Cache, forest: Forest, figures: QueueFigures, rules: Rules, now: int) -> bool:
    """Return whether one of the first gangs of a queue waits long for the queue's own quota."""
    ref, infos = figures.queue.ref, cache.gang_queue.infos
    for refusal in (infos[key].verdict.refusal for key in figures.pending[:MOST_LOOKED_AT]):
        if refusal is None or refusal.reason in NOT_IN_LINE | CHARGED:
            continue
        waited = now - refusal.gang.created_at
        if waited >= rules.promises.reservation_after_seconds:
            asked = cache.queue_usage.asked_by(pod.uid for pod in refusal.pods)
            if asked and not forest.borrows(ref, asked):
                return True
    return False


def _release(cache: Cache, forest: Forest, victims: Mapping[str, GangKey]) -> dict[QueueRef, int]:
    """Release the charges of victims; return minus the number of gone gangs of each queue."""
    gone = Counter[QueueRef]()
    keys: dict[GangKey, QueueRef] = {}
    for uid, key in victims.items():
        charged = cache.queue_usage.charge_of(uid)
        if charged is not None:
            forest.release(*charged)
            keys[key] = charged[0]
    for key, ref in keys.items():
        info = cache.gang_queue.infos.get(key)
        if info is not None and all(pod.uid in victims for pod in info.observed.with_node()):
            gone[ref] -= 1
    return gone


def pending_of(
    cache: Cache, forest: Forest, rules: Rules, now: int
) -> dict[QueueRef, tuple[GangKey, ...]]:
    """Return the waiting gangs of each queue in the order of turns; gangs without a turn last."""
    waiting: defaultdict[GangKey, list[Gang]] = defaultdict(list)
    found: defaultdict[QueueRef, list[tuple[tuple[object, ...], tuple[Gang, ...]]]]
    found = defaultdict(list)
    for gang in _waiting(cache):
        if gang.pending:
            waiting[cache.gang_queue.group_of(gang.key)].append(gang)
        elif gang.queue is not None and forest.path(gang.queue):
            found[gang.queue].append(((WITHOUT_PODS, gang.created_at, str(gang.key)), (gang,)))
    for mates in waiting.values():
        ref = mates[0].queue
        if ref is not None and forest.path(ref):
            group = GangGroup(tuple(mates))
            effective = lines.effective_priority(group, forest.queue(ref), rules.queues, now)
            has_turn = all(in_line(cache.gang_queue.infos[gang.key]) for gang in mates)
            key = lines.key(forest.accounts, group, effective)
            found[ref].append(((not has_turn, *key), group.gangs))
    return {
        ref: tuple(gang.key for _, gangs in sorted(line) for gang in gangs)
        for ref, line in found.items()
    }


def _waiting(cache: Cache) -> Iterator[Gang]:
    """Yield the waiting gangs as a cycle refused them, or as they are if no cycle has."""
    for info in cache.gang_queue.infos.values():
        if waits(info, cache):
            refusal = info.verdict.refusal
            if refusal is not None:
                yield refusal.gang
            else:
                yield replace(info.as_gang(cache.schedulers), queue=cache.queue_of(info.key))
