"""Finds pods that seem to mean a PodGroup that has no members, and name another one.

A name is misspelt, has a part more or less (`train-pg` for `train`), or is not that of the workload
whose pods they are (Job `train`, PodGroup `train`, label `pg-of-train`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from gang_scheduler.decode.workloads import table
from gang_scheduler.model import gang_sources, likeness
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.texts.plurals import counted
from gang_scheduler.state.gangs.gang_info import GangInfo

ALIKE: Final = 0.75
"""From which ratio on two names are taken for one and its misspelling."""
SHOWN: Final = 3
MOST_COMPARED: Final = 1000
"""With as many names in a namespace none is looked for: it would take too long."""
MOST_LETTERS: Final = 60_000
"""How many letters of its names are read for one namespace: some 30 ms. Then nothing is found."""

_Place = tuple[str, str]


class _Names:
    """The gangs of a namespace by their names, and these without what is no letter or digit."""

    def __init__(self) -> None:
        self.infos: dict[str, GangInfo] = {}
        self.plain: dict[str, str] = {}
        self.letters = 0

    def add(self, info: GangInfo) -> None:
        """Add a gang."""
        self.infos[info.key.name] = info
        self.plain[_plain(info.key.name)] = info.key.name
        self.letters += len(info.key.name)


class NearNames:
    """The names in each namespace that pods give to PodGroups that do not exist, and the others.

    Linear in the gangs when it is made; then a comparison with each such name of one namespace, as
    long as `read` has few letters of that one. It counts them, and is another's to forget.
    """

    def __init__(self, infos: Iterable[GangInfo], read: Counter[_Place] | None = None) -> None:
        self._read: Counter[_Place] = Counter() if read is None else read
        self._named: defaultdict[_Place, _Names] = defaultdict(_Names)
        self._empty: defaultdict[_Place, _Names] = defaultdict(_Names)
        self._of_jobs: defaultdict[_Place, dict[str, GangInfo]] = defaultdict(dict)
        self._called: defaultdict[_Place, list[GangInfo]] = defaultdict(list)
        for info in infos:
            if bool(info.observed.living) == bool(info.observed.specs):
                continue
            self._called[info.key.source, info.key.name].append(info)
            place = _place(info.key)
            if not is_in_want(info):
                self._empty[place].add(info)
                continue
            self._named[place].add(info)
            for job in _jobs_of(info):
                self._of_jobs[place].setdefault(job, info)

    def meant(self, key: GangKey) -> Sequence[Pod]:
        """Return the pods that name no PodGroup that exists, and one called much like this.

        So are pods of a Job that is called as this.
        """
        found = self._nearest(self._named, key) or self._of_jobs.get(_place(key), {}).get(key.name)
        return found.observed.living if found is not None else ()

    def without_members(self, key: GangKey) -> GangInfo | None:
        """Return the PodGroup without members that is called much like one that does not exist.

        So is one that is called as the Jobs of the pods that name the other.
        """
        near = self._nearest(self._empty, key)
        named, empty = self._named.get(_place(key)), self._empty.get(_place(key))
        if near is not None or named is None or empty is None or key.name not in named.infos:
            return near
        jobs = sorted(_jobs_of(named.infos[key.name]))
        return next((empty.infos[job] for job in jobs if job in empty.infos), None)

    def elsewhere(self, key: GangKey) -> GangInfo | None:
        """Return the other half of a gang, by the same name in another namespace.

        That is a PodGroup without members for members of a PodGroup that does not exist, and these
        for that.
        """
        called = self._called.get((key.source, key.name), ())
        lacks = next((is_in_want(each) for each in called if each.key == key), None)
        halves = [each for each in called if is_in_want(each) is not lacks]
        return (
            min(halves, key=lambda each: each.key.namespace)
            if halves and lacks is not None
            else None
        )

    def _nearest(self, known: Mapping[_Place, _Names], key: GangKey) -> GangInfo | None:
        """Return the gang whose name is most like that of a key; None without any like it."""
        place = _place(key)
        names = known.get(place)
        if names is None or len(names.infos) > MOST_COMPARED or self._read[place] > MOST_LETTERS:
            return None
        self._read[place] += names.letters
        near = likeness.close_to(_plain(key.name), names.plain, cutoff=ALIKE)
        if near:
            return names.infos[names.plain[near[0]]]
        found = sorted(
            (abs(len(name) - len(key.name)), name)
            for name in names.infos
            if _is_longer_by_parts(name, key.name)
        )
        return names.infos[found[0][1]] if found else None


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


def text_of_other(info: GangInfo, *, hides_names: bool = False) -> str:
    """Return what a PodGroup of another namespace waits for, and that it is not for these pods."""
    where = "another namespace" if hides_names else f"namespace {info.key.namespace}"
    return (
        f"A PodGroup of this name is in {where}, and waits for {info.observed.min_member} members, "
        "of which 0 exist: a PodGroup is for the pods of its own namespace."
    )


def text_of_pods_elsewhere(info: GangInfo, *, hides_names: bool = False) -> str:
    """Return that pods of another namespace name a PodGroup of theirs that does not exist."""
    where = "another namespace" if hides_names else f"namespace {info.key.namespace}"
    pods = counted(len(info.observed.living), "pod")
    return (
        f"{pods} in {where} {'names' if pods.startswith('1 ') else 'name'} a PodGroup of this name "
        "there, which does not exist: a PodGroup is for the pods of its own namespace."
    )


def _place(key: GangKey) -> _Place:
    return key.source, key.namespace


def _is_longer_by_parts(one: str, other: str) -> bool:
    """Return whether one of two names begins with the other, or ends with it, at a dash."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    return long.startswith(f"{short}-") or long.endswith(f"-{short}")


def _jobs_of(info: GangInfo) -> set[str]:
    """Return the Jobs of the members of a gang."""
    return {pod.job for pod in info.observed.living if pod.job}


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
