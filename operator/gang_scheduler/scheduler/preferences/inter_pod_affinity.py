"""Preferred affinity and anti-affinity between pods.

Semantics of kube-scheduler's InterPodAffinity, save that the preferences of the pods that run
already say nothing about those that come.
"""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.trial import Trial


def concerns(ask: Ask, _trial: Trial) -> bool:
    """Tell whether the class has preferences among pods."""
    return ask.pod_affinity is not None and bool(ask.pod_affinity.preferred)


def score(ask: Ask, trial: Trial) -> IntArray:
    """Return the weights of the terms, once for each pod that they mean in a node's domain."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for weight, term in ask.pod_affinity.preferred if ask.pod_affinity is not None else ():
        found = trial.pod_affinity.present(term.selector)
        total += weight * label_domains.in_domain(trial.nodes.label(term.key), found)
    return total


def coupled(ask: Ask, _trial: Trial) -> bool:
    """Tell whether the members of the class count for each other."""
    terms = ask.pod_affinity.preferred if ask.pod_affinity is not None else ()
    return any(term.selector in ask.selected_by for _, term in terms)
