"""The timeline of a gang: when it waited and why, when it started and ran, and its evictions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.inspection.explaining import history
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.listing.states_and_orders import RUNNING, STARTING, WAITING
from gang_scheduler.model.consequences import GangEvent
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.gangs.gang_info import GangInfo

LACKS_MEMBERS: Final = "its members were not all created"
COMPLETE: Final = "all members that it needs were created"
UNKNOWN_SINCE: Final = "when this began is not known"
SCHEDULED: Final = "Scheduled"
EVICTED: Final = frozenset({"Preempted", "Drained", "EvictedWhole"})
WAITS: Final = frozenset(each.value for each in GangEvent if each) | {"WaitingForRoom"}
"""The Events of a gang that say why it waits."""


class Span(NamedTuple):
    """A time that a gang spent in one state, in seconds since the epoch.

    `ends` is None for the present state. `words` say why it waits, or how it was placed; "" if that
    is not known.
    """

    state: str
    begins: int
    ends: int | None = None
    words: str = ""


class Current(NamedTuple):
    """The state of a gang when the cluster was read (`at`, in epoch seconds), and why it waits."""

    at: int
    state: str
    words: str = ""


class _Mark(NamedTuple):
    """A time from which on a gang was in a state, as an object or an Event shows it.

    The mark counts only if the state before is in `only_from`; an empty set has all states.
    """

    at: int
    state: str
    words: str = ""
    only_from: frozenset[str] = frozenset()


_ANY: Final[frozenset[str]] = frozenset()
_ONLY_WAITING: Final = frozenset({WAITING})


def is_dated(info: GangInfo) -> bool:
    """Return whether the times of a gang are known; times in manifests may be made up."""
    return all(pod.has_creation_time for pod in info.observed.members.values())


def spans_of(info: GangInfo, happened: Sequence[Happened], seen: Sequence[Current]) -> list[Span]:
    """Return the states of a gang one after the other, up to the last state in which it was `seen`.

    `happened` are all known events of the gang, and `seen` its states at each reading. Linear in
    members, events and readings.
    """
    *earlier, now = seen
    spans: list[Span] = []
    marks = [*_marks(info, happened, earlier), *_of_seen(earlier, history.born_at(info))]
    for mark in sorted(marks, key=lambda each: each.at):
        _add(spans, mark)
    if not spans:
        return [Span(now.state, now.at, None, now.words or UNKNOWN_SINCE)]
    last = spans[-1]
    if last.state == now.state or (last.state, now.state) == (STARTING, RUNNING):
        # The last Event may be old. The reading knows why the gang waits now.
        spans[-1] = last._replace(state=now.state, words=now.words or last.words)
    else:
        _add(spans, _Mark(now.at, now.state, now.words or UNKNOWN_SINCE))
    return spans


def _add(spans: list[Span], mark: _Mark) -> None:
    """Add a mark to the spans, unless the gang was in that state already."""
    last = spans[-1] if spans else None
    if last is not None and mark.only_from and last.state not in mark.only_from:
        return
    if last is not None and (last.state, _gist(last.words)) == (mark.state, _gist(mark.words)):
        spans[-1] = last._replace(words=mark.words)
        return
    if last is not None and mark.state == last.state != WAITING:
        spans[-1] = last._replace(words=last.words or mark.words)
        return
    if last is not None:
        ended = last._replace(ends=mark.at)
        spans[-1:] = [ended] if ended.ends != ended.begins else []
    spans.append(Span(mark.state, mark.at, None, mark.words))


def _gist(words: str) -> str:
    return history.gist_of(Happened(0, f": {words}"))


def _of_seen(seen: Iterable[Current], born: int) -> Iterator[_Mark]:
    """Yield the states found by readings that objects do not show, such as why the gang waited.

    Objects show more exactly than readings when a state begins.
    """
    for each in seen:
        if each.at >= born:
            only_from = _ONLY_WAITING if each.state == STARTING else _ANY
            yield _Mark(each.at, each.state, each.words, only_from)


def _marks(
    info: GangInfo, happened: Sequence[Happened], seen: Sequence[Current]
) -> Iterator[_Mark]:
    pods = [*info.observed.living, *info.attempt.ended()]
    needed = max(info.observed.min_member, 1)
    complete = _quorum(pods, "created_at", needed)
    bound, running = _placed(pods, needed)
    evictions = [each.at for each in _each_time(happened) if _is_eviction(each)]
    born = history.born_at(info)
    if born:
        # Replacements of evicted or lost members do not show when the first members existed.
        is_first = complete and not any(at < complete for at in (*evictions, bound or complete))
        yield _Mark(born, WAITING, LACKS_MEMBERS if is_first or not complete else "")
        if is_first:
            yield _Mark(complete, WAITING, COMPLETE)
    watched_since = min((each.at for each in seen if each.at >= born), default=None)
    for each in _each_time(happened):
        # Readings also say why the gang waits. With Events added, one wait would appear several
        # times in different words.
        if watched_since is None or each.at < watched_since or not _is_wait(each):
            yield from _of_event(each, bound, evictions)
    if bound:
        yield _Mark(bound, STARTING)
    if running:
        yield _Mark(running, RUNNING)


def _of_event(each: Happened, bound: int, evictions: Iterable[int]) -> Iterator[_Mark]:
    """Yield the states of a gang that an Event shows; `bound`: when its quorum was bound."""
    reason, words = history.reason_of(each), history.message_of(each)
    if _is_eviction(each):
        # If the quorum was bound before the eviction and still is, only surplus members were lost.
        if not bound or each.at < bound:
            yield _Mark(each.at, WAITING, words)
    elif reason == SCHEDULED:
        # For evicted members it is not known when they ran, only that they were placed.
        is_gone = any(each.at <= at for at in evictions)
        yield _Mark(each.at, RUNNING if is_gone else STARTING, words, _ONLY_WAITING)
    elif _is_wait(each):
        yield _Mark(each.at, WAITING, words, _ONLY_WAITING)


def _is_wait(each: Happened) -> bool:
    return history.reason_of(each) in WAITS


def _is_eviction(each: Happened) -> bool:
    return history.reason_of(each) in EVICTED or each.what.startswith(history.EVICTED_FOR)


def _each_time(happened: Iterable[Happened]) -> Iterator[Happened]:
    """Yield all transitions; a repeated one comes once more, at the time of its last repetition."""
    for each in happened:
        yield each
        if each.last > each.at:
            yield each._replace(at=each.last)


def _quorum(pods: Iterable[Pod], field: str, needed: int) -> int:
    """Return when `needed` members had a time in this field, in seconds; 0 if fewer have one."""
    times = sorted(getattr(pod, field) for pod in pods if getattr(pod, field))
    return int(times[needed - 1]) if len(times) >= needed else 0


def _placed(pods: Sequence[Pod], needed: int) -> tuple[int, int]:
    """Return when the present members were bound, and when all of them ran; 0 for "not yet".

    Replacements of other members were created later, and do not count.
    """
    times = [pod.scheduled_at for pod in pods if pod.scheduled_at]
    if len(times) < needed:
        return 0, _quorum(pods, "started_at", needed)
    bound = min(times)
    started = (pod.started_at for pod in pods if pod.created_at <= bound)
    return bound, max(started, default=0)
