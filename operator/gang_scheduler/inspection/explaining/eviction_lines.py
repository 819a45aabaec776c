"""The lines on evictions: which pods go for a gang, or what forbids that any does."""

from collections.abc import Sequence

from gang_scheduler.inspection.explaining.lines import Json, Line, View, work
from gang_scheduler.inspection.explaining.wording import listed
from gang_scheduler.model.queues import NONE
from gang_scheduler.report.texts.plurals import counted


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
        return f"none more: {counted(leaving, 'pod')} {leaves} already"
    if found["message"]:
        return str(found["message"]).removesuffix(".")
    if found["queueForbids"]:
        return "none: its queue evicts no pods"
    known, rights = found["protection"], found["rights"]
    if known is None:
        return "none: no pod runs that could go"
    return _protected(known, priority) if rights is None else _in_queues(rights)


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
        return f"none: {every} priority {known['lowestOfRanked']} or more, and it has {priority}"
    if not known["lower"]:
        return (
            f"none: of {counted(number, 'pod')} {known['ranked']} rank no lower, and "
            f"{known['protected']} may not be evicted"
        )
    some = counted(known["lower"], "pod")
    return f"none: {some} of lower priority may go, and that is not allowed to it or no help"
