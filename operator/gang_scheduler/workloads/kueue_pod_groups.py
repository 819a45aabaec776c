"""Kueue's pod groups: each pod names its group, and states how many pods the group has."""

from collections.abc import Iterable
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs import specs
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.decode.pods import membership
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.model.wording import field
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.workloads.kind import Kind

SOURCE: Final = GangSource("KueuePodGroup")
INDEXES: Final = ("kueue.x-k8s.io/pod-group-pod-index",)


def name_of(source: pod_wire.Pod) -> str:
    """Return the name of a pod's group, "" for a pod without a gang.

    A group with fast admission is no gang: its pods are created in order, and Kueue lets it start
    before all of them exist.
    """
    metadata = source.metadata
    if metadata.annotations.get(annotations.KUEUE_POD_GROUP_FAST) in annotations.GO_TRUE:
        return ""
    return metadata.labels.get(annotations.KUEUE_POD_GROUP, "")


def by_members(key: GangKey, members: Iterable[Pod], _: GangSpec | None) -> GangSpec | None:
    """Return the gang of a group; an annotation of its pods says how many pods it has."""
    return specs.by_the_oldest(key, members, _total, annotations.KUEUE_POD_GROUP_TOTAL)


def _total(pod: Pod, _: tuple[Role, ...]) -> int:
    where = annotations.KUEUE_POD_GROUP_TOTAL
    found = fields.whole_number(pod.annotations, where, None)
    if found is None:
        raise InvalidField(field(where), None, "is required in a pod group of Kueue")
    return found


KIND: Final = Kind(
    name=SOURCE.name,
    pods=PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({annotations.KUEUE_POD_GROUP}),
        rank_of=lambda metadata: membership.numbers(metadata, INDEXES),
        rank_keys=frozenset(INDEXES),
        by_default=True,
    ),
    by_members=by_members,
)
