"""The history of a gang: transitions, from its objects and from Events.

Events come from outside: of a live cluster, or of a snapshot of one.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gang_scheduler.decode import fields
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.model.wording import counted
from gang_scheduler.report.events import CONTROLLER
from gang_scheduler.scheduler.explanation.findings import Moment, Part
from gang_scheduler.state.gangs.gang_info import GangInfo

if TYPE_CHECKING:
    from gang_scheduler.inspection.past_events import Event

NOT_SCHEDULED: Final = "waits since then"
EVICTED_FOR: Final = "evicted for "
IN_NO_SNAPSHOT: Final = "Events: the snapshot has none"
MAY_NOT_BE_LISTED: Final = "Events: they may not be listed"
_MORE_PODS: Final = re.compile(r" \(and \d+ more pods?\)$")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_ON_A_NODE: Final = re.compile(r" to \S+")
MOST: Final = 10
"""At most this many transitions are shown: the last ones."""


class Happened(NamedTuple):
    """Something that happened `at` a time, in seconds since the epoch.

    It happened so many `times`, and most recently at `last`. `of` is the name of the object that an
    Event is about.
    """

    at: int
    what: str
    times: int = 1
    last: int = 0
    of: str = ""

    def and_again(self, later: "Happened") -> "Happened":
        """Return both as one. If they have the same time, one Event on several pods."""
        if later.at <= max(self.at, self.last):
            times, last = max(self.times, later.times), max(self.last, later.last)
            return self._replace(times=times, last=last)
        times, last = self.times + later.times, max(later.at, later.last)
        return Happened(self.at, later.what, times, last, later.of)


def history_of(info: GangInfo, events: Iterable[Happened] = (), since: int = 0) -> list[Happened]:
    """Return the last transitions since a time, the oldest first. Linear in members."""
    return changes(all_of(info, events, since))[-MOST:]


def all_of(info: GangInfo, events: Iterable[Happened] = (), since: int = 0) -> list[Happened]:
    """Return all that happened since a time, with repetitions, the oldest first."""
    # In the same second, members' transitions come first.
    members = [*_of_members(info)]
    first = min((each.at for each in members), default=0)
    # A condition keeps the time of its status while its reason changes.
    conditions = (each._replace(at=max(each.at, first)) for each in _of_conditions(info))
    # Older Events are about deleted objects of the same name.
    born = born_at(info)
    occurred = _occurrences([each for each in sorted(events) if each.at >= born], info)
    known = [*members, *_of_evictions(info), *occurred, *conditions]
    recent = (each for each in known if each.at and each.at >= since)
    return sorted(recent, key=lambda each: each.at)


def of_events(events: Iterable["Event"]) -> tuple[Happened, ...]:
    """Return the Events of the scheduler; Events of others are not about gangs."""
    return tuple(_of_event(each) for each in events if each.reporter == CONTROLLER)


def of_snapshot(
    events: Iterable[SchedulerEvent], namespace: str, names: Collection[str]
) -> tuple[Happened, ...]:
    """Return the Events of a snapshot about these objects. Events with pseudonyms have no notes."""
    return tuple(
        _of_event(each) for each in events if each.namespace == namespace and each.name in names
    )


def _of_event(event: "Event | SchedulerEvent") -> Happened:
    what = ": ".join(filter(None, (event.reason, _first_sentence(event.note))))
    last = event.last if event.times > 1 else 0
    return Happened(event.first, what, times=event.times, last=last, of=event.name)


class Transition(Part, frozen=True, omit_defaults=True):
    """Something that happened `at` a time.

    If it happened more than once, `times` is the number, and `last` the time of the last one.
    """

    at: Moment
    what: str
    times: int | None = None
    last: Moment | None = None


def part_of(each: Happened) -> Transition:
    """Return a transition as a part of the document."""
    at = Moment(each.at)
    if each.times <= 1:
        return Transition(at, each.what)
    return Transition(at, each.what, each.times, Moment(each.last))


def born_at(info: GangInfo) -> int:
    """Return when the gang's object was created, else when its oldest member was, in seconds."""
    spec = info.observed.spec
    if spec is not None and spec.created_at:
        return int(spec.created_at)
    created = [int(pod.created_at) for pod in info.observed.members.values()]
    return min(created, default=0)


def changes(ordered: Iterable[Happened]) -> list[Happened]:
    """Return the history without repetitions.

    A condition and its Event report the same with different reasons. Messages that differ only in
    numbers count as one, with the last numbers.
    """
    occurred: dict[str, Happened] = {}
    before = ""
    for each in ordered:
        gist, message = gist_of(each), message_of(each)
        if gist in occurred:
            occurred[gist] = occurred[gist].and_again(each)
        elif message != before:
            occurred[gist] = each
        before = message
    return list(occurred.values())


def _occurrences(events: Collection[Happened], info: GangInfo) -> Iterator[Happened]:
    """Yield the Events; pods with the same Event at the same time share one.

    Events of pods are left out if the gang has an Event with the same reason at that time.
    """
    gang = info.key.name.partition("/")[0]
    of_gang = {(each.at, reason_of(each)) for each in events if each.of in ("", gang)}
    found: dict[tuple[int, str], list[Happened]] = {}
    for each in events:
        if each.of in ("", gang):
            yield each
        elif (each.at, reason_of(each)) not in of_gang:
            found.setdefault((each.at, gist_of(each)), []).append(each)
    for first, *others in found.values():
        pods = len({each.of for each in others} - {first.of})
        more = f" (and {counted(pods, 'more pod')})" if pods else ""
        yield first._replace(
            what=f"{first.what}{more}", times=max(e.times for e in (first, *others))
        )


def reason_of(each: Happened) -> str:
    """Return the reason of an Event, or the type of a condition."""
    return each.what.partition(": ")[0]


def gist_of(each: Happened) -> str:
    """Return a text with `#` for its numbers and for the name of its pod, to compare texts.

    The number of other pods with the same Event is left out, since the gang's own Event has none.
    A text without a reason, such as a count of members, stays as it is.
    """
    reason, colon, message = _MORE_PODS.sub("", each.what).partition(": ")
    if each.of:
        message = _ON_A_NODE.sub(" to #", message.replace(each.of, "#"))
    return f"{reason}: {_NUMBER.sub('#', message)}" if colon else each.what


def message_of(each: Happened) -> str:
    """Return the message of an Event or a condition."""
    _, _, message = each.what.partition(": ")
    return message or each.what


def _of_members(info: GangInfo) -> Iterator[Happened]:
    pods = [*info.observed.members.values()]
    created = [int(pod.created_at) for pod in pods if pod.created_at]
    needed = info.observed.min_member
    if len(created) >= max(needed, 1):
        at = sorted(created)[max(needed, 1) - 1]
        yield Happened(
            at, f"complete: {counted(needed, 'member')} created" if needed > 1 else "created"
        )
    yield from _counted(pods, "scheduled_at", "bound")
    yield from _counted(pods, "started_at", "running")


def _counted(pods: Iterable[Pod], field: str, what: str) -> Iterator[Happened]:
    """Yield how many members have a time in this field, at each of these times."""
    times = sorted(getattr(pod, field) for pod in pods if getattr(pod, field))
    number = 0
    for at, some in groupby(times):
        number += len(list(some))
        yield Happened(int(at), f"{counted(number, 'member')} {what}")


def _of_conditions(info: GangInfo) -> Iterator[Happened]:
    spec = info.observed.spec
    for each in (spec.status.get("conditions") or []) if spec is not None else []:
        at = fields.timestamp_or_zero(each.get("lastTransitionTime"))
        if at and (text := _text_of(each)):
            yield Happened(at, text)


def _text_of(condition: Mapping[str, Any]) -> str:
    """Return the text of a condition; "" if it says nothing new."""
    kind = str(condition.get("type"))
    message = _first_sentence(str(condition.get("message", "")))
    if condition.get("status") == "True":
        return f"{kind}: {message}" if message else kind
    # The reason and message are the current ones, and may have changed often since.
    return NOT_SCHEDULED if kind == "Scheduled" and condition.get("reason") else ""


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".")


def _of_evictions(info: GangInfo) -> Iterator[Happened]:
    spec = info.observed.spec
    found = spec.evictions if spec is not None else None
    for each in found.yielded if found is not None else ():
        yield Happened(each.at, f"{EVICTED_FOR}{each.gang}: {each.eviction_class.shown}")
