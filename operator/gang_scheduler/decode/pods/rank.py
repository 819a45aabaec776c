"""The rank of a member: neighbours in rank get neighbouring nodes."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.wire.metadata import Metadata

Rank = tuple[int, ...]

NO_INDEX: Final = -1
# Where controllers of workloads write the indexes of a pod, the coarse index first: the pods of two
# Jobs of a JobSet must not alternate. The first row of which a pod has any key counts.
INDEXES: Final = (
    ("jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index"),
    ("leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index"),
    ("training.kubeflow.org/replica-index",),
    ("kueue.x-k8s.io/pod-group-pod-index",),
)
_WRITTEN: Final = frozenset(key for row in INDEXES for key in row)
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
# Kubeflow counts the replicas of each type from 0. Leading types come first.
REPLICA_TYPES: Final = (
    "chief",
    "master",
    "launcher",
    "scheduler",
    "ps",
    "server",
    "worker",
    "evaluator",
)


def rank_of(metadata: Metadata) -> Rank:
    """Return a pod's rank, smaller first; empty without an index."""
    try:
        own = index_of(metadata.annotations)
    except InvalidField:
        return ()  # The gang waits with this as its problem: see `faults`.
    if own != NO_INDEX:
        return (own,)
    # Most pods have none of these keys, and every pod that changes is looked at.
    if _WRITTEN.isdisjoint(metadata.labels) and _WRITTEN.isdisjoint(metadata.annotations):
        return ()
    written = next(filter(None, (_numbers(metadata, row) for row in INDEXES)), ())
    kind = metadata.labels.get(REPLICA_TYPE) if written else None
    return written if kind is None else (_place_of(kind), *written)


def index_of(present: Mapping[str, str]) -> int:
    """Return the number in the index annotation, else NO_INDEX. Raises InvalidField."""
    text = present.get(annotations.NETWORK_TOPOLOGY_INDEX)
    if text is None:
        return NO_INDEX
    if not _is_number(text):
        field = f"metadata.annotations[{annotations.NETWORK_TOPOLOGY_INDEX}]"
        raise InvalidField(field, text, "must be a whole number of at least 0")
    return int(text)


def _numbers(metadata: Metadata, keys: Iterable[str]) -> Rank:
    written = (metadata.annotations.get(key) or metadata.labels.get(key, "") for key in keys)
    return tuple(int(text) for text in written if _is_number(text))


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,9}", text))


def _place_of(kind: str) -> int:
    return REPLICA_TYPES.index(kind) if kind in REPLICA_TYPES else len(REPLICA_TYPES)
