"""What the page remembers of the last 24 hours, in memory and on request in a file.

It remembers decisions that the API server no longer has, states in which gangs were seen, and GPUs.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from gang_scheduler.inspection.explaining.timeline import Current
from gang_scheduler.inspection.listing.gangs import Row
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.gpu_history import GpuHistory, Use
from gang_scheduler.page.history_file import (
    ChangeLine,
    DecisionLine,
    HistoryFile,
    Line,
    ReadingLine,
)
from gang_scheduler.page.timeline import DAY, HOUR, MINUTE

KEPT_SECONDS: Final = DAY
"""How long the page remembers decisions, states of gangs, and the use of GPUs."""
MOST_DECISIONS: Final = 10_000
MOST_CHANGES: Final = 50_000
EVENTS_SECONDS: Final = HOUR
"""The API server keeps Events for about this long, so a shorter pause loses none."""
AHEAD_SECONDS: Final = 5 * MINUTE
"""The clock of the scheduler may be ahead of the page's by this much."""
_Subject = tuple[str, str, str, str]


class Known(NamedTuple):
    """Everything that is remembered at a reading.

    `events` are all decisions, and `older` those that the reading lacks. Everything is known
    `since` a time, in seconds since the epoch, except in the `gaps`. `problem` says why the file
    could not be written; "" if it could.
    """

    events: tuple[SchedulerEvent, ...] = ()
    older: tuple[SchedulerEvent, ...] = ()
    uses: tuple[Use, ...] = ()
    seen: Mapping[GangKey, Sequence[ChangeLine]] = {}
    since: int = 0
    gaps: tuple[tuple[int, int], ...] = ()
    in_file: bool = False
    problem: str = ""

    def states_of(self, gang: GangKey) -> list[Current]:
        """Return the states in which a gang was seen, the oldest first."""
        return [
            Current(each.at, each.state, ": ".join(filter(None, (each.reason, each.words))))
            for each in self.seen.get(gang, ())
        ]


NOTHING: Final = Known()


def share_of(numbers: Iterable[int], most: int) -> int:
    """Return how many records each namespace may have, so that all have at most `most`.

    Namespaces with fewer leave their room to the others.
    """
    ordered, left = sorted(numbers), most
    for place, number in enumerate(ordered):
        share = max(1, left // (len(ordered) - place))
        if number > share:
            return share
        left -= number
    return most


class Past:
    """Remembers readings. For one thread."""

    def __init__(self, file: HistoryFile | None = None) -> None:
        self._file = file
        self._events: dict[_Subject, list[DecisionLine]] = {}
        self._seen: dict[GangKey, list[ChangeLine]] = {}
        self._gpus = GpuHistory(KEPT_SECONDS)
        self._read: deque[int] = deque()
        self._must_rewrite = file is not None
        for line in file.lines if file is not None else ():
            self._take(line)

    @property
    def in_file(self) -> bool:
        """Whether the history survives the process."""
        return self._file is not None

    def noted(
        self, at: int, events: Sequence[SchedulerEvent], rows: Sequence[Row], use: Use | None
    ) -> Known:
        """Remember a reading, and return all that is known. Linear in decisions and rows."""
        lines: list[Line] = []
        current = set()
        for each in events:
            # Users can write Events of any time: one of the future would never be forgotten.
            if max(each.first, each.last) > at + AHEAD_SECONDS:
                continue
            subject, number, is_new = self._decided(each)
            current.add((subject, number))
            if is_new:
                lines.append(self._events[subject][number])
        for change in self._changes(at, rows):
            self._take(change)
            lines.append(change)
        if begins := not self._read or at // MINUTE != self._read[-1] // MINUTE:
            lines.append(ReadingLine(at, (use.all, use.used, use.asked) if use else None))
            self._read.append(at)
        if use is not None:
            self._gpus.add(use)
        known = self._known(current)
        if begins:
            self._forget(at, {row.key for row in rows})
        return known._replace(problem=self._written(lines))

    def close(self) -> None:
        """Let another page have the file."""
        if self._file is not None:
            self._file.close()

    def _take(self, line: Line) -> None:
        if isinstance(line, DecisionLine):
            self._decided(line)
        elif isinstance(line, ChangeLine):
            key = GangKey(line.source, line.namespace, line.name)
            self._seen.setdefault(key, []).append(line)
        else:
            self._read.append(line.at)
            if line.gpus is not None:
                self._gpus.add(Use(line.at, *line.gpus))

    def _decided(self, each: SchedulerEvent) -> tuple[_Subject, int, bool]:
        """Keep a decision; return where it is kept, and whether it says anything new.

        Events of a gang's members count as one. Not all members exist at all times, so its times
        grow.
        """
        subject = (each.namespace, each.name, each.reason, each.note)
        some = self._events.setdefault(subject, [])
        last = max(each.first, each.last)
        for number, known in enumerate(some):
            covers = known.first <= each.first and last <= known.last
            if covers and each.times <= known.times:
                return subject, number, False
            if known.first <= last and each.first <= known.last:
                grown = _line(
                    each,
                    first=min(known.first, each.first),
                    last=max(known.last, last),
                    times=max(known.times, each.times),
                )
                some[number] = grown
                return subject, number, True
        some.append(_line(each, each.first, last, each.times))
        return subject, len(some) - 1, True

    def _changes(self, at: int, rows: Sequence[Row]) -> Iterator[ChangeLine]:
        """Yield the gangs whose state, or whose reason to wait, has changed."""
        for row in rows:
            known = self._seen.get(row.key)
            now = (row.state, row.wait.reason)
            if not known or (known[-1].state, known[-1].reason) != now:
                key = (row.key.source, row.key.namespace, row.key.name)
                yield ChangeLine(at, *key, row.state, row.wait.reason, row.wait.brief)

    def _known(self, current: set[tuple[_Subject, int]]) -> Known:
        events: list[SchedulerEvent] = []
        older: list[SchedulerEvent] = []
        for subject, some in self._events.items():
            for number, each in enumerate(some):
                events.append(each)
                if (subject, number) not in current:
                    older.append(each)
        events.sort(key=lambda each: (-max(each.first, each.last), each.name))
        # A decision that repeats may have begun long before the first reading.
        firsts = (each.first for each in events)
        since = max(min((self._read[0], *firsts)), self._read[0] - EVENTS_SECONDS)
        return Known(
            tuple(events),
            tuple(older),
            self._gpus.points,
            self._seen,
            max(since, self._read[-1] - KEPT_SECONDS),
            tuple(
                (before, after - EVENTS_SECONDS)
                for before, after in pairwise(self._read)
                if after - before > EVENTS_SECONDS
            ),
            self.in_file,
        )

    # Forgetting, and the file.

    def _forget(self, at: int, living: set[GangKey]) -> None:
        """Forget records that are older than 24 hours or too many, but no gang's last state.

        If there are too many, the namespaces that have most lose their oldest ones.
        """
        oldest = at - KEPT_SECONDS
        while self._read[0] < oldest:
            self._read.popleft()
        times: dict[str, list[int]] = {}
        for (namespace, *_), some in self._events.items():
            times.setdefault(namespace, []).extend(max(each.first, each.last) for each in some)
        share = share_of(map(len, times.values()), MOST_DECISIONS)
        since = {
            namespace: max(oldest, *sorted(some, reverse=True)[share - 1 : share], oldest)
            for namespace, some in times.items()
        }
        for subject, events in [*self._events.items()]:
            events[:] = [each for each in events if max(each.first, each.last) >= since[subject[0]]]
            if not events:
                del self._events[subject]
        changes = Counter[str]()
        for key, seen in self._seen.items():
            changes[key.namespace] += len(seen)
        share = share_of(changes.values(), MOST_CHANGES)
        for key, seen in [*self._seen.items()]:
            if key in living or seen[-1].at >= oldest:
                too_many = changes[key.namespace] > share
                earlier = [] if too_many else [each for each in seen[:-1] if each.at >= oldest]
                seen[:] = [*earlier, seen[-1]]
            else:
                del self._seen[key]

    def _lines(self) -> list[Line]:
        uses = {each.at // MINUTE: each for each in self._gpus.points}
        found: list[Line] = []
        for at in self._read:
            use = uses.get(at // MINUTE)
            found.append(ReadingLine(at, (use.all, use.used, use.asked) if use else None))
        found += (each for some in self._events.values() for each in some)
        found += (each for some in self._seen.values() for each in some)
        return found

    def _written(self, lines: Sequence[Line]) -> str:
        """Write lines to the file; return why that failed, "" if it did not."""
        if self._file is None:
            return ""
        try:
            if not self._must_rewrite:
                self._file.append(lines)
            number = len(self._read) + sum(map(len, self._events.values()))
            number += sum(map(len, self._seen.values()))
            if self._must_rewrite or self._file.is_mostly_old(number):
                self._file.rewrite(self._lines())
            self._must_rewrite = False
        except OSError as error:
            # Half a line may be there, so the next one writes all again.
            self._must_rewrite = True
            return f"the history cannot be written: {error.strerror}"
        return ""


def _line(each: SchedulerEvent, first: int, last: int, times: int) -> DecisionLine:
    return DecisionLine(
        namespace=each.namespace,
        name=each.name,
        reason=each.reason,
        note=each.note,
        first=first,
        last=last,
        times=times,
    )
