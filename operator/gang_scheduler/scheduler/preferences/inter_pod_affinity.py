"""Preferred affinity and anti-affinity between pods.

Semantics of kube-scheduler's InterPodAffinity, except that preferences of pods on nodes do not
count for the pod to be placed.
"""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.trial import Trial


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has preferences among pods."""
    return pod_class.pod_affinity is not None and bool(pod_class.pod_affinity.preferred)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the weights of the terms, once for each pod that a term selects in a node's domain."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for weight, term in (
        pod_class.pod_affinity.preferred if pod_class.pod_affinity is not None else ()
    ):
        found = trial.pod_affinity.present(term.selector)
        total += weight * label_domains.in_domain(trial.nodes.label(term.key), found)
    return total


def coupled(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the members of the class count for each other."""
    terms = pod_class.pod_affinity.preferred if pod_class.pod_affinity is not None else ()
    return any(term.selector in pod_class.selected_by for _, term in terms)
