"""Members that may never come: the likely reason, such as a misspelt PodGroup name."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model import refs, similar_names
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import counted
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.pruning import Reported, pruned
from gang_scheduler.workloads import table

# Pods that seem to mean a PodGroup without members, but name another one. The name may be misspelt,
# have a part more or less (`train-pg` for `train`), or differ although the workload of the pods has
# the right name (Job `train`, PodGroup `train`, label `pg-of-train`).

ALIKE: Final = 0.75
"""Two names count as one and its misspelling if they are at least this alike."""
SHOWN: Final = 3
MOST_COMPARED: Final = 1000
"""If a namespace has this many names, no similar one is searched: it would take too long."""
MOST_LETTERS: Final = 60_000
"""At most this many letters are compared for one namespace, which takes some 30 ms.

After that, no similar name is found.
"""

_Place = tuple[str, str]


class _Names:
    """The gangs of a namespace by name, and their names with letters and digits only."""

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
    """The names that pods give to missing PodGroups, and the existing names, by namespace.

    Making it is linear in gangs. Each lookup compares with the names of one namespace, unless
    `read` shows that too many letters were compared there already. `read` is counted here and reset
    by the caller.
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

    def members_meant_for(self, key: GangKey) -> Sequence[Pod]:
        """Return the pods that name a missing PodGroup, but probably mean this one.

        Their name for it is similar, or their Job has its name.
        """
        found = self._nearest(self._named, key) or self._of_jobs.get(_place(key), {}).get(key.name)
        return found.observed.living if found is not None else ()

    def without_members(self, key: GangKey) -> GangInfo | None:
        """Return the PodGroup without members that the pods of a missing PodGroup probably mean.

        Its name is similar, or it is the name of the pods' Job.
        """
        near = self._nearest(self._empty, key)
        named, empty = self._named.get(_place(key)), self._empty.get(_place(key))
        if near is not None or named is None or empty is None or key.name not in named.infos:
            return near
        jobs = sorted(_jobs_of(named.infos[key.name]))
        return next((empty.infos[job] for job in jobs if job in empty.infos), None)

    def elsewhere(self, key: GangKey) -> GangInfo | None:
        """Return the other half of a gang: the same name in another namespace.

        One half is a PodGroup without members, the other are members of a missing PodGroup.
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
        """Return the gang with the most similar name; None if no name is similar."""
        place = _place(key)
        names = known.get(place)
        if names is None or len(names.infos) > MOST_COMPARED or self._read[place] > MOST_LETTERS:
            return None
        self._read[place] += names.letters
        near = similar_names.close_to(_plain(key.name), names.plain, cutoff=ALIKE)
        if near:
            return names.infos[names.plain[near[0]]]
        found = sorted(
            (abs(len(name) - len(key.name)), name)
            for name in names.infos
            if _is_longer_by_parts(name, key.name)
        )
        return names.infos[found[0][1]] if found else None


def is_in_want(info: GangInfo) -> bool:
    """Return whether a gang has members that name a missing PodGroup."""
    kind = table.BY_NAME[info.key.source].object_kind
    return kind == refs.POD_GROUP.object_kind and not info.observed.specs


def text_of(pods: Collection[Pod]) -> str:
    """Return a question that names the pods and the PodGroup name they give; "" without pods."""
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
    """Return the sentence that a PodGroup of this name waits for members in another namespace."""
    where = "another namespace" if hides_names else f"namespace {info.key.namespace}"
    return (
        f"A PodGroup of this name is in {where}, and waits for {info.observed.min_member} members, "
        "of which 0 exist: a PodGroup is for the pods of its own namespace."
    )


def text_of_pods_elsewhere(info: GangInfo, *, hides_names: bool = False) -> str:
    """Return the sentence that pods of another namespace name a missing PodGroup there."""
    where = "another namespace" if hides_names else f"namespace {info.key.namespace}"
    pods = counted(len(info.observed.living), "pod")
    return (
        f"{pods} in {where} {'names' if pods.startswith('1 ') else 'name'} a PodGroup of this name "
        "there, which does not exist: a PodGroup is for the pods of its own namespace."
    )


def _place(key: GangKey) -> _Place:
    return key.source, key.namespace


def _is_longer_by_parts(one: str, other: str) -> bool:
    """Return whether one of two names is the other with more parts, separated by a dash."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    return long.startswith(f"{short}-") or long.endswith(f"-{short}")


def _jobs_of(info: GangInfo) -> set[str]:
    """Return the Jobs of the members of a gang."""
    return {pod.job for pod in info.observed.living if pod.job}


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


REASON: Final = "MembersMissing"
PATIENCE_SECONDS: Final = 30
"""A gang waits this long for members before an Event says why they may not come."""
REMEMBERED_SECONDS: Final = 60
"""A comparison of names is valid for this long; names are compared no more often."""
LISTED_SECONDS: Final = 5
"""The list of all names is valid for this long."""
NAMED_BY_NO_POD: Final = (
    "no pod names this PodGroup in spec.schedulingGroup.podGroupName. Its pods may not be created "
    "yet; or the API server drops that field, as it does without the feature gate GenericWorkload"
)


class _Guess(NamedTuple):
    """A possible cause, and since when it has lasted, in seconds since the epoch."""

    note: str
    since: float


class _Meant(NamedTuple):
    """The guess from a comparison of names, and the time of the comparison, in seconds."""

    guess: _Guess | None
    at: int


class MissingMembers:
    """Reports a PodGroup that lacks members for long by an Event, once for each cause.

    Kinds that are not watched, such as StatefulSets, are only guessed.
    """

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events
        self._reported: Reported[GangKey, str] = Reported()
        self._meant: dict[GangKey, _Meant] = {}
        self._near = (0, NearNames(()))
        self._read: Counter[tuple[str, str]] = Counter()
        self._read_since = 0

    def look(self, info: GangInfo, now: int) -> int | None:
        """Report why a gang's members do not come, if that lasts; return when to look again."""
        spec = info.observed.spec
        if spec is None:
            self.forget(info.key)
            return self._look_for_meant(info, now)
        guess = self._guess(info, spec, now) if _lacks_members(info) else None
        if guess is None:
            self.forget(info.key)
            return None
        due = int(guess.since) + PATIENCE_SECONDS
        if now < due:
            return due
        if self._reported.is_news(info.key, guess.note):
            self._events.record(
                About.of_gang(info), REASON, guess.note, warning=guess.note != NAMED_BY_NO_POD
            )
        return None

    def forget(self, key: GangKey) -> None:
        """Forget the Events of a gang."""
        self._reported.forget(key)

    def forget_the_gone(self) -> None:
        """Drop the records of deleted gangs once they outnumber the others."""
        self._reported.prune(self._cache.gang_queue.infos)
        self._meant = pruned(self._meant, self._cache.gang_queue.infos)

    def _guess(self, info: GangInfo, spec: GangSpec, now: int) -> _Guess | None:
        living = info.observed.living
        foreign = self._cache.foreign_members.of(info.key)
        if foreign and (living or not _is_of_others(spec.status)):
            since = max(spec.created_at, *(pod.created_at for pod in foreign))
            return _Guess(self._of_others(foreign), since)
        if not living and (meant := self._misspelt(info, spec, now)):
            return meant
        if not living:
            is_native = info.key.source == refs.NATIVE.name
            named = foreign or info.observed.members or spec.was_scheduled
            return _Guess(NAMED_BY_NO_POD, spec.created_at) if is_native and not named else None
        return _in_order(living, info.attempt.needed)

    def _misspelt(self, info: GangInfo, spec: GangSpec, now: int) -> _Guess | None:
        """Return the guess that pods misspell the name, as of the last comparison."""
        known = self._meant.get(info.key)
        if known is None or not 0 <= now - known.at < REMEMBERED_SECONDS:
            pods = self._near_names(now).members_meant_for(info.key)
            since = max((spec.created_at, *(pod.created_at for pod in pods)))
            guess = _Guess(text_of(pods), since) if pods else None
            known = self._meant[info.key] = _Meant(guess, now)
        return known.guess

    def _look_for_meant(self, info: GangInfo, now: int) -> int | None:
        """Report the PodGroup whose name members may have misspelt; return when to look again."""
        living = info.observed.living
        if not living or not is_in_want(info):
            return None
        due = int(max(pod.created_at for pod in living)) + PATIENCE_SECONDS
        if now < due:
            return due
        known = self._meant.get(info.key)
        if known is not None and 0 <= now - known.at < REMEMBERED_SECONDS:
            return None
        self._meant[info.key] = _Meant(None, now)
        meant = self._near_names(now).without_members(info.key)
        if meant is None or meant.observed.spec is None:
            # None was listed, or it was deleted since.
            return None
        self._meant.pop(meant.key, None)
        return self.look(meant, now)

    def _near_names(self, now: int) -> NearNames:
        """Return the names of all gangs.

        They are listed again at most every LISTED_SECONDS; the count of compared letters starts
        again every REMEMBERED_SECONDS.
        """
        if not 0 <= now - self._read_since < REMEMBERED_SECONDS:
            self._read_since = now
            self._read.clear()
        if not 0 <= now - self._near[0] < LISTED_SECONDS:
            self._near = (now, NearNames(self._cache.gang_queue.infos.values(), self._read))
        return self._near[1]

    def _of_others(self, foreign: Iterable[Pod]) -> str:
        names = Counter(pod.scheduler for pod in foreign)
        found = ", ".join(f"{number} with schedulerName {name}" for name, number in names.items())
        ours = " or ".join(sorted(self._cache.schedulers))
        return f"pods of another scheduler name this gang ({found}): members need {ours}"


def _lacks_members(info: GangInfo) -> bool:
    is_over = info.attempt.was_whole or info.jobs_failed
    return not is_over and not info.attempt.holds_quorum(info.observed.living)


def _is_of_others(status: Mapping[str, Any]) -> bool:
    """Return whether another scheduler writes this status: it says more than "no member"."""
    if "phase" in status:
        return status["phase"] != Phase.PENDING or bool(status.get("members"))
    return bool(status.get("conditions"))


def _in_order(living: Iterable[Pod], needed: int) -> _Guess | None:
    """Return the guess that a StatefulSet creates its pods in order, as one of them still waits."""
    living = tuple(living)
    waiting = [pod for pod in living if not pod.node]
    sets = {pod.stateful_set for pod in living}
    if "" in sets or not waiting or len({pod.stateful_set for pod in waiting}) < len(waiting):
        return None
    pod = min(waiting, key=lambda each: each.name)
    note = (
        f"of StatefulSet {pod.stateful_set} only pod {pod.name} waits, and the gang needs {needed} "
        "members at once. If its podManagementPolicy is OrderedReady, no other pod is created "
        "before this one is ready, which it never will be: set it to Parallel"
    )
    return _Guess(note, max(each.created_at for each in living))
