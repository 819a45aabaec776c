"""The lines on quota: what a queue has and uses, what the gang adds, and what is short."""

from typing import Any, Final

from gang_scheduler.inspection.explaining.lines import Json, Line, View
from gang_scheduler.inspection.explaining.wording import between
from gang_scheduler.model.queues import NONE, ROOT

NOTHING: Final = "0"
WITHOUT_QUEUE: Final = "gangs without a queue"
ALL: Final = "all queues together"


def quota(document: Json, view: View) -> list[Line]:
    """Return a line for its queue; for those above if wide, or if only these have too little."""
    found = document.get("quota", [])
    flavored = len({each["flavor"] for each in found}) > 1
    own = [each for each in found if each["queue"] == found[0]["queue"]]
    told = {each["resource"] for each in own if each["heldBy"] or not _is_short(each)}
    above = (each for each in found[len(own) :] if view.wide or _tells_more(each, told))
    return [Line(_sentence(each, flavored=flavored)) for each in (*own, *above)]


def _tells_more(each: Json, told: set[str]) -> bool:
    return _is_short(each) and each["resource"] not in told


def _is_short(each: Json) -> bool:
    return bool(each["short"] != NOTHING)


def _sentence(each: Json, *, flavored: bool) -> str:
    what = f"{each['resource']} of {each['flavor']}" if flavored else str(each["resource"])
    ahead = f", and gangs before it take {each['ahead']}" if each["ahead"] != NOTHING else ""
    return f"{_what_it_has(each, what)}{ahead}; {_what_is_added(each)}"


def _what_it_has(each: Json, what: str) -> str:
    """Return what a queue was promised, and how much of that is used."""
    name, used = _subject(each["queue"]), each["used"]
    several = name in (WITHOUT_QUEUE, ALL)
    has, uses = ("have", "use") if several else ("has", "uses")
    if each["nominal"] == NOTHING:
        borrowed = ", all of it borrowed" if used != NOTHING else ""
        own = f"no {what} of {'their' if several else 'its'} own"
        return f"{name} {has} {own}, {uses} {used}{borrowed}"
    more = "more than that" if name == ALL else "of it borrowed"
    borrowed = f", {each['borrowed']} {more}" if each["borrowed"] != NOTHING else ""
    return f"{name} {has} {each['nominal']} {what}, {uses} {used}{borrowed}"


def _subject(queue: str) -> str:
    """Return how a queue is called in a sentence."""
    return {NONE.name: WITHOUT_QUEUE, ROOT.name: ALL}.get(queue, queue)


def _what_is_added(each: Json) -> str:
    """Return what the gang adds, and whether that may be."""
    adds = f"this adds {each['adds']}"
    if not _is_short(each):
        if each["borrows"] == NOTHING:
            return f"{adds}, within its quota"
        part = "" if each["borrows"] == each["adds"] else f"{each['borrows']} of them "
        return f"{adds}, {part}borrowed"
    left = each["available"]
    is_none = left.startswith("-") or left == NOTHING
    rest = "nothing is left" if is_none else f"only {left} {'is' if left == '1' else 'are'} left"
    return f"{adds}, and {rest}: {each['short']} short{_holders(each['heldBy'])}"


def _holders(found: list[dict[str, Any]]) -> str:
    """Return which queues hold more than their own."""
    if not found:
        return ""
    said = [f"{_borrows(one['queue'])} {one['borrowed']}" for one in found]
    return f"; {between(said)}"


def _borrows(queue: str) -> str:
    name = _subject(queue)
    return f"{name} {'borrow' if name == WITHOUT_QUEUE else 'borrows'}"
