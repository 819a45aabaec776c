"""All laws, by name."""

from collections.abc import Callable, Collection, Iterator

from search.cases import Case
from search.laws import conserving, evicting, reading, settling, starting

Law = Callable[[Case], Iterator[str]]

LAWS: dict[str, Law] = {
    law.__name__: law
    for laws in (starting.LAWS, conserving.LAWS, evicting.LAWS, settling.LAWS, reading.LAWS)
    for law in laws
}


CRASH = "crash in "


def broken(case: Case, only: Collection[str] = ()) -> dict[str, str]:
    """Return the laws that are broken, each with its first complaint; a crash breaks one, too.

    `only` are the names of the laws to look at; none: all.
    """
    found: dict[str, str] = {}
    wanted = {name.removeprefix(CRASH) for name in only} or LAWS.keys()
    for name, law in LAWS.items():
        if name not in wanted:
            continue
        try:
            complaint = next(law(case), "")
        except Exception as error:  # Whatever the product raises.
            return {**found, f"{CRASH}{name}": f"{type(error).__name__}: {error}"}
        if complaint:
            found[name] = complaint
    return found
