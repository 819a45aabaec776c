"""The lines of each section: where a gang runs; or its position, quota, room and preemption."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import structs

from gang_scheduler.api.annotations import DISABLE_PREEMPTIBLE, QUOTA_PREEMPTIBLE
from gang_scheduler.inspection.explaining.document_fields import ClaimedDevices, Document, NodeRanks
from gang_scheduler.inspection.explaining.first_sentence import duration, joined_with_and, listed
from gang_scheduler.inspection.explaining.history import Transition
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.plan import PreemptionVerdict
from gang_scheduler.model.queues import NONE, ROOT
from gang_scheduler.model.wording import counted, ordinal
from gang_scheduler.scheduler.explanation.findings import (
    Amount,
    Borrower,
    ClassNodes,
    DomainRoom,
    DomainSlots,
    Evictions,
    Holder,
    LabelHint,
    Moment,
    NearestNode,
    NodeReason,
    Protection,
    QueueRights,
    QuotaLine,
    RejectedNodes,
    RequestDevices,
    Spared,
    Start,
    StartBasis,
    Verdict,
    Victims,
    Where,
)

DOMAINS: Final = 5
"""This many domains have a line without `--all`."""


class View(NamedTuple):
    """The width of the text, and whether it shows all domains (`--all`) and examples of nodes."""

    width: int = 100
    all_domains: bool = False
    wide: bool = False


class Line(NamedTuple):
    """A line of a section. `under`: it stands below the name of the section, not next to it."""

    text: str
    under: bool = False
    hanging: int = 4


NOT_KNOWN: Final = "not known with your rights"
Part = Callable[[Document, View], list[Line]]


# Lines about a running gang: where it runs, since when, and which gangs could evict it.


def running_lines(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on where members run, and since when."""
    found = document.running
    if found is None:
        return []
    now, since = document.read_at, found.since
    where = short(found.domain) if found.domain else "the cluster"
    spans = ", ".join(f"{each.domains} {each.layer}" for each in found.spans)
    made = [Line(f"{counted(found.members, 'member')} in {where}{f': {spans}' * bool(spans)}")]
    if since is not None:
        waited = found.waited_seconds
        after = f", after a wait of {duration(waited)}" if waited is not None else ""
        made.append(
            Line(f"since {table_layout.moment(since, now)} UTC, for {duration(now - since)}{after}")
        )
    made.append(Line(_by_node(found.ranks)))
    if found.devices is not None:
        made.append(Line(_devices(found.devices)))
    if found.elastic is not None:
        made.append(Line(_elastic(found.elastic)))
    if found.replicas_stay is not None:
        made.append(Line(found.replicas_stay))
    if found.degraded is not None:
        made.append(Line(found.degraded))
    return made


def _by_node(ranks: Sequence[NodeRanks]) -> str:
    return listed([f"{each.node}: {_run(each.ranks)}" for each in ranks], 8)


def _run(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]}-{ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks))}"


def _elastic(found: Mapping[str, Any]) -> str:
    text = f"{found['now']} workers, of {found['min']} to {found['max']}"
    return f"{text}; may grow again at {found['nextAllowed']}" if found["nextAllowed"] else text


def evictable_lines(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on which gangs could evict this one."""
    if document.running is None:
        return []
    known = document.running.evictable
    if known is None:
        return [Line(NOT_KNOWN)]
    if not known.pods:
        return [Line("none of its pods may be evicted now")]
    queue = f", or other queues that reclaim from {known.queue}" if known.queue else ""
    some = counted(known.pods, "pod")
    above = f"gangs of priority {known.from_priority} or more"
    return [Line(f"{some} may be evicted for {above}{queue}")]


# Lines about the position of a waiting gang, and when it will start.


def position(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on the place of the gang in its queue."""
    found = document.position
    if found is None:
        return []
    ahead = found.place - 1
    queue = found.queue
    places = []
    if queue:
        line = "without a queue" if queue == NONE.name else f"in {queue}"
        places.append(f"{ordinal(found.place)} of {found.of} {line}")
    if found.place_in_cluster is not None:
        places.append(f"{ordinal(found.place_in_cluster)} of {found.of_cluster} in the cluster")
    text = ", ".join(places)
    asked = _asked_ahead(found.ahead) if ahead else ""
    if asked:
        which = "the one before it asks" if ahead == 1 else f"the {ahead} before it ask"
        text += f"; {which} for {asked}"
    return [Line(text + _of_no_use(ahead, found.never_start))]


def _of_no_use(ahead: int, never: int) -> str:
    """Return how many of the gangs ahead can never start."""
    if not never:
        return ""
    if ahead == 1:
        return "; it can never start as it is"
    are = "it is" if never == 1 else "they are"
    return f"; {never} of the {ahead} can never start as {are}"


def _asked_ahead(ahead: Mapping[str, Amount]) -> str:
    extended = {name: text for name, text in ahead.items() if "/" in name}
    some = extended or {name: text for name, text in ahead.items() if name != "pods"}
    return listed([f"{text} {name}" for name, text in some.items()])


def start(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on when the gang starts."""
    found = document.start
    if found is None:
        return []
    position = document.position
    first = position is None or (position.place_in_cluster or position.place) == 1
    return [Line(_start(found, document.read_at, first=first))]


def _start(found: Start, now: Moment, *, first: bool) -> str:
    after = found.after or "another gang"
    if found.basis is StartBasis.NEVER:
        return "never as it is: it does not fit even once all gangs that run have ended"
    if found.at is None:
        if found.basis is StartBasis.RESERVED:
            return f"reserved, once {after} has ended; that has no declared end"
        return f"unknown: {after} has no declared end"
    when = f"about {table_layout.moment(found.at, now)} UTC (in {duration(found.at - now)})"
    if found.basis is StartBasis.RESERVED:
        return f"{when}: reserved, once {after} has ended"
    ends = f"{after} ends then, as declared"
    if first:
        return f"{when}: {ends}"
    return f"not before {when}: {ends}, and gangs before it may take the room"


def where(document: Document, view: View) -> list[Line]:
    """Return the lines on how much room each domain has."""
    found = document.where
    if found is None or document.verdict is Verdict.STARTS:
        return []
    if not found.layer:
        room = found.domains[0]
        members = f"{_slots(room, found)} {'member' if found.needed == 1 else 'members'}"
        return [Line(f"on any node: room for {members}{_why(room, found.needed)}")]
    how = "must gather" if found.must else "would rather gather"
    members = counted(found.needed, "member")
    made = [Line(f"{how} in {found.layer}: room for {members} is needed")]
    shown = found.domains if view.all_domains else found.domains[:DOMAINS]
    names = _names(each.domain or "" for each in shown)
    width = max(map(len, names), default=0)
    for name, each in zip(names, shown, strict=True):
        slots = _slots(each, found)
        text = f"{name:<{width}}   {slots}{_why(each, found.needed, '   ')}"
        made.append(Line(text, under=True, hanging=width + len(slots) + 8))
    others = found.domains[len(shown) :]
    if others:
        best = max(each.slots for each in others)
        made.append(Line(f"{len(others)} more, none above {best}   (--all)", under=True))
    return made


def _names(domains: Iterable[str]) -> list[str]:
    """Return domains without their paths, unless two would have the same name."""
    paths = list(domains)
    names = [short(each) for each in paths]
    return names if len({*names}) == len(names) else paths


def _slots(each: DomainSlots, found: Where) -> str:
    most = "at most " if found.at_most and each.slots else ""
    return f"{most}{each.slots} of {found.needed}"


def short(domain: str) -> str:
    """Return LAYER/NAME for the path of a domain."""
    layer, *path = domain.split("/")
    return "/".join((layer, *path[-1:]))


def _why(each: DomainSlots, needed: int, between_them: str = "; ") -> str:
    """Return why no more members fit in a domain."""
    if each.slots >= needed:
        return f"{between_them}there is room"
    said = "; ".join(_obstacles(each)) if isinstance(each, DomainRoom) else ""
    return f"{between_them}{said}" if said else ""


def _obstacles(each: DomainRoom) -> Sequence[str]:
    said = []
    near = _in_the_way(each.nearest)
    if near is not None:
        beside = f" beside {counted(near.beside, 'member')}" if near.beside else ""
        free = f"{near.node}: {near.free} of {near.asked} {near.resource} free{beside}"
        holders = ", ".join(_holder(one) for one in near.holders[:2])
        said.append(f"{free}, {holders}" if holders else free)
    others = [one for one in each.rejections if near is None or not _is_full(one)]
    said += [f"{counted(one.nodes, 'node')}: {_reason(one.reason)}" for one in others[:2]]
    if not said and each.filled:
        said.append(f"its {counted(each.filled, 'node')} would be full of members")
    return said


def _is_full(rejection: RejectedNodes) -> bool:
    """Return whether nodes only lack resources, so that the nearest node can stand for all."""
    return rejection.reason.startswith(("Insufficient ", "Too many pods"))


def _in_the_way(near: NearestNode | None) -> NearestNode | None:
    """Return the nearest node; None if only members of the gang itself fill it."""
    return None if near is None or (near.beside and not near.holders) else near


def _holder(holder: Holder) -> str:
    name = holder.gang or "gangs before it"
    return f"{name} {'has' if holder.gang else 'take'} {holder.amount}"


def _reason(words: str) -> str:
    """Return kube-scheduler's words without their noun."""
    for noun in ("node(s) were ", "node(s) had ", "node(s) have ", "node(s) "):
        if words.startswith(noun):
            return words.removeprefix(noun)
    return words


def nodes(document: Document, view: View) -> list[Line]:
    """Return the lines on how many nodes take one member, and why the other nodes do not."""
    made = []
    found = document.nodes or ()
    for each in found:
        of = f" for {_like(each)}" if len(found) > 1 else ""
        reasons = [f"{one.nodes} {_reason(one.reason)}" for one in each.reasons]
        taking = [_taking(each.fitting)] if each.fitting else []
        made.append(Line(f"{each.nodes}{of}: {', '.join([*taking, *reasons])}"))
        if view.wide:
            made += [Line(_examples(one), under=True) for one in each.reasons]
        if view.wide or not each.fitting:
            made += [Line(_selector(one), under=True) for one in each.selectors]
        if each.devices is not None:
            made.append(Line(f"the nearest node for its claims is {each.devices.node}"))
            made += [Line(_request(one), under=True) for one in each.devices.requests]
    return made


def _request(each: RequestDevices) -> str:
    """Return how many devices of the best node are left after each condition of a request."""
    said = [f"{counted(each.on_node, 'device')} there"]
    before = each.on_node
    for number, words in (
        (each.of_class, f"of class {each.device_class}"),
        (each.matching, "match its selectors"),
        (each.not_tainted, "have no taint that it does not tolerate"),
        (each.with_capacity, "have the capacity"),
        (each.free, "free"),
    ):
        if number != before or words == "free":
            said.append(f"{number} {words}")
        before = number
    return f"request {each.request} needs {each.needed}: {', '.join(said)}"


def _devices(found: Sequence[ClaimedDevices]) -> str:
    each = [f"{one.pod} {one.claim} {', '.join(one.devices)}" for one in found]
    return f"devices: {listed(each, 4)}"


def _like(each: ClassNodes) -> str:
    others = each.pods - 1
    return f"{each.pod} and {others} like it" if others else each.pod


def _taking(number: int) -> str:
    return f"{number} {'takes' if number == 1 else 'take'} a member now"


def _examples(reason: NodeReason) -> str:
    more = reason.nodes - len(reason.some)
    names = ", ".join(reason.some) + (f" and {more} more" if more else "")
    return f"{_reason(reason.reason)}: {names}"


def _selector(found: LabelHint) -> str:
    number = counted(found.nodes, "node") if found.nodes else "no node"
    others = ", ".join(f"{each.value} ({each.nodes})" for each in found.others)
    absent = "" if found.nodes else "; no node has that label"
    instead = f"; {found.key} has {others}" if others else absent
    return f"nodeSelector {found.key}={found.value}: {number}{instead}"


def work(victims: Iterable[Victims], document: Document) -> str:
    """Return how long the gangs of victims have run; "" if it is not known."""
    ran = [document.read_at - each.since for each in victims if each.since is not None]
    return f", {duration(max(ran))} of work" if ran else ""


def history(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines with the last transitions, and with the parts that could not be read."""
    now = document.read_at
    lines = [
        Line(
            f"{table_layout.moment(each.at, now)}  {each.what}{_again(each, now)}",
            under=True,
            hanging=9,
        )
        for each in document.history or ()
    ]
    lacks = document.history_lacks
    return [*lines, Line(f"without {lacks}", under=True)] if lacks else lines


def _again(each: Transition, now: int) -> str:
    """Return how often something happened, and when it did last."""
    if each.last is None:
        return ""
    return f" ({each.times} times, last at {table_layout.moment(each.last, now)})"


# Lines about evictions: the victims, or the rule that forbids all evictions.

SPARED: Final = {
    ProtectedBy.LABEL: f"the label {DISABLE_PREEMPTIBLE} or {QUOTA_PREEMPTIBLE} forbids it",
    ProtectedBy.POD_GROUP: "spec.preemptable: false of its PodGroup forbids it",
    ProtectedBy.JOB: "the Job could end for good, and has no podFailurePolicy",
    ProtectedBy.MIN_RUNTIME: "the minimum run time of the gang is not over",
    ProtectedBy.OTHER_SCHEDULER: "another scheduler placed it",
    ProtectedBy.PINNED: "the owner would create it again on the same node",
    ProtectedBy.SYSTEM: "its priority is that of the system",
    ProtectedBy.BINDING: "it is being bound",
}
"""The protections of pods, apart from their priority, in words."""
SWITCHED_OFF: Final = "none: preemption is switched off (setting preemption)"


def preemption_lines(document: Document, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return the lines on the evictions that make room, or on why none are possible."""
    found = document.preemption
    if found is None:
        return []
    if found.victims:
        return [Line(_victims(found.victims, document))]
    return [Line(_forbidden(found, document.priority or 0))]


def _victims(victims: Sequence[Victims], document: Document) -> str:
    number = sum(each.number for each in victims)
    pods = listed([name for each in victims for name in each.pods])
    return f"evicts {counted(number, 'pod')}: {pods}{work(victims, document)}"


def _forbidden(found: Evictions, priority: int) -> str:
    if found.verdict is PreemptionVerdict.TERMINATING:
        leaving = found.leaving
        leaves = "leaves" if leaving == 1 else "leave"
        named = f", {listed(found.awaited)}" if found.awaited else ""
        return f"none more: {counted(leaving, 'pod')} {leaves} already{named}"
    known, rights = found.protection, found.rights
    if found.message:
        said = found.message.removesuffix(".")
        blocked = found.verdict is PreemptionVerdict.BLOCKED
        return said if blocked else f"{said}{_kept(known)}"
    if found.switched_off or found.queue_forbids:
        return SWITCHED_OFF if found.switched_off else "none: its queue evicts no pods"
    if known is None:
        return "none: there is no running pod to evict"
    if rights is None:
        return _protected(known, priority)
    return f"{_in_queues(rights)}{_kept(structs.replace(known, ranked=0))}"


def _kept(known: Protection | None) -> str:
    """Return how many pods are protected by priority, and how many by something else."""
    if known is None:
        return ""
    parts = [_ranked(known)] if known.ranked else []
    parts += [_spared(each) for each in known.spared_by]
    if known.under_budget:
        of = f", such as {known.of_budget}" if known.of_budget else ""
        parts.append(
            f"{counted(known.under_budget, 'pod')} would be evicted last: a PodDisruptionBudget "
            f"allows no eviction{of}"
        )
    return f"; {'; '.join(parts)}" if parts else ""


def _ranked(known: Protection) -> str:
    rank = "ranks" if known.ranked == 1 else "rank"
    of = f"{known.ranked} of {counted(known.pods, 'pod')}"
    return f"{of} {rank} no lower, the lowest at {known.lowest_of_ranked}{_such(known.nearest)}"


def _spared(each: Spared) -> str:
    stay = f"{counted(each.pods, 'pod')} {'stays' if each.pods == 1 else 'stay'}"
    return f"{stay}: {SPARED[each.reason]}{_such(each.example)}"


def _such(pod: str | None) -> str:
    return f" ({pod})" if pod else ""


def _in_queues(rights: QueueRights) -> str:
    """Return why pods of its own queue and of other queues cannot be evicted."""
    return f"none: {_of_own(rights)}; {_of_others(rights)}"


def _of_own(rights: QueueRights) -> str:
    own, lower = rights.own_pods, rights.own_lower
    of = "of gangs without a queue" if rights.queue == NONE.name else f"of {rights.queue}"
    if not own:
        return f"no pod {of} runs"
    if lower:
        return (
            f"{counted(lower, 'pod')} {of} have a lower priority, but evicting them makes too "
            "little room, or another rule forbids it"
        )
    return f"by priority none of the {counted(own, 'pod')} {of} may be evicted"


def _of_others(rights: QueueRights) -> str:
    """Return why pods of other queues cannot be evicted."""
    borrowing = rights.borrowing
    if not borrowing:
        return "no pod runs in a queue that uses more than its own quota"
    some = f"{counted(borrowing, 'pod')} of queues that use more than their own quota"
    if rights.reclaims:
        return (
            f"{some} could be reclaimed, but evicting them makes too little room, or another rule "
            "forbids it"
        )
    stay = "stays" if borrowing == 1 else "stay"
    if not rights.goes_over:
        return f"{some} {stay}: its queue takes nothing back"
    if rights.queue == NONE.name:
        return f"{some} {stay}: gangs without a queue have nothing of their own to take back"
    return f"{some} {stay}: with this gang {rights.queue} would use more than its own quota, too"


def _protected(known: Protection, priority: int) -> str:
    """Return why running pods cannot be evicted."""
    number = known.pods
    if known.ranked == number:
        every = "the only pod that runs has" if number == 1 else f"all {number} pods that run have"
        lowest = f"{known.lowest_of_ranked} or more{_such(known.nearest)}"
        return f"none: {every} priority {lowest}, and it has {priority}"
    if not known.lower:
        return f"none{_kept(known).replace(';', ':', 1)}"
    some = counted(known.lower, "pod")
    said = (
        f"none: evicting the {some} of lower priority makes too little room, or another rule "
        "forbids it"
    )
    return f"{said}{_kept(known)}"


# Lines about quota: the quota and usage of a queue, the request of the gang, and the shortage.

WITHOUT_QUEUE: Final = "gangs without a queue"
ALL: Final = "all queues together"


def quota_lines(document: Document, view: View) -> list[Line]:
    """Return the lines on the gang's queue, and on ancestors that are short; if `wide`, on all."""
    found = document.quota or ()
    flavored = len({each.flavor for each in found}) > 1
    own = [each for each in found if each.queue == found[0].queue]
    named = {each.resource for each in own if each.held_by or not each.short}
    above = (each for each in found[len(own) :] if view.wide or _tells_more(each, named))
    return [Line(_sentence(each, flavored=flavored)) for each in (*own, *above)]


def _tells_more(each: QuotaLine, named: set[str]) -> bool:
    return each.short > 0 and each.resource not in named


def _sentence(each: QuotaLine, *, flavored: bool) -> str:
    what = f"{each.resource} of {each.flavor}" if flavored else each.resource
    ahead = f", and gangs before it take {each.ahead}" if each.ahead else ""
    return f"{_what_it_has(each, what)}{ahead}; {_what_is_added(each)}"


def _what_it_has(each: QuotaLine, what: str) -> str:
    """Return the words on the quota of a queue, and how much of it is used."""
    name, used = _subject(each.queue), each.used
    several = name in (WITHOUT_QUEUE, ALL)
    has, uses = ("have", "use") if several else ("has", "uses")
    if not each.nominal:
        borrowed = ", all of it borrowed" if used else ""
        own = f"no {what} of {'their' if several else 'its'} own"
        return f"{name} {has} {own}, {uses} {used}{borrowed}"
    more = "more than that" if name == ALL else "of it borrowed"
    borrowed = f", {each.borrowed} {more}" if each.borrowed else ""
    return f"{name} {has} {each.nominal} {what}, {uses} {used}{borrowed}"


def _subject(queue: str) -> str:
    """Return how a sentence names a queue."""
    return {NONE.name: WITHOUT_QUEUE, ROOT.name: ALL}.get(queue, queue)


def _what_is_added(each: QuotaLine) -> str:
    """Return the words on how much the gang adds, and whether the queue has quota for it."""
    adds, left = f"this adds {each.adds}", each.available
    if left is None or not each.short:
        if not each.borrows:
            return f"{adds}, within its quota"
        part = "" if each.borrows == each.adds else f"{each.borrows} of them "
        return f"{adds}, {part}borrowed"
    are = "is" if str(left) == "1" else "are"
    rest = f"only {left} {are} left" if left > 0 else "nothing is left"
    return f"{adds}, and {rest}: {each.short} short{_holders(each.held_by)}"


def _holders(found: Sequence[Borrower]) -> str:
    """Return the words on which queues use more than their quota."""
    if not found:
        return ""
    said = [f"{_borrows(one.queue)} {one.borrowed}" for one in found]
    return f"; {joined_with_and(said)}"


def _borrows(queue: str) -> str:
    name = _subject(queue)
    return f"{name} {'borrow' if name == WITHOUT_QUEUE else 'borrows'}"
