"""What is wrong with what a pod says of its gang: its gang waits until that is put right."""

from collections.abc import Iterator

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.pods import rank
from gang_scheduler.model.causes import InvalidInput
from gang_scheduler.model.network.topology_request import PodSet
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.wire.metadata import Metadata


def problem_of(metadata: Metadata, podset: PodSet | None) -> Problem | None:
    """Return the problem of a pod by what it says of its gang; None if that can be honoured."""
    for fault in _faults(metadata, podset):
        text = f"pod {metadata.namespace}/{metadata.name}: {fault}"
        return Problem(Reason.INVALID_SPEC, InvalidInput(text))
    return None


def _faults(metadata: Metadata, podset: PodSet | None) -> Iterator[str]:
    try:
        rank.index_of(metadata.annotations)
    except InvalidField as error:
        yield str(error)
    if podset is not None and podset.problem:
        yield podset.problem
