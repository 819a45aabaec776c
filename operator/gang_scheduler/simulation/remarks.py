"""What is to be known of the input beside the decisions: lines for stderr."""

from collections.abc import Collection, Iterator

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation.objects import DEFAULT_SCHEDULER, Objects


def of(found: Objects, schedulers: Collection[str]) -> Iterator[str]:
    """Yield what was left out, assumed and missing."""
    yield from found.notes
    if found.assumed_ours:
        yield (
            f"{_pods(found.assumed_ours)} without spec.schedulerName: taken as ours, "
            f"{next(iter(schedulers))}; on a cluster they are {DEFAULT_SCHEDULER}'s "
            "(--no-assume-scheduler-name)"
        )
    nouns = [each.noun for each in found.loaded]
    if not any(isinstance(each, Node) for each in nouns):
        yield "the input has no nodes"
    pods = [each for each in nouns if isinstance(each, Pod)]
    if not pods:
        yield "the input has no pods"
    elif not any(each.scheduler in schedulers for each in pods):
        yield f"none of the {_pods(len(pods))} in the input has schedulerName {_names(schedulers)}"


def _pods(number: int) -> str:
    return f"{number} pod{'s' * (number != 1)}"


def _names(schedulers: Collection[str]) -> str:
    return " or ".join(schedulers)
