"""Says why the members of a gang may never come, where that can be guessed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.model import gang_sources
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.about_gangs import about
from gang_scheduler.report.events import Events
from gang_scheduler.report.texts import near_names
from gang_scheduler.report.texts.near_names import NearNames
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.pruning import pruned

REASON: Final = "MembersMissing"
PATIENCE_SECONDS: Final = 30
"""How long members are waited for in silence."""
REMEMBERED_SECONDS: Final = 60
"""How long it is remembered which pods seem to mean a gang: so often names are compared at most."""
LISTED_SECONDS: Final = 5
"""How long the list of all names is taken for the present one."""
NAMED_BY_NO_POD: Final = (
    "no pod names this PodGroup in spec.schedulingGroup.podGroupName. Its pods may not be created "
    "yet; or the API server drops that field, as it does without the feature gate GenericWorkload"
)


class _Guess(NamedTuple):
    """A possible cause, and since when it lasts, in seconds since the epoch."""

    note: str
    since: float


class _Meant(NamedTuple):
    """What was found out of a name, and when."""

    guess: _Guess | None
    at: int


class MissingMembers:
    """An Event on a PodGroup that lacks members for long, once for each cause.

    `schedulers` in notes are our own names. What is not watched, as StatefulSets, is only guessed.
    """

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events
        self._told: dict[GangKey, str] = {}
        self._meant: dict[GangKey, _Meant] = {}
        self._near = (0, NearNames(()))
        self._read: Counter[tuple[str, str]] = Counter()
        self._read_since = 0

    def look(self, info: GangInfo, now: int) -> int | None:
        """Tell of a gang what keeps members away, if that lasts; return when to look again."""
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
        if self._told.get(info.key) != guess.note:
            self._told[info.key] = guess.note
            self._events.record(
                about(info), REASON, guess.note, warning=guess.note != NAMED_BY_NO_POD
            )
        return None

    def forget(self, key: GangKey) -> None:
        """Forget what was told of a gang."""
        self._told.pop(key, None)

    def forget_the_gone(self) -> None:
        """Drop what was told of gangs that are gone, once they are more than the others."""
        self._told = pruned(self._told, self._cache.gang_queue.infos)
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
            is_native = info.key.source == gang_sources.NATIVE.name
            named = foreign or info.observed.members or spec.was_scheduled
            return _Guess(NAMED_BY_NO_POD, spec.created_at) if is_native and not named else None
        return _in_order(living, info.attempt.needed)

    def _misspelt(self, info: GangInfo, spec: GangSpec, now: int) -> _Guess | None:
        """Guess that pods misspell the name, as they did when that was last looked for."""
        known = self._meant.get(info.key)
        if known is None or not 0 <= now - known.at < REMEMBERED_SECONDS:
            pods = self._near_names(now).meant(info.key)
            since = max((spec.created_at, *(pod.created_at for pod in pods)))
            guess = _Guess(near_names.text_of(pods), since) if pods else None
            known = self._meant[info.key] = _Meant(guess, now)
        return known.guess

    def _look_for_meant(self, info: GangInfo, now: int) -> int | None:
        """Tell the PodGroup that members misspell the name of; return when to look again."""
        living = info.observed.living
        if not living or not near_names.is_in_want(info):
            return None
        due = int(max(pod.created_at for pod in living)) + PATIENCE_SECONDS
        if now < due:
            return due
        known = self._meant.get(info.key)
        if known is not None and 0 <= now - known.at < REMEMBERED_SECONDS:
            return None
        self._meant[info.key] = _Meant(None, now)
        meant = self._near_names(now).without_members(info.key)
        if meant is None:
            return None
        self._meant.pop(meant.key, None)
        return self.look(meant, now)

    def _near_names(self, now: int) -> NearNames:
        """Return all names, which are looked through once in a while; letters count by minutes."""
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
    """Return whether another scheduler keeps this status: it says more than "no member"."""
    if "phase" in status:
        return status["phase"] != Phase.PENDING or bool(status.get("members"))
    return bool(status.get("conditions"))


def _in_order(living: Iterable[Pod], needed: int) -> _Guess | None:
    """Guess from one waiting pod for each StatefulSet that these create their pods in order."""
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
