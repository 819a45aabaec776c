"""The timeline of a gang: when it waited and why, when it started and ran, and its evictions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.inspection.explaining import history
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.listing.states_and_orders import RUNNING, STARTING, WAITING
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import GangEvent
from gang_scheduler.state.gangs.gang_info import GangInfo

LACKS_MEMBERS: Final = "its members were not all created"
COMPLETE: Final = "all members that it needs were created"
UNKNOWN_SINCE: Final = "when this began is not known"
SCHEDULED: Final = "Scheduled"
EVICTED: Final = frozenset({"Preempted", "Drained", "EvictedWhole"})
WAITS: Final = frozenset(each.value for each in GangEvent if each) | {"WaitingForRoom"}
"""The Events of a gang that say why it waits."""


class Span(NamedTuple):
    """A time in one state, in seconds since the epoch; `ends` is None for the state of now.

    `words` say why it waits, or how it was placed; "" if that is not known.
    """

    state: str
    begins: int
    ends: int | None = None
    words: str = ""


class Current(NamedTuple):
    """The state of a gang at the time of a reading, and why it waits."""

    at: int
    state: str
    words: str = ""


class _Mark(NamedTuple):
    """A time from which on a gang was in a state.

    `only_from` are the states from which it can get there by this mark, empty for all.
    """

    at: int
    state: str
    words: str = ""
    only_from: frozenset[str] = frozenset()


_ANY: Final[frozenset[str]] = frozenset()
_ONLY_WAITING: Final = frozenset({WAITING})


def is_dated(info: GangInfo) -> bool:
    """Return whether the times of a gang are known: those of manifests may be made up."""
    return all(pod.dated for pod in info.observed.members.values())


def spans_of(info: GangInfo, happened: Sequence[Happened], seen: Sequence[Current]) -> list[Span]:
    """Return the states of a gang one after the other, up to the last in which it was `seen`.

    `happened` is all of it. Linear in members, in what happened and in what was seen.
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
        # What was said last may be old: the reading knows why the gang waits now.
        spans[-1] = last._replace(state=now.state, words=now.words or last.words)
    else:
        _add(spans, _Mark(now.at, now.state, now.words or UNKNOWN_SINCE))
    return spans


def _add(spans: list[Span], mark: _Mark) -> None:
    """Add a mark to the spans, unless it says nothing new."""
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
    """Yield the states that readings found, for what no object tells: why it waited, its end.

    Objects tell the beginning of a state more exactly, and readings find it later.
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
        # Members that replace evicted or lost ones do not tell when the first ones were there.
        is_first = complete and not any(at < complete for at in (*evictions, bound or complete))
        yield _Mark(born, WAITING, LACKS_MEMBERS if is_first or not complete else "")
        if is_first:
            yield _Mark(complete, WAITING, COMPLETE)
    watched_since = min((each.at for each in seen if each.at >= born), default=None)
    for each in _each_time(happened):
        # Readings say why it waits, too: both would tell one wait in turns in different words.
        if watched_since is None or each.at < watched_since or not _is_wait(each):
            yield from _of_event(each, bound, evictions)
    if bound:
        yield _Mark(bound, STARTING)
    if running:
        yield _Mark(running, RUNNING)


def _of_event(each: Happened, bound: int, evictions: Iterable[int]) -> Iterator[_Mark]:
    """Yield what an Event says of the state of its gang; `bound` is when its quorum of now was."""
    reason, words = history.reason_of(each), history.message_of(each)
    if _is_eviction(each):
        # A gang whose quorum was bound before, and is so now, lost only members beyond it.
        if not bound or each.at < bound:
            yield _Mark(each.at, WAITING, words)
    elif reason == SCHEDULED:
        # When members ran that are gone is not known, but that they were placed is.
        is_gone = any(each.at <= at for at in evictions)
        yield _Mark(each.at, RUNNING if is_gone else STARTING, words, _ONLY_WAITING)
    elif _is_wait(each):
        yield _Mark(each.at, WAITING, words, _ONLY_WAITING)


def _is_wait(each: Happened) -> bool:
    return history.reason_of(each) in WAITS


def _is_eviction(each: Happened) -> bool:
    return history.reason_of(each) in EVICTED or each.what.startswith(history.EVICTED_FOR)


def _each_time(happened: Iterable[Happened]) -> Iterator[Happened]:
    """Yield what happened, and once more what happened again later."""
    for each in happened:
        yield each
        if each.last > each.at:
            yield each._replace(at=each.last)


def _quorum(pods: Iterable[Pod], field: str, needed: int) -> int:
    """Return when as many members as are needed had a time in this field; 0 if they have not."""
    times = sorted(getattr(pod, field) for pod in pods if getattr(pod, field))
    return int(times[needed - 1]) if len(times) >= needed else 0


def _placed(pods: Sequence[Pod], needed: int) -> tuple[int, int]:
    """Return when the members of now were bound, and when all ran; 0 if they are not or do not.

    Members that replace others were created later, and do not count.
    """
    times = [pod.scheduled_at for pod in pods if pod.scheduled_at]
    if len(times) < needed:
        return 0, _quorum(pods, "started_at", needed)
    bound = min(times)
    started = (pod.started_at for pod in pods if pod.created_at <= bound)
    return bound, max(started, default=0)
