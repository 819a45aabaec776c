"""Whether a queue has quota for pods that do not exist yet, by what they need together."""

from collections.abc import Sequence

from gang_scheduler.model.causes.admission import AbovePotential
from gang_scheduler.model.charged_requests import Requests
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef, QueueSet
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.turns import flavors, limits, shortages

Way = dict[FlavorResource, int]


def charge_of(
    forest: Forest, declared: QueueSet, ref: QueueRef, needed: Requests
) -> Charge | Problem:
    """Return what a queue would be charged now, of each resource in its first flavor with room.

    Or why it does not admit it. Which nodes the pods could use is not looked at.
    """
    wrong = forest.problem(ref) or limits.stopped(forest.queue(ref))
    if wrong is not None:
        return wrong
    queue, asked = forest.queue(ref), declared.charged(needed)
    for resource in flavors.uncovered(queue, asked):
        cause = AbovePotential(ref.name, flavors.UNCOVERED, resource, asked[resource], 0)
        return Problem(Reason.QUOTA_EXCEEDED, cause)
    charge: Way = {}
    for group in flavors.groups_of(queue, forest.governed(ref), declared.gpu_resources):
        part = {name: asked[name] for name in group.resources if name in asked}
        ways = [{FlavorResource(each, name): part[name] for name in part} for each in group.flavors]
        fitting = next((each for each in ways if forest.fits(ref, each)), None)
        if fitting is None and part:
            return _lacking(forest, ref, ways)
        charge |= fitting or {}
    return charge


def _lacking(forest: Forest, ref: QueueRef, ways: Sequence[Way]) -> Problem:
    """Return what the first way lacks that could ever do, else why none ever can."""
    above = [forest.exceeds_potential(ref, each) for each in ways]
    for way, never in zip(ways, above, strict=True):
        short = None if never else forest.shortage(ref, way)
        if short is not None:
            return Problem(Reason.WAITING_FOR_QUOTA, shortages.cause_of(ref, short))
    first = next(each for each in above if each is not None)
    cause = AbovePotential(ref.name, *first.key, first.asked, first.available)
    return Problem(Reason.QUOTA_EXCEEDED, cause)
