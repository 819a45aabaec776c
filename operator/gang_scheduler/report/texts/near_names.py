"""Finds pods that seem to misspell the name of a PodGroup that has no members."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from gang_scheduler.decode.workloads import table
from gang_scheduler.model import gang_sources
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo

ALIKE: Final = 0.75
"""From which ratio on two names are taken for one and its misspelling."""
SHOWN: Final = 3
MOST_COMPARED: Final = 1000
"""With as many names in a namespace none is looked for: it would take too long."""

_Names = defaultdict[tuple[str, str], dict[str, GangInfo]]


class NearNames:
    """The names in each namespace that pods give to PodGroups that do not exist, and the others.

    Linear in the gangs when it is made; then a comparison with each such name of one namespace.
    """

    def __init__(self, infos: Iterable[GangInfo]) -> None:
        self._named: _Names = defaultdict(dict)
        self._empty: _Names = defaultdict(dict)
        for info in infos:
            names = self._named if is_in_want(info) else self._empty
            if bool(info.observed.living) != bool(info.observed.specs):
                names[info.key.source, info.key.namespace][info.key.name] = info

    def meant(self, key: GangKey) -> Sequence[Pod]:
        """Return the pods that name no PodGroup that exists, and one called much like this."""
        found = _nearest(self._named, key)
        return found.observed.living if found is not None else ()

    def without_members(self, key: GangKey) -> GangInfo | None:
        """Return the PodGroup without members that is called much like one that does not exist."""
        return _nearest(self._empty, key)


def is_in_want(info: GangInfo) -> bool:
    """Return whether members name a PodGroup, and there is none."""
    kind = table.BY_NAME[info.key.source].object_kind
    return kind == gang_sources.POD_GROUP.object_kind and not info.observed.specs


def text_of(pods: Iterable[Pod]) -> str:
    """Return which pods name what, as a question; "" without pods."""
    names = sorted(pod.name for pod in pods)
    if not names:
        return ""
    called = next(iter(pods)).gang.name
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    some, name = ("pod", "names") if len(names) == 1 else ("pods", "name")
    shown = ", ".join(names[:SHOWN])
    which = f'{name} PodGroup "{called}", which does not exist'
    return f"{some} {shown}{more} {which}: is this one meant?"


def _nearest(known: _Names, key: GangKey) -> GangInfo | None:
    names = known.get((key.source, key.namespace), {})
    if len(names) > MOST_COMPARED:
        return None
    plain = {_plain(each): each for each in names}
    near = difflib.get_close_matches(_plain(key.name), plain, n=1, cutoff=ALIKE)
    return names[plain[near[0]]] if near else None


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
