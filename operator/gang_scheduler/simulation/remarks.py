"""Remarks about the input, for stderr."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from gang_scheduler.decode.gangs.pod_groups import GangObject
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.wording import counted
from gang_scheduler.simulation.objects import Objects
from gang_scheduler.simulation.reading import DEFAULT_SCHEDULER
from gang_scheduler.state.cache import Cache


def remarks_of(found: Objects, schedulers: Collection[str]) -> Iterator[str]:
    """Yield remarks on objects that were left out, assumed, or missing."""
    yield from found.notes
    if found.assumed_ours:
        yield (
            f"{counted(found.assumed_ours, 'pod')} without spec.schedulerName: taken as ours, "
            f"{next(iter(schedulers))}; on a cluster they are {DEFAULT_SCHEDULER}'s "
            "(--no-assume-scheduler-name)"
        )
    nouns = [each.noun for each in found.loaded]
    if not any(isinstance(each, Node) for each in nouns):
        yield "the input has no nodes"
    pods = [each for each in nouns if isinstance(each, Pod)]
    waits = any(map(_waits_suspended, nouns))
    if not (pods or waits):
        yield "the input has no pods"
    elif not (waits or any(each.scheduler in schedulers for each in pods)):
        number = counted(len(pods), "pod")
        yield f"none of the {number} in the input has schedulerName {_names(schedulers)}"
    else:
        yield from _of_others(pods, schedulers)


def _waits_suspended(noun: object) -> bool:
    return isinstance(noun, GangObject) and noun.suspended is not None


def of_topologies(found: Objects, cache: Cache) -> Iterator[str]:
    """Yield a remark if layers are unknown because the input has no topology."""
    if any(isinstance(each.noun, DeclaredTopology) for each in found.loaded):
        return
    verdicts = [info.verdict for info in cache.gang_queue.infos.values()]
    reasons = {problem.reason for each in verdicts for problem in each.warnings or ()}
    reasons.update(each.refusal.reason for each in verdicts if each.refusal is not None)
    if Reason.UNKNOWN_LAYER in reasons:
        yield (
            "the input has no ClusterNetworkTopology, and no Topology of Kueue: the layers that "
            "gangs ask for are unknown (a dump has them only if they were asked for by kind)"
        )


def _of_others(pods: Iterable[Pod], schedulers: Collection[str]) -> Iterator[str]:
    """Yield a remark on pods that wait for other schedulers, which do not run here."""
    waiting = [each for each in pods if each.living and not each.node]
    others = Counter(each.scheduler for each in waiting if each.scheduler not in schedulers)
    for scheduler, number in sorted(others.items()):
        has = "has" if number == 1 else "have"
        waits = f"{counted(number, 'pod')} without a node {has} schedulerName {scheduler}"
        yield f"{waits}: not scheduled here"


def _names(schedulers: Collection[str]) -> str:
    return " or ".join(schedulers)
