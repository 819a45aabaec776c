"""How a pod says which gang it belongs to, and its role and rank there. The first match wins.

A pod may name its gang itself; else the kinds of workloads are asked in the order of their table.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.pods.rank import NO_INDEX, Rank, index_of
from gang_scheduler.model import gang_sources
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.metadata import NO_OWNER, Metadata, OwnerReference
from gang_scheduler.wire.pods import Pod

POD_GROUP_LABELS: Final = (
    annotations.POD_GROUP_LABEL,
    annotations.POD_GROUP_LABEL_SCHED_PLUGINS,
)


def _no_gang(_: Pod) -> str:
    return ""


def _no_role(_: Metadata) -> str:
    return ""


def _no_rank(_: Metadata) -> Rank:
    return ()


class PodsOfKind(NamedTuple):
    """What is known of the pods of one kind of workloads.

    `keys` are labels and annotations of which each of its pods has one; without any, all pods are
    looked at. `name_of` returns the name of a pod's gang, "" for a pod of another kind. `role_of`
    is the role of a pod in its gang, "" for none, and `rank_of` its rank, read of pods that have
    one of `rank_keys`: both also hold in a gang that the pod names itself. `by_default`: its pods
    are a gang unless they say otherwise; else only if they ask for it. `prefixes` are those of
    annotations that are kept with its pods.
    """

    source: GangSource
    name_of: Callable[[Pod], str] = _no_gang
    keys: frozenset[str] = frozenset()
    role_of: Callable[[Metadata], str] = _no_role
    rank_of: Callable[[Metadata], Rank] = _no_rank
    rank_keys: frozenset[str] = frozenset()
    by_default: bool = False
    prefixes: tuple[str, ...] = ()


class Membership:
    """Tells the gangs of pods, with their roles and ranks there, by the kinds of a table.

    `by_default` are the names of those kinds of which pods are gangs without asking for it.
    """

    def __init__(self, kinds: Iterable[PodsOfKind], by_default: Collection[str]) -> None:
        self._kinds = tuple(kinds)
        self._keyless = tuple(each for each in self._kinds if not each.keys)
        self._keys = frozenset(chain.from_iterable(each.keys for each in self._kinds))
        self._ranked = tuple(each for each in self._kinds if each.rank_keys)
        self._rank_keys = frozenset(chain.from_iterable(each.rank_keys for each in self._ranked))
        self.by_default = frozenset(
            each.source.name
            for each in self._kinds
            if each.by_default and each.source.name in by_default
        )
        self.prefixes = tuple(
            sorted(set(chain.from_iterable(each.prefixes for each in self._kinds)))
        )

    def gang_of(self, source: Pod) -> GangKey:
        """Return the gang of a pod; a pod with no gang is a gang of one, named after itself."""
        return named_gang_of(source) or self._gang_of_workload(source) or _alone(source)

    def role_of(self, metadata: Metadata) -> str:
        """Return the role of a pod in its gang: as its own label says, else as its kind does."""
        own = metadata.labels.get(annotations.ROLE)
        if own is not None:
            return own
        kinds = (each for each in self._kinds_of(metadata) if each.keys)
        return next(filter(None, (each.role_of(metadata) for each in kinds)), "")

    def rank_of(self, metadata: Metadata) -> Rank:
        """Return a pod's rank, smaller first; empty without an index."""
        try:
            own = index_of(metadata.annotations)
        except InvalidField:
            return ()  # The gang waits with this as its problem: see `faults`.
        if own != NO_INDEX:
            return (own,)
        for each in self._ranked_of(metadata):
            if found := each.rank_of(metadata):
                return found
        return ()

    def _gang_of_workload(self, source: Pod) -> GangKey | None:
        metadata = source.metadata
        asks = annotations.ask_for_gang(metadata.labels, metadata.annotations)
        refuses = metadata.labels.get(annotations.JOB_GANG_LABEL) == "false"
        for each in self._kinds_of(metadata):
            by_default = each.source.name in self.by_default
            if (by_default and not refuses) or (asks and not (each.by_default and refuses)):
                name = each.name_of(source)
                if name:
                    return GangKey(each.source.name, metadata.namespace, name)
        return None

    def _ranked_of(self, metadata: Metadata) -> Iterable[PodsOfKind]:
        """Return the kinds that find a rank under the keys of a pod: for most pods none."""
        if not _has(metadata, self._rank_keys):
            return ()
        known = {*metadata.labels, *metadata.annotations}
        return (each for each in self._ranked if not known.isdisjoint(each.rank_keys))

    def _kinds_of(self, metadata: Metadata) -> tuple[PodsOfKind, ...]:
        """Return the kinds that a pod may be of, most often those that have no keys."""
        return self._kinds if _has(metadata, self._keys) else self._keyless


def named_gang_of(source: Pod) -> GangKey | None:
    """Return the gang that a pod names itself, of whatever workload it is; None for none."""
    for rule, name_of in _NAMED:
        if name := name_of(source):
            return GangKey(rule.name, source.metadata.namespace, name)
    return None


def job_of(metadata: Metadata) -> OwnerReference:
    """Return the Job that controls a pod, else NO_OWNER."""
    controller = metadata.controller
    return controller if controller.is_job else NO_OWNER


def _has(metadata: Metadata, keys: frozenset[str]) -> bool:
    return not (keys.isdisjoint(metadata.labels) and keys.isdisjoint(metadata.annotations))


def _alone(source: Pod) -> GangKey:
    return GangKey(gang_sources.SINGLE.name, source.metadata.namespace, source.metadata.name)


def _native(source: Pod) -> str:
    return source.spec.scheduling_group.pod_group_name


def _pod_group_label(source: Pod) -> str:
    labels = source.metadata.labels
    return next((labels[key] for key in POD_GROUP_LABELS if labels.get(key)), "")


def _annotation(source: Pod) -> str:
    own = source.metadata.annotations.get(annotations.GANG_NAME)
    return own or source.metadata.labels.get(annotations.GANG_NAME_LABEL, "")


_NAMED: Final = (
    (gang_sources.NATIVE, _native),
    (gang_sources.POD_GROUP, _pod_group_label),
    (gang_sources.ANNOTATION, _annotation),
)
