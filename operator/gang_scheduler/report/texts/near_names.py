"""Finds pods that seem to mean a PodGroup that has no members, and name another one.

A name is misspelt, has a part more or less (`train-pg` for `train`), or is not that of the workload
whose pods they are (Job `train`, PodGroup `train`, label `pg-of-train`).
"""

import difflib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
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
        self._of_jobs: _Names = defaultdict(dict)
        for info in infos:
            if bool(info.observed.living) == bool(info.observed.specs):
                continue
            place = _place(info.key)
            if not is_in_want(info):
                self._empty[place][info.key.name] = info
                continue
            self._named[place][info.key.name] = info
            for job in _jobs_of(info):
                self._of_jobs[place].setdefault(job, info)

    def meant(self, key: GangKey) -> Sequence[Pod]:
        """Return the pods that name no PodGroup that exists, and one called much like this.

        So are pods of a Job that is called as this.
        """
        found = _nearest(self._named, key) or self._of_jobs.get(_place(key), {}).get(key.name)
        return found.observed.living if found is not None else ()

    def without_members(self, key: GangKey) -> GangInfo | None:
        """Return the PodGroup without members that is called much like one that does not exist.

        So is one that is called as the Jobs of the pods that name the other.
        """
        near = _nearest(self._empty, key)
        named = self._named.get(_place(key), {}).get(key.name)
        if near is not None or named is None:
            return near
        empty = self._empty.get(_place(key), {})
        return next((empty[job] for job in sorted(_jobs_of(named)) if job in empty), None)


def is_in_want(info: GangInfo) -> bool:
    """Return whether members name a PodGroup, and there is none."""
    kind = table.BY_NAME[info.key.source].object_kind
    return kind == gang_sources.POD_GROUP.object_kind and not info.observed.specs


def text_of(pods: Collection[Pod]) -> str:
    """Return which pods name what, as a question; "" without pods."""
    names = sorted(pod.name for pod in pods)
    if not names:
        return ""
    called = next(iter(pods)).gang.name
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    some, name = ("pod", "names") if len(names) == 1 else ("pods", "name")
    jobs = {pod.job for pod in pods}
    of_job = f" of Job {next(iter(jobs))}" if len(jobs) == 1 and "" not in jobs else ""
    shown = ", ".join(names[:SHOWN])
    which = f'{name} PodGroup "{called}", which does not exist'
    return f"{some} {shown}{more}{of_job} {which}: is this one meant?"


def _place(key: GangKey) -> tuple[str, str]:
    return key.source, key.namespace


def _nearest(known: _Names, key: GangKey) -> GangInfo | None:
    """Return the gang whose name is most like that of a key; None without any like it."""
    names = known.get(_place(key), {})
    if len(names) > MOST_COMPARED:
        return None
    plain = {_plain(each): each for each in names}
    near = difflib.get_close_matches(_plain(key.name), plain, n=1, cutoff=ALIKE)
    if near:
        return names[plain[near[0]]]
    found = sorted(
        (abs(len(name) - len(key.name)), name)
        for name in names
        if _is_longer_by_parts(name, key.name)
    )
    return names[found[0][1]] if found else None


def _is_longer_by_parts(one: str, other: str) -> bool:
    """Return whether one of two names begins with the other, or ends with it, at a dash."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    return long.startswith(f"{short}-") or long.endswith(f"-{short}")


def _jobs_of(info: GangInfo) -> set[str]:
    """Return the Jobs of the members of a gang."""
    return {pod.job for pod in info.observed.living if pod.job}


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
