"""Finds out what a NAME means: a PodGroup, a workload such as `job/x`, a gang, or a pod."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model import refs, similar_names
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.workloads import table

POD: Final = "pod"
POD_GROUP: Final = "podgroup"
POD_GROUPS: Final = frozenset({refs.NATIVE.name, refs.POD_GROUP.name})
WITHOUT_OBJECT: Final = frozenset({refs.ANNOTATION.name, refs.SINGLE.name})


class Match(NamedTuple):
    """The meaning of a NAME: a gang; a pod that is no member of a gang of ours; or a workload.

    A `workload` is meant if each of its pods is a gang of its own.
    """

    gang: GangKey | None = None
    pod: Pod | None = None
    workload: GangKey | None = None

    def __str__(self) -> str:
        if self.pod is not None:
            return f"pod/{self.pod.key}"
        key = self.gang or self.workload
        if key is None:
            return ""
        if key.source in POD_GROUPS:
            return f"podgroup/{key}"
        return f"{key.source.lower()}/{key}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of a NAME; "" for parts that it lacks."""

    name: str
    kind: str = ""
    namespace: str = ""

    def is_of(self, kind: str) -> bool:
        """Return whether the NAME may mean an object of a kind."""
        return self.kind in ("", kind.lower())

    def is_called(self, namespace: str, name: str) -> bool:
        """Return whether the NAME means this object."""
        return name == self.name and self.namespace in ("", namespace)


def wanted(text: str, namespace: str) -> Wanted:
    """Return the parts of NAME, KIND/NAME or NAMESPACE/NAME; namespace "" is any."""
    first, _, rest = text.partition("/")
    if not rest:
        return Wanted(text, namespace=namespace)
    kinds = {each.name.lower() for each in table.SOURCES} | {POD, POD_GROUP}
    kind = first.lower().partition(".")[0]
    for spelt in (kind, kind.removesuffix("s")):
        if spelt in kinds:
            return Wanted(rest, spelt, namespace)
    return Wanted(rest, namespace=first)


def find(cache: Cache, asked: Wanted) -> list[Match]:
    """Return all objects that a NAME may mean.

    The sorts of objects are tried in order, PodGroups first; the first sort with a match counts.
    """
    looks: tuple[Callable[[Cache, Wanted], Iterable[Match]], ...]
    looks = (_pod_groups, _workloads, _of_pods_workloads, _gangs, _pods)
    for look in looks:
        found = {str(each): each for each in look(cache, asked)}
        if found:
            return list(found.values())
    return []


def objects_about(cache: Cache, name: str, namespace: str) -> tuple[str, frozenset[str]] | None:
    """Return namespace and names of the objects whose Events concern a NAME; None if unknown."""
    found = find(cache, wanted(name, namespace))
    return _objects_of(cache, found[0]) if len(found) == 1 else None


def _objects_of(cache: Cache, match: Match) -> tuple[str, frozenset[str]] | None:
    """Return the namespace and names of a gang's objects, to find Events; None without a gang."""
    if match.gang is None:
        return None
    info = cache.gang_queue.infos.get(match.gang)
    pods = [pod.name for pod in info.observed.members.values()] if info is not None else []
    return match.gang.namespace, frozenset({match.gang.name.partition("/")[0], *pods})


def near(cache: Cache, asked: Wanted) -> tuple[str, ...]:
    """Return similar names: first the same name in other namespaces, else names like it here."""
    keys = cache.gang_queue.infos
    elsewhere = sorted(str(key) for key in keys if key.name == asked.name)
    here = {key.name for key in keys if asked.namespace in ("", key.namespace)}
    return tuple(elsewhere[:3] or similar_names.close_to(asked.name, here, most=3))


def _pod_groups(cache: Cache, asked: Wanted) -> Iterator[Match]:
    if asked.is_of(POD_GROUP):
        for key in cache.gang_queue.infos:
            if key.source in POD_GROUPS and asked.is_called(key.namespace, key.name):
                yield Match(key)


def _workloads(cache: Cache, asked: Wanted) -> Iterator[Match]:
    """Yield the gangs of workloads of this name, known by their pods or by their PodGroup."""
    for key, info in cache.gang_queue.infos.items():
        spec = info.observed.spec
        made_for = spec.made_for if spec is not None else None
        if made_for is not None and _names(asked, made_for):
            yield Match(key)
        elif key.source in POD_GROUPS | WITHOUT_OBJECT or not _names(asked, key):
            continue
        elif info.observed.members or not _has_pods_elsewhere(cache, key):
            yield Match(key)


def _of_pods_workloads(cache: Cache, asked: Wanted) -> Iterator[Match]:
    """Yield the gangs of a Job's pods; if each pod is a gang of its own, yield the Job itself."""
    if not asked.is_of(refs.JOB.name):
        return
    pods = [pod for pod in cache.pods() if pod.job and asked.is_called(pod.namespace, pod.job)]
    for pod in pods:
        if pod.scheduler not in cache.schedulers:
            yield Match(pod=pod)
        elif pod.gang.source == refs.SINGLE.name:
            yield Match(workload=GangKey(refs.JOB.name, pod.namespace, pod.job))
        else:
            yield Match(pod.gang)


def _gangs(cache: Cache, asked: Wanted) -> Iterator[Match]:
    for key in cache.gang_queue.infos:
        is_annotated = key.source == refs.ANNOTATION.name and asked.is_of(key.source)
        if is_annotated and asked.is_called(key.namespace, key.name):
            yield Match(key)


def _pods(cache: Cache, asked: Wanted) -> Iterator[Match]:
    if not asked.is_of(POD):
        return
    for pod in cache.pods():
        if asked.is_called(pod.namespace, pod.name):
            stranger = pod.scheduler not in cache.schedulers or pod.gated
            yield Match(pod=pod) if stranger else Match(pod.gang)


def _names(asked: Wanted, key: GangKey) -> bool:
    """Return whether a NAME names the workload of a gang. A JobSet may have several gangs."""
    if not asked.is_of(key.source):
        return False
    owner = key.name.partition("/")[0]
    return asked.is_called(key.namespace, key.name) or asked.is_called(key.namespace, owner)


def _has_pods_elsewhere(cache: Cache, key: GangKey) -> bool:
    """Return whether the pods of a Job are in other gangs than the Job's own."""
    return key.source == refs.JOB.name and any(
        pod.job == key.name and pod.namespace == key.namespace for pod in cache.pods()
    )
