"""Nodes where a pod gets earlier alternatives of its claims come first.

Semantics of kube-scheduler's DynamicResources: each request with `firstAvailable` counts 8, less
the number of alternatives before the one that it gets.
"""

import functools

from gang_scheduler.model.device_needs import NO_NEEDS
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.filters import resources
from gang_scheduler.scheduler.filters.devices import in_time
from gang_scheduler.scheduler.policies import Steady
from gang_scheduler.scheduler.trial import Trial


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether a claim of the class has alternatives."""
    needs = pod_class.devices
    return needs is not None and any(
        len(request.alternatives) > 1 for claim in needs.claims for request in claim.spec.requests
    )


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the sum over the requests of one more pod; 0 for nodes without devices for the pod."""
    needs, within = pod_class.devices or NO_NEEDS, resources.slots(pod_class, trial) > 0
    return trial.devices.alternatives(needs, within, functools.partial(in_time, trial))


def coupled(_pod_class: PodClass, _trial: Trial) -> bool:
    """Return False: all members are scored by what the first of them would get."""
    return False


def one_by_one(pod_class: PodClass, trial: Trial) -> Steady:
    """Return the same scores for each pod."""
    return Steady(score(pod_class, trial))
