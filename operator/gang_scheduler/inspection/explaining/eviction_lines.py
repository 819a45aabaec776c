"""The lines on evictions: which pods go for a gang, or what forbids that any does."""

from collections.abc import Sequence
from typing import Final

from gang_scheduler.api.annotations import DISABLE_PREEMPTIBLE, QUOTA_PREEMPTIBLE
from gang_scheduler.inspection.explaining.lines import Json, Line, View, work
from gang_scheduler.inspection.explaining.wording import listed
from gang_scheduler.model.evictions import Sparing
from gang_scheduler.model.queues import NONE
from gang_scheduler.report.texts.plurals import counted

SPARED: Final = {
    Sparing.LABEL: f"the label {DISABLE_PREEMPTIBLE} or {QUOTA_PREEMPTIBLE} forbids it",
    Sparing.POD_GROUP: "spec.preemptable: false of its PodGroup forbids it",
    Sparing.JOB: "the Job could end for good, and has no podFailurePolicy",
    Sparing.MIN_RUNTIME: "the minimum run time of the gang is not over",
    Sparing.OTHER_SCHEDULER: "another scheduler placed it",
    Sparing.PINNED: "the owner would create it again on the same node",
    Sparing.SYSTEM: "its priority is that of the system",
    Sparing.BINDING: "it is being bound",
}
"""What protects pods beside their priority, in words."""
SWITCHED_OFF: Final = "none: preemption is switched off (setting preemption)"


def preemption(document: Json, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return what evictions it makes, or what forbids them."""
    found = document.get("preemption")
    if found is None:
        return []
    if found["victims"]:
        return [Line(_victims(found["victims"], document))]
    return [Line(_forbidden(found, document["priority"]))]


def _victims(victims: Sequence[Json], document: Json) -> str:
    number = sum(each["number"] for each in victims)
    pods = listed([name for each in victims for name in each["pods"]])
    goes = "goes" if number == 1 else "go"
    return f"{counted(number, 'pod')} {goes}: {pods}{work(victims, document)}"


def _forbidden(found: Json, priority: int) -> str:
    if found["verdict"] == "Terminating":
        leaving = found["leaving"]
        leaves = "leaves" if leaving == 1 else "leave"
        named = f", {listed(found['awaited'])}" if found["awaited"] else ""
        return f"none more: {counted(leaving, 'pod')} {leaves} already{named}"
    known, rights = found["protection"], found["rights"]
    if found["message"]:
        said = str(found["message"]).removesuffix(".")
        return said if found["verdict"] == "Blocked" else f"{said}{_kept(known)}"
    if found["switchedOff"] or found["queueForbids"]:
        return SWITCHED_OFF if found["switchedOff"] else "none: its queue evicts no pods"
    if known is None:
        return "none: no pod runs that could go"
    if rights is None:
        return _protected(known, priority)
    return f"{_in_queues(rights)}{_kept({**known, 'ranked': 0})}"


def _kept(known: Json | None) -> str:
    """Return which pods stay by their priority, and what else protects which."""
    if known is None:
        return ""
    parts = [_ranked(known)] if known["ranked"] else []
    parts += [_spared(each) for each in known["sparedBy"]]
    if known["underBudget"]:
        of = f", such as {known['ofBudget']}" if known["ofBudget"] else ""
        parts.append(
            f"{counted(known['underBudget'], 'pod')} would go last: a PodDisruptionBudget allows "
            f"no eviction{of}"
        )
    return f"; {'; '.join(parts)}" if parts else ""


def _ranked(known: Json) -> str:
    rank = "ranks" if known["ranked"] == 1 else "rank"
    of = f"{known['ranked']} of {counted(known['pods'], 'pod')}"
    return f"{of} {rank} no lower, the lowest at {known['lowestOfRanked']}{_such(known['nearest'])}"


def _spared(each: Json) -> str:
    stay = f"{counted(each['pods'], 'pod')} {'stays' if each['pods'] == 1 else 'stay'}"
    return f"{stay}: {SPARED[each['reason']]}{_such(each['example'])}"


def _such(pod: str | None) -> str:
    return f" ({pod})" if pod else ""


def _in_queues(rights: Json) -> str:
    """Return what keeps the pods of its own queue, and those of others."""
    return f"none: {_of_own(rights)}; {_of_others(rights)}"


def _of_own(rights: Json) -> str:
    own, lower = rights["ownPods"], rights["ownLower"]
    of = "of gangs without a queue" if rights["queue"] == NONE.name else f"of {rights['queue']}"
    if not own:
        return f"no pod {of} runs"
    if lower:
        return f"{counted(lower, 'pod')} {of} may go by priority, which is no help or not allowed"
    return f"by priority none of the {counted(own, 'pod')} {of} may go"


def _of_others(rights: Json) -> str:
    """Return why other queues keep what they have."""
    borrowing = rights["borrowing"]
    if not borrowing:
        return "no pod runs in a queue that uses more than its own"
    some = f"{counted(borrowing, 'pod')} of queues that use more than their own"
    if rights["reclaims"]:
        return f"{some} may go, which is no help or not allowed"
    stay = "stays" if borrowing == 1 else "stay"
    if not rights["goesOver"]:
        return f"{some} {stay}: its queue takes nothing back"
    if rights["queue"] == NONE.name:
        return f"{some} {stay}: gangs without a queue have nothing of their own to take back"
    return f"{some} {stay}: with this gang {rights['queue']} would use more than its own, too"


def _protected(known: Json, priority: int) -> str:
    """Return what protects the pods that run."""
    number = known["pods"]
    if known["ranked"] == number:
        every = "the only pod that runs has" if number == 1 else f"all {number} pods that run have"
        lowest = f"{known['lowestOfRanked']} or more{_such(known['nearest'])}"
        return f"none: {every} priority {lowest}, and it has {priority}"
    if not known["lower"]:
        return f"none{_kept(known).replace(';', ':', 1)}"
    some = counted(known["lower"], "pod")
    said = f"none: {some} of lower priority may go, and that is not allowed to it or no help"
    return f"{said}{_kept(known)}"
