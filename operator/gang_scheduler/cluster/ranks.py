"""The rank of a member: neighbours in rank get neighbouring nodes."""

import re
from collections.abc import Iterable, Mapping

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model.gangs import Problem, Reason
from gang_scheduler.model.names import NaturalKey, natural_key
from gang_scheduler.model.pods import Pod

NO_RANK = -1

# Where the controllers of workloads write the index of a pod; the first one found counts.
COMPLETION_INDEXES = (
    "batch.kubernetes.io/job-completion-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "training.kubeflow.org/replica-index",
)


def rank_key(pod: Pod) -> tuple[int, NaturalKey]:
    """Return a sort key: the rank, then the name in natural order. Smaller sorts first."""
    return rank_of(pod), natural_key(pod.name)


def rank_of(pod: Pod) -> int:
    """Return the member's rank; NO_RANK where nothing says it, or what says it is no number."""
    try:
        own = index_of(pod.annotations)
    except InvalidField:
        own = NO_RANK  # The gang waits with this as its problem: see `problem`.
    if own != NO_RANK:
        return own
    written = (pod.annotations.get(key) or pod.labels.get(key) for key in COMPLETION_INDEXES)
    found = next((text for text in written if text), "")
    return int(found) if re.fullmatch(r"[0-9]{1,9}", found) else NO_RANK


def problem(members: Iterable[Pod]) -> Problem | None:
    """Return what is wrong with the first index annotation that is no number."""
    for pod in members:
        try:
            index_of(pod.annotations)
        except InvalidField as error:
            return Problem(Reason.INVALID_SPEC, f"pod {pod.key}: {error}")
    return None


def index_of(present: Mapping[str, str]) -> int:
    """Return what the index annotation says, else NO_RANK. Raises InvalidField for no number."""
    text = present.get(annotations.NETWORK_TOPOLOGY_INDEX)
    if text is None:
        return NO_RANK
    if not re.fullmatch(r"[0-9]{1,9}", text):
        field = f"metadata.annotations[{annotations.NETWORK_TOPOLOGY_INDEX}]"
        raise InvalidField(field, text, "must be a whole number of at least 0")
    return int(text)
